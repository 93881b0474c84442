"a.b"() {x = strided<[1], start: 2>} : () -> ()
