"a.b"() {x = array<index: 1>} : () -> ()
