sdy.mesh @mesh = ["x"=2, "y"=4]
