"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>, tensor<2xi32>, index, tensor<?xf32>) -> (), sym_name = "arithmetic"}> ({
  ^bb0(%arg0: tensor<2xf32>, %arg1: tensor<2xi32>, %arg2: index, %arg3: tensor<?xf32>):
    %0 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<2xf32>}> : () -> tensor<2xf32>
    %1 = "arith.index_cast"(%arg2) : (index) -> i64
    %2 = "arith.extsi"(%arg1) : (tensor<2xi32>) -> tensor<2xi64>
    %3 = "arith.sitofp"(%arg1) : (tensor<2xi32>) -> tensor<2xf32>
    %4 = "tensor.cast"(%arg3) : (tensor<?xf32>) -> tensor<2xf32>
    %5 = "tensor.cast"(%4) : (tensor<2xf32>) -> tensor<?xf32>
    %6 = "shape.shape_of"(%arg3) : (tensor<?xf32>) -> tensor<1xindex>
    %7 = "shape.num_elements"(%6) : (tensor<1xindex>) -> index
    %8 = "shape.broadcast"(%6, %6) : (tensor<1xindex>, tensor<1xindex>) -> tensor<1xindex>
    %9 = "arith.andi"(%arg1, %arg1) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
