func.func @main() { call @f() : () -> () return }
func.func private @f() { call @g() : () -> () return }
func.func private @g() { call @f() : () -> () return }
