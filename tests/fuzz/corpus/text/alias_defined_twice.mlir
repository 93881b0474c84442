#a = 1
#a = 2
!a = i1
!a = i2
"foo.x"() {a = #a} : () -> !a
