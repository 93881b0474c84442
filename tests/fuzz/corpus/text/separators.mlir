// -----
func.func @a(%arg0: tensor<?x2xf32>) { return }
// -----

func.func @b( {
// ----- 
// -----