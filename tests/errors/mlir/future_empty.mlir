func.func private @f(!stablehlo.future<>)
