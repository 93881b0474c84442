// Bits of rng_bit_generator, as XLA's CPU back end gives them (JAX 0.10.2, jaxlib's own compiler); the state has a key, then a
// counter that overflows its low word. Odd sizes, all widths, several dimensions.

func.func @bits_0() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[122, 44, 167, 202, 61]> : tensor<5xui8>
  func.return
}

// -----

func.func @bits_1() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui16>)
  check.expect_eq_const %next, dense<[1311768467463790320, 4]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[20602, 31655, 32829], [59180, 43722, 33017], [57084, 22406, 360]]> : tensor<3x3xui16>
  func.return
}

// -----

func.func @bits_2() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 18446744073709551615]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<1010520186> : tensor<ui32>
  func.return
}

// -----

func.func @bits_3() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4x2xui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 10]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[[1010520186, 2754706343], [1888741164, 569486026], [1593802813, 961273596], [1289978105, 1692389550]], [[1379882886, 1430061416], [1076419981, 3815015690], [523829269, 2165775106], [4191198393, 1106935068]], [[2207507590, 1354277001], [2177532566, 2579920119], [2790650682, 2301495697], [1008500922, 1588315084]]]> : tensor<3x4x2xui32>
  func.return
}

// -----

func.func @bits_4() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 7]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[1010520186, 1888741164, 2754706343, 569486026, 1593802813], [961273596, 1692389550, 1379882886, 1076419981, 1430061416], [523829269, 4191198393, 2165775106, 1106935068, 2207507590]]> : tensor<3x5xui32>
  func.return
}

// -----

func.func @bits_5() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x3xui64>)
  check.expect_eq_const %next, dense<[1311768467463790320, 4]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[8112081530999492730, 2445923859953712039, 5540413775124856893], [7268757770303430396, 4623188616535824262, 16385367623706935656]]> : tensor<2x3xui64>
  func.return
}

// -----

func.func @bits_6() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 18446744073709551615]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<3151517439> : tensor<ui32>
  func.return
}

// -----

func.func @bits_7() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7xui8>)
  check.expect_eq_const %next, dense<[1311768467463790320, 0]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[255, 161, 183, 167, 30, 12, 218]> : tensor<7xui8>
  func.return
}

// -----

func.func @bits_8() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui16>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[22271, 54433, 56247], [55207, 57118, 22796], [59866, 2854, 36083]]> : tensor<3x3xui16>
  func.return
}

// -----

func.func @bits_9() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614, 9756277977086449272]> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<9xui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1, 9756277977086449273]> : tensor<3xui64>
  check.expect_eq_const %bits, dense<[3554848250, 3414180374, 1696027708, 3085285356, 3307574812, 3739979229, 919382860, 4286012365, 1168202408]> : tensor<9xui32>
  func.return
}

// -----

func.func @bits_10() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614, 9756277977086449272]> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<3xui64>)
  check.expect_eq_const %next, dense<[1311768467463790320, 0, 9756277977086449273]> : tensor<3xui64>
  check.expect_eq_const %bits, dense<[14663793052529896954, 13251199704543745084, 16063088479581869596]> : tensor<3xui64>
  func.return
}

// -----

func.func @bits_11() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui64>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[13228713271577040639, 12765971733663767479, 12951043062988922654, 4621549904384879066, 2311151477393820915]> : tensor<5xui64>
  func.return
}

// -----

func.func @bits_12() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x3xui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 0]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[3151517439, 3080049825, 2645875639], [2972309415, 1480449822, 3015399692]]> : tensor<2x3xui32>
  func.return
}

// -----

func.func @bits_13() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614, 9756277977086449272]> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<5xi32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 0, 9756277977086449273]> : tensor<3xui64>
  check.expect_eq_const %bits, dense<[-740119046, -880786922, 1696027708, -1209681940, -987392484]> : tensor<5xi32>
  func.return
}

// -----

func.func @bits_14() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0x3xui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<> : tensor<0x3xui32>
  func.return
}

// -----

func.func @bits_15() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0xui64>)
  check.expect_eq_const %next, dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<> : tensor<0xui64>
  func.return
}

// -----

func.func @bits_16() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xi4>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[-6, -4, 7, -6, -3, -7]> : tensor<6xi4>
  func.return
}

// -----

func.func @bits_17() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui4>)
  check.expect_eq_const %next, dense<[1311768467463790320, 0]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[15, 1, 7, 7, 14, 12]> : tensor<6xui4>
  func.return
}

// -----

func.func @bits_18() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xi64>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[8112081530999492730, 2445923859953712039, 5540413775124856893]> : tensor<3xi64>
  func.return
}

// -----

func.func @float_bits_0() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %floats = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xf32>)
  %bits = stablehlo.bitcast_convert %floats : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[3151517439, 3080049825, 2645875639]> : tensor<3xui32>
  func.return
}

// -----

func.func @float_bits_1() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %floats = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xbf16>)
  %bits = stablehlo.bitcast_convert %floats : (tensor<3xbf16>) -> tensor<3xui16>
  check.expect_eq_const %bits, dense<[20602, 59180, 31655]> : tensor<3xui16>
  func.return
}

// -----

