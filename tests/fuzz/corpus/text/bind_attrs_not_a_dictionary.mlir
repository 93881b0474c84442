// bind:n=2
"func.func"() <{arg_attrs = [["jax.arg_info", "n", 1, 2, 3, 4]], function_type = (tensor<?xf32>) -> (), sym_name = "main"}> ({
^bb0(%a: tensor<?xf32>):
  "func.return"() : () -> ()
}) : () -> ()
