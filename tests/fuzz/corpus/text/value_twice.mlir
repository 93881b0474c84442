%a = "foo.x"() : () -> i1
%a = "foo.x"() : () -> i1
"foo.y"(%a) : (i1) -> ()
