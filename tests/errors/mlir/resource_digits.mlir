"a.b"() : () -> ()
{-#
  dialect_resources: {
    builtin: {
      r: "0x04000000zz"
    }
  }
#-}
