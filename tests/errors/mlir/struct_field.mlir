func.func @f() {
  "a.b"() {n = #stablehlo.gather<offset_dim = [0]>} : () -> ()
  return
}
