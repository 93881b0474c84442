!a = tuple<!b>
!b = tuple<!a>
func.func @f(%x: !a) {
  return
}
