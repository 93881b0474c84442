func.func @main(%a: i32, %t: !stablehlo.token, %u: tensor<*xf32>, %d: tensor<?xf32>, %o: !foo.bar) -> (i32, tensor<*xf32>) {
  %0 = "stablehlo.add"(%a, %a) : (i32, i32) -> i32
  %1 = stablehlo.abs %u : tensor<*xf32>
  %2 = "stablehlo.exponential"(%o) : (!foo.bar) -> !foo.bar
  %3 = "stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  %4 = stablehlo.tanh %d : tensor<?xf32>
  return %a, %1 : i32, tensor<*xf32>
}
