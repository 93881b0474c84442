module @"jit-step" attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}", tf.aliasing_output = 0 : i32}, %arg1: tensor<i1>) -> (tensor<8xf32> {jax.result_info = "x[\22a\22]\0A"}, tensor<i1>) attributes {execution_thread = "main"} {
    %0:2 = call @helper(%arg0, %arg1) : (tensor<8xf32>, tensor<i1>) -> (tensor<8xf32>, tensor<i1>)
    %f = constant @"odd name" : () -> ()
    call @"odd name"() {note = @a::@"b c"} : () -> ()
    return %0#0, %0#1 : tensor<8xf32>, tensor<i1>
  }
  func.func private @helper(tensor<8xf32>, tensor<i1> {jax.global_constant}) -> (tensor<8xf32>, tensor<i1>)
  func.func nested @"odd name"() {
    return
  }
  func.func private @higher_order((tensor<f32>) -> tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
  module @inner {
    func.func @attributes() attributes {array = [1, 2 : i32, 5.000000e-01, 5.000000e-01 : f32, "s", @sym, [unit]], dict = {"1" = true, a = 1 : i8, "b c"}, empty = [], i1s = array<i1: true, false>, i64s = array<i64: 1, -2>, index = 3 : index, none = array<i32>, type = tensor<*xf32>} {
      return
    }
  }
}
