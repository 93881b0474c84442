// case: ParamFeedsNestedFusionAndTrivialUser
// The parameter feeds a nested fusion (x + x), whose result a reduce_window takes, and the divide: two reads.
// op: mhlo.fusion
// expect: bytes=1610612736
func.func @main(%in: tensor<64x16x512x512xbf16>) -> tensor<64x16x512x512xbf16> {
  %0 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tensor<64x16x512x512xbf16>):
    %nested = "mhlo.fusion"(%in_in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
    ^bb1(%p: tensor<64x16x512x512xbf16>):
      %s = mhlo.add %p, %p : tensor<64x16x512x512xbf16>
      mhlo.return %s : tensor<64x16x512x512xbf16>
    }) : (tensor<64x16x512x512xbf16>) -> tensor<64x16x512x512xbf16>
    %zero = mhlo.constant dense<0.000000e+00> : tensor<bf16>
    %window = "mhlo.reduce_window"(%nested, %zero) <{padding = dense<[[0, 0], [0, 0], [0, 0], [511, 511]]> : tensor<4x2xi64>, window_dimensions = dense<[1, 1, 1, 1023]> : tensor<4xi64>}> ({
    ^bb2(%a: tensor<bf16>, %b: tensor<bf16>):
      %q = mhlo.add %a, %b : tensor<bf16>
      mhlo.return %q : tensor<bf16>
    }) : (tensor<64x16x512x512xbf16>, tensor<bf16>) -> tensor<64x16x512x512xbf16>
    %r = mhlo.divide %in_in, %window : tensor<64x16x512x512xbf16>
    mhlo.return %r : tensor<64x16x512x512xbf16>
  }) : (tensor<64x16x512x512xbf16>) -> tensor<64x16x512x512xbf16>
  return %0 : tensor<64x16x512x512xbf16>
}
