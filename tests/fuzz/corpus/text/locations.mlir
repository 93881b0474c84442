#l = loc("a.py":1:2)
func.func @f(%a: i1 loc("a")) {
  "foo.x"() : () -> () loc(callsite("f"(#l) at fused<"m">["x", unknown]))
  "foo.x"() : () -> () loc("f.py":1:2 to 3:4)
  return loc(#l)
} loc(unknown)