func.func @float_bits_2() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %floats = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xf64>)
  %bits = stablehlo.bitcast_convert %floats : (tensor<3xf64>) -> tensor<3xui64>
  check.expect_eq_const %bits, dense<[8112081530999492730, 2445923859953712039, 5540413775124856893]> : tensor<3xui64>
  func.return
}

// -----

// Known answers of Random123: Threefry 2x32 (20 rounds) of zeros, of ones, and of the digits of pi.
func.func @threefry() {
  %keys0 = stablehlo.constant dense<[0, 4294967295, 320440878]> : tensor<3xui32>
  %keys1 = stablehlo.constant dense<[0, 4294967295, 57701188]> : tensor<3xui32>
  %counters0 = stablehlo.constant dense<[0, 4294967295, 608135816]> : tensor<3xui32>
  %counters1 = stablehlo.constant dense<[0, 4294967295, 2242054355]> : tensor<3xui32>
  %a, %b = stablehlo.custom_call @cu_threefry2x32_ffi(%keys0, %keys1, %counters0, %counters1)
    : (tensor<3xui32>, tensor<3xui32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>)
  check.expect_eq_const %a, dense<[1797259609, 481924860, 3297917596]> : tensor<3xui32>
  check.expect_eq_const %b, dense<[2579123966, 3137350631, 1212020640]> : tensor<3xui32>
  func.return
}

// -----

// Uniform integers and reals lie in [low, high); normal numbers of deviation 0 are the mean.
func.func @ranges() {
  %low = stablehlo.constant dense<-3> : tensor<i16>
  %high = stablehlo.constant dense<2> : tensor<i16>
  %shape = stablehlo.constant dense<[40, 50]> : tensor<2xi64>
  %x = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<i16>, tensor<i16>, tensor<2xi64>) -> tensor<40x50xi16>
  %most = stablehlo.constant dense<-32768> : tensor<i16>
  %least = stablehlo.constant dense<32767> : tensor<i16>
  %max = stablehlo.reduce(%x init: %most) applies stablehlo.maximum across dimensions = [0, 1]
    : (tensor<40x50xi16>, tensor<i16>) -> tensor<i16>
  %min = stablehlo.reduce(%x init: %least) applies stablehlo.minimum across dimensions = [0, 1]
    : (tensor<40x50xi16>, tensor<i16>) -> tensor<i16>
  check.expect_eq_const %max, dense<1> : tensor<i16>
  check.expect_eq_const %min, dense<-3> : tensor<i16>
  %mean = stablehlo.constant dense<2.5> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %n = stablehlo.rng %mean, %none, %three, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi32>) -> tensor<3xf32>
  check.expect_eq_const %n, dense<2.5> : tensor<3xf32>
  func.return
}

// -----

// 10,000 numbers: the mean of uniform ones is 1/2 within 4 of its deviations (1 / sqrt(12 * 10000) = 0.0029); normal ones have
// mean 1 within 4 * 2 / 100 and variance 4 within 4 * 4 * sqrt(2) / 100. Two draws of one operation differ.
func.func @moments() {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %two = stablehlo.constant dense<2.0> : tensor<f64>
  %shape = stablehlo.constant dense<10000> : tensor<1xi64>
  %count = stablehlo.constant dense<10000.0> : tensor<f64>
  %u = stablehlo.rng %zero, %one, %shape, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<10000xf64>
  %sum_u = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10000xf64>, tensor<f64>) -> tensor<f64>
  %mean_u = stablehlo.divide %sum_u, %count : tensor<f64>
  %half = stablehlo.constant dense<0.5> : tensor<f64>
  check.expect_almost_eq %mean_u, %half, tolerance = 0.0116 : tensor<f64>
  %n = stablehlo.rng %one, %two, %shape, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<10000xf64>
  %sum_n = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10000xf64>, tensor<f64>) -> tensor<f64>
  %mean_n = stablehlo.divide %sum_n, %count : tensor<f64>
  check.expect_almost_eq %mean_n, %one, tolerance = 0.08 : tensor<f64>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f64>) -> tensor<10000xf64>
  %off = stablehlo.subtract %n, %ones : tensor<10000xf64>
  %squares = stablehlo.multiply %off, %off : tensor<10000xf64>
  %sum_s = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10000xf64>, tensor<f64>) -> tensor<f64>
  %variance = stablehlo.divide %sum_s, %count : tensor<f64>
  %four = stablehlo.constant dense<4.0> : tensor<f64>
  check.expect_almost_eq %variance, %four, tolerance = 0.2263 : tensor<f64>
  func.return
}

// -----

// A loop draws twice from one operation: other numbers each time.
func.func @draws() {
  %zero = stablehlo.constant dense<0> : tensor<ui64>
  %high = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %shape = stablehlo.constant dense<> : tensor<0xi64>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %i, %before, %last = stablehlo.while(%i = %i0, %before = %zero, %last = %zero) : tensor<i32>, tensor<ui64>, tensor<ui64>
  cond {
    %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %x = stablehlo.rng %zero, %high, %shape, distribution = UNIFORM : (tensor<ui64>, tensor<ui64>, tensor<0xi64>) -> tensor<ui64>
    stablehlo.return %next, %last, %x : tensor<i32>, tensor<ui64>, tensor<ui64>
  }
  %differ = stablehlo.compare NE, %before, %last : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
  check.expect_eq_const %differ, dense<true> : tensor<i1>
  func.return
}
