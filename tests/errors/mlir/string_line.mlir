"a.b"() {x = "one
two"} : () -> ()
