// case: LoopFusionDynUpdateSlice
// A slice of one array is written into another in place: the slice is read (18874368 bytes), written, and the index read,
// as by a plain dynamic_update_slice of tensor<1x32x256x1152xbf16>.
// op: mhlo.fusion
// expect: bytes=37748740 operand0=0 operand1=4 operand2=18874368 output=18874368
func.func @main(%into: tensor<50x32x256x1152xbf16>, %i: tensor<i32>, %from: tensor<50x32x256x1152xbf16>) -> tensor<50x32x256x1152xbf16> {
  %0 = "mhlo.fusion"(%into, %i, %from) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%into_in: tensor<50x32x256x1152xbf16>, %i_in: tensor<i32>, %from_in: tensor<50x32x256x1152xbf16>):
    %zero = mhlo.constant dense<0> : tensor<i32>
    %s = "mhlo.dynamic_slice"(%from_in, %i_in, %zero, %zero, %zero) <{slice_sizes = dense<[1, 32, 256, 1152]> : tensor<4xi64>}> : (tensor<50x32x256x1152xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x256x1152xbf16>
    %u = "mhlo.dynamic_update_slice"(%into_in, %s, %i_in, %zero, %zero, %zero) : (tensor<50x32x256x1152xbf16>, tensor<1x32x256x1152xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<50x32x256x1152xbf16>
    mhlo.return %u : tensor<50x32x256x1152xbf16>
  }) : (tensor<50x32x256x1152xbf16>, tensor<i32>, tensor<50x32x256x1152xbf16>) -> tensor<50x32x256x1152xbf16>
  return %0 : tensor<50x32x256x1152xbf16>
}
