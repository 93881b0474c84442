func.func @f() {
  "a.b"() {n = #stablehlo.conv<[b, 0]x[0, i, o]->[b, 0, f]>} : () -> ()
  return
}
