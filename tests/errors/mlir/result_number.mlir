func.func @f() {
  %0:2 = "a.b"() : () -> (i32, i32)
  "a.c"(%0#2) : (i32) -> ()
  return
}
