func.func @main(%a: tensor<4xf32>) {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 9 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<-1> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  %2 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<4294967296x4294967296xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  %3 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = 7 : i64}> : (tensor<4xf32>) -> tensor<8xf32>
  %4 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = -1 : i64, replica_groups = dense<"0xFF"> : tensor<1x1xi64>}> ({}) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %7 = "stablehlo.all_reduce"(%a) <{}> ({}) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
