"foo.x"() {a = #nowhere, b = !nowhere} : () -> ()
