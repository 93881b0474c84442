"func.func"() <{function_type = (tensor<?xf32>) -> tensor<?xf32>, sym_name = "main"}> : () -> ()
