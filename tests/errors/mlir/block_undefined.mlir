func.func @f() {
  "a.b"()[^nowhere] : () -> ()
}
