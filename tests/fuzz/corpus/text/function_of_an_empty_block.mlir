// bind:nstablehlo.batch_norm_grad=2
// bind:nstablehlo.batch_norm_grad=2147483648
"func.func"() <{at.arg_attrs = [["jax.arg_info","n", 1, 2, 3, -2147483648]], function_type = (tensor<?xf32>) -> (), sym_name = "main"}> ({
^bb0(%a: tensor<?xf32>):
}) : () -> ()
