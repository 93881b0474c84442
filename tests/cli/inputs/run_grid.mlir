// The sum over replicas, and which partition this is.
func.func @main(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
  %1 = stablehlo.partition_id : tensor<ui32>
  return %0, %1 : tensor<2xi64>, tensor<ui32>
}
