"foo.x"() {a = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, b = #stablehlo.conv<[b, f, ?, 0]x[o, i, 0, ?]->[0, b, ?, f]>} : () -> ()
"foo.x"() {a = #stablehlo.conv<[b, b, f]x[i, o, 9]->[b, f]>} : () -> ()
"foo.x"() {a = #stablehlo.conv<raw input_batch_dimension = 99999999999>} : () -> ()
