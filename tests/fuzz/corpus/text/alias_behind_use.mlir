"foo.x"() {a = #late, t = !late} : () -> () loc(#loc1)
#late = [1, "x", !late]
!late = tensor<2xf32>
#loc1 = loc("f.py":1:2)
