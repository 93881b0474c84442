func.func @f(%a: (i32) -> i32, %b: i32) -> i32 {
  %0 = call_indirect %a(%b) {t.x} : (i32) -> i32
  %1 = func.call_indirect %a(%0) : (f32) -> i32
  return %1 : i32
}
