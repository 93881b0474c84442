func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.custom_call @unknown(%a) {api_version = 4 : i32, backend_config = {}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.custom_call @topk(%0) {called_computations = [@nowhere]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.custom_call @__cublas$gemm(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3:2 = stablehlo.custom_call @__cudnn$conv(%2) {backend_config = "{"} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<0xui8>)
  return %3#0 : tensor<4x8xf32>
}
