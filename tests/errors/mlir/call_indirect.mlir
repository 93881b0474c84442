func.func @f(%g: (i32) -> i32) {
  %0 = call_indirect %g() : (i32) -> i32
  return
}
