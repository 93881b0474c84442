func.func private @f(!chlo.x)
