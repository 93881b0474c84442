module {
  func.func @branches(%arg0: i1) -> i32 {
    "t.br"(%arg0)[^bb1, ^bb2] : (i1) -> ()
  ^bb1:  // pred: ^bb0
    "t.br"()[^bb2] : () -> ()
  ^bb2:  // 4 preds: ^bb0, ^bb1, ^bb2, ^bb2
    "t.br"()[^bb2, ^bb2] : () -> ()
  ^bb3:  // no predecessors
    %0 = "t.x"() : () -> i32
    return %0 : i32
  }
  "t.region"() ({
  ^bb0(%arg0: i32):
    "t.br"(%arg0)[^bb1] : (i32) -> ()
  ^bb1(%0: i32):  // pred: ^bb0
    "t.end"(%0) : (i32) -> ()
  }, {
  }) {t.a} : () -> ()
  "t.properties"() <{a = 1 : i64, b = "s"}> {t.c} : () -> ()
  "t.discardable"() {a = 1 : i64} : () -> ()
  func.func @label() {
    return
  }
}
