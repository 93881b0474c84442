"foo.x"() {a = "one
two"} : () -> ()
