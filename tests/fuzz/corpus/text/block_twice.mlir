"foo.x"() ({
^a:
  "foo.r"() : () -> ()
^a:
  "foo.r"() [^nowhere] : () -> ()
}) : () -> ()
