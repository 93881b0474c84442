func.func private @f(tensor<4x!x.y<!a = i8>>)
func.func private @g(tensor<4x!a>)
