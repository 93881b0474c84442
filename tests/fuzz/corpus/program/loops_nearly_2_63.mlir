func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %e = stablehlo.constant dense<9223372036854775807> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i64>, tensor<8x8xf32> cond {
    %p = stablehlo.compare LT, %i, %e, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %q:2 = stablehlo.while(%k = %z, %b = %a) : tensor<i64>, tensor<8x8xf32> cond {
      %p = stablehlo.compare NE, %k, %e, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %d = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %n = stablehlo.add %k, %one : tensor<i64>
      stablehlo.return %n, %d : tensor<i64>, tensor<8x8xf32>
    }
    %m = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %m, %q#1 : tensor<i64>, tensor<8x8xf32>
  }
  return %r#1 : tensor<8x8xf32>
}
