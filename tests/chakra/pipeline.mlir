// Two pipeline stages of two devices each, four micro-batches, 1F1B: functions are passes of a step.
module @pipeline attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32, ridgeline.step = {boundary_bytes = 8192 : i64, chunks = 1 : i64, microbatches = 4 : i64, model_flops = 1.000000e+09 : f64, overlap = "as_written", samples = 1.600000e+01 : f64, schedule = "1f1b", stages = 2 : i64, tokens = 1.280000e+02 : f64, waits_for_sends = true}} {
  func.func @first_forward(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<32x64xf32>) -> tensor<32x64xf32>
    return %1 : tensor<32x64xf32>
  }
  func.func @first_backward(%g: tensor<32x64xf32>, %x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %sum: tensor<64x64xf32>) -> (tensor<32x64xf32>, tensor<64x64xf32>) {
    %0 = stablehlo.dot_general %g, %w, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %2 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %3 = stablehlo.add %sum, %2 : tensor<64x64xf32>
    return %1, %3 : tensor<32x64xf32>, tensor<64x64xf32>
  }
  func.func @first_update(%w: tensor<64x64xf32>, %sum: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = "stablehlo.all_reduce"(%sum) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.subtract %w, %0 : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
  func.func @last_forward(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<32x64xf32>) -> tensor<32x64xf32>
    return %1 : tensor<32x64xf32>
  }
  func.func @last_backward(%g: tensor<32x64xf32>, %x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %sum: tensor<64x64xf32>) -> (tensor<32x64xf32>, tensor<64x64xf32>) {
    %0 = stablehlo.dot_general %g, %w, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %2 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %3 = stablehlo.add %sum, %2 : tensor<64x64xf32>
    return %1, %3 : tensor<32x64xf32>, tensor<64x64xf32>
  }
  func.func @last_update(%w: tensor<64x64xf32>, %sum: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = "stablehlo.all_reduce"(%sum) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.subtract %w, %0 : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
}
