module @block attributes {mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<16x64xbf16> {tf.aliasing_output = 0 : i32}, %w: tensor<64x64xbf16>, %k: tensor<2xui32>) -> tensor<16x64xbf16> {
    %q = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<16x64xbf16>, tensor<64x64xbf16>) -> tensor<16x64xbf16>
    %s = stablehlo.dot_general %q, %x, contracting_dims = [1] x [1] : (tensor<16x64xbf16>, tensor<16x64xbf16>) -> tensor<16x16xbf16>
    %inf = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %m = stablehlo.reduce(%s init: %inf) applies stablehlo.maximum across dimensions = [1] : (tensor<16x16xbf16>, tensor<bf16>) -> tensor<16xbf16>
    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<16xbf16>) -> tensor<16x16xbf16>
    %d = stablehlo.subtract %s, %b : tensor<16x16xbf16>
    %e = stablehlo.exponential %d : tensor<16x16xbf16>
    %o = stablehlo.dot_general %e, %x, contracting_dims = [1] x [0] : (tensor<16x16xbf16>, tensor<16x64xbf16>) -> tensor<16x64xbf16>
    %r = call @residual(%o, %x) : (tensor<16x64xbf16>, tensor<16x64xbf16>) -> tensor<16x64xbf16>
    %rng:2 = "stablehlo.rng_bit_generator"(%k) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui32>) -> (tensor<2xui32>, tensor<16x64xui32>)
    %t = "stablehlo.all_reduce"(%r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%u: tensor<bf16>, %v: tensor<bf16>):
      %sum = stablehlo.add %u, %v : tensor<bf16>
      stablehlo.return %sum : tensor<bf16>
    }) : (tensor<16x64xbf16>) -> tensor<16x64xbf16>
    return %t : tensor<16x64xbf16>
  }
  func.func private @residual(%a: tensor<16x64xbf16>, %b: tensor<16x64xbf16>) -> tensor<16x64xbf16> {
    %0 = stablehlo.add %a, %b : tensor<16x64xbf16>
    return %0 : tensor<16x64xbf16>
  }
}
