"builtin.module"() ({
  "vhlo.func_v1"() <{arg_attrs = #vhlo.array_v1<[]>, function_type = #vhlo.type_v1<!vhlo.func_v1<(!vhlo.tensor_v1<3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x!vhlo.f32_v1>, !vhlo.tensor_v1<3x!vhlo.f32_v1><3x!vhlo.f32_v1><3x!vhlo.f32_v1>>>, res_attrs = #vhlo.array_v1<[]>, sym_name = #vhlo.string_v1<"main">, sym_visibility = #vhlo.string_v1}> ({
  ^bb0(%arg0: !vhlo.tensor_v1<3x!vhlo.f32_v1>):
    %0 = "vhlo.add_v1"(%arg0, %arg0) : (!vhlo.tensor_v1<3x!vhlo.f32_v1>, !vhlo.tensor_v1<3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x!vhlo.f32_v1>
    %1 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<[65536+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>>}> : () -> !vhlo.tensor_v1<3x!vhlo.f32_v1>
    "vhlo.return_v1"(%0, %1) : (!vhlo.tensor_v1<3x!vhlo.f32_v1>, !vhlo.tensor_v1<3x!vhlo.f32_v1>) -> ()
  }) : () -> ()
  "vhlo.func_v1"() <{arg_attrs = #vhlo.array_v1<[]>, function_type = #vhlo.type_v1<!vhlo.func_v1<(()) -> ()>>, res_attrs = #vhlo.array_v1<[]>, sym_name = #vhlo.string_v1<"nothing">, sym_visibility = #vhlo.string_v1<"private">}> ({
    "vhlo.return_v1"() : () -> ()
  }) : () -> ()
}) : () -> ()
