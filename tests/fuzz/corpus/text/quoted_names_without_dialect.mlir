"func"() : () -> ()
"module"() ({
}) : () -> ()
func.func @f() {
  "call"() {callee = @f} : () -> ()
  "return"() : () -> ()
  return
}
