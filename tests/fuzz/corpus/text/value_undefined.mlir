func.func @f() {
  "foo.y"(%nowhere, %x#3) : (i1, i1) -> ()
  return
}
