func.func @main() { return }
