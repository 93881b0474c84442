func.func @main() { call @main() : () -> () return }
