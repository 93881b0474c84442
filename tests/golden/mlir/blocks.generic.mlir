"builtin.module"() ({
  "func.func"() <{function_type = (i1) -> i32, sym_name = "branches"}> ({
  ^bb0(%arg1: i1):
    "t.br"(%arg1)[^bb1, ^bb2] : (i1) -> ()
  ^bb1:  // pred: ^bb0
    "t.br"()[^bb2] : () -> ()
  ^bb2:  // 4 preds: ^bb0, ^bb1, ^bb2, ^bb2
    "t.br"()[^bb2, ^bb2] : () -> ()
  ^bb3:  // no predecessors
    %1 = "t.x"() : () -> i32
    "func.return"(%1) : (i32) -> ()
  }) : () -> ()
  "t.region"() ({
  ^bb0(%arg0: i32):
    "t.br"(%arg0)[^bb1] : (i32) -> ()
  ^bb1(%0: i32):  // pred: ^bb0
    "t.end"(%0) : (i32) -> ()
  }, {
  }) {t.a} : () -> ()
  "t.properties"() <{a = 1 : i64, b = "s"}> {t.c} : () -> ()
  "t.discardable"() {a = 1 : i64} : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "label"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
