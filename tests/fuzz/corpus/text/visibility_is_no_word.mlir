"func.func"() <{function_type = () -> (), sym_name = "main", sym_visibility = "publ)c"}> ({
  "func.return"() : () -> ()
}) : () -> ()
