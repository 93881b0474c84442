"foo.x"() {a = dense_resource<blob> : tensor<1xf32>} : () -> ()
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F",
      bad: "0x04"
    }
  }
#-}
