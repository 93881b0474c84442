func.func private @a-b()
