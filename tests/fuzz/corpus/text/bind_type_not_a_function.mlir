// bind:arg0=2
"func.func"() <{function_type = i32, sym_name = "main"}> ({
^bb0(%a: tensor<?xf32>):
  "func.return"() : () -> ()
}) : () -> ()
