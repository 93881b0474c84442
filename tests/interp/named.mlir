// Operations of arith, tensor and shape around dynamic shapes, with values by hand.

func.func @shapes() {
  %x = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %y = tensor.cast %x : tensor<2x3xf32> to tensor<?x3xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %y, %c0 : tensor<?x3xf32>
  %i = arith.index_cast %d : index to i32
  %c5 = arith.constant 5 : i32
  %sum = arith.addi %i, %c5 : i32
  %s = tensor.from_elements %i, %sum : tensor<2xi32>
  check.expect_eq_const %s, dense<[2, 7]> : tensor<2xi32>
  %a = "shape.shape_of"(%y) : (tensor<?x3xf32>) -> tensor<2xindex>
  %b = arith.constant dense<[4, 1, 1]> : tensor<3xindex>
  %all = "shape.broadcast"(%a, %b) : (tensor<2xindex>, tensor<3xindex>) -> tensor<3xindex>
  check.expect_eq_const %all, dense<[4, 2, 3]> : tensor<3xindex>
  %n = "shape.num_elements"(%all) : (tensor<3xindex>) -> index
  %last = arith.constant 2 : index
  %three = tensor.extract %all[%last] : tensor<3xindex>
  %both = tensor.from_elements %n, %three : tensor<2xindex>
  check.expect_eq_const %both, dense<[24, 3]> : tensor<2xindex>
  func.return
}

// -----

// -1 : i8 widened without its sign is 255, with it -1; true is -1 with a sign, 1 without. Unsigned 255 > 1, signed -1 < 1.
func.func @casts() {
  %m = arith.constant -1 : i8
  %one = arith.constant 1 : i8
  %u = arith.extui %m : i8 to i32
  %s = arith.extsi %m : i8 to i32
  %true = arith.constant true
  %t = arith.extsi %true : i1 to i32
  %f = arith.extui %true : i1 to i32
  %all = tensor.from_elements %u, %s, %t, %f : tensor<4xi32>
  check.expect_eq_const %all, dense<[255, -1, -1, 1]> : tensor<4xi32>
  %p = arith.cmpi ugt, %m, %one : i8
  %q = arith.cmpi sgt, %m, %one : i8
  %pq = tensor.from_elements %p, %q : tensor<2xi1>
  check.expect_eq_const %pq, dense<[true, false]> : tensor<2xi1>
  %x = arith.constant dense<[1.5, 2.0]> : tensor<2xf32>
  %y = arith.mulf %x, %x : tensor<2xf32>
  check.expect_eq_const %y, dense<[2.25, 4.0]> : tensor<2xf32>
  %chosen = arith.select %p, %m, %one : i8
  %real = arith.sitofp %chosen : i8 to f32
  %r = tensor.from_elements %real : tensor<1xf32>
  check.expect_eq_const %r, dense<-1.0> : tensor<1xf32>
  %pi = arith.constant 3.25 : f64
  %v = tensor.from_elements %pi : tensor<1xf64>
  check.expect_eq_const %v, dense<3.25> : tensor<1xf64>
  func.return
}
