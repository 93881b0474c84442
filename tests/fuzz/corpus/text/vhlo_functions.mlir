vhlo.func_v1 @main(%a: !vhlo.tensor_v1<3x!vhlo.f32_v1>) -> (!vhlo.tensor_v1<3x!vhlo.f32_v1>) {
  "vhlo.return_v1"(%a) : (!vhlo.tensor_v1<3x!vhlo.f32_v1>) -> ()
} {arg_attrs = #vhlo.array_v1<[]>}
"vhlo.func_v1"() <{function_type = #vhlo.type_v1<!vhlo.func_v1<(()) ->>>, sym_name = #vhlo.string_v1<"">}> ({}) : () -> ()
"vhlo.func_v1"() <{function_type = 1, sym_name = #vhlo.string_v1<"a\22">}> ({^bb0(%x: i1):}) : () -> ()
