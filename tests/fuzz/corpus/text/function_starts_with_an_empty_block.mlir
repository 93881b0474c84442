"builtin.module"() ({"func.func"() <{function_type = (i1) -> i32, sym_name = "branches"}> ({
  ^bb0(%arg1: i1):
  ^bb1:  // pred: ^bb0
    "t.br"()[] : () -> ()
  ^bb2:  // 4 preds: ^bb0, ^bb1, )= 1 : >  ()
  }) : () -> ()
}) : () -> ()
