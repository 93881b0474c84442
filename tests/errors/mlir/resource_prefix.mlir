"a.b"() : () -> ()
{-# dialect_resources: { builtin: { r: "04000000" } } #-}
