// bind:arg1=2
"func.func"() <{arg_attrs = 5 : i32, function_type = (tensor<?xf32>) -> (), sym_name = "main"}> ({
^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
  "func.return"() : () -> ()
}) : () -> ()
