module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: !foo.thing<4 x "a">) -> tensor<4xf32> {
    %0:2 = "foo.op"(%arg0, %arg1) {a = #foo.attr<[1, 2], x = "y">, b = !foo.other} : (tensor<4xf32>, !foo.thing<4 x "a">) -> (tensor<4xf32>, index)
    "foo.region"() ({
    }, {
      "foo.done"() : () -> ()
    }, {
    ^bb0(%arg2: i32):
      "foo.br"(%arg2)[^bb1] : (i32) -> ()
    ^bb1(%1: i32):  // pred: ^bb0
      "foo.end"(%1) : (i32) -> ()
    }) : () -> ()
    return %0#0 : tensor<4xf32>
  }
}
