"""Programs that the tests share."""

from __future__ import annotations

import pytest

MATMUL = """module @product {
  func.func @main(%a: tensor<512x1024xbf16>, %b: tensor<1024x256xbf16>) -> tensor<512x256xbf16> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<512x1024xbf16>, tensor<1024x256xbf16>) -> tensor<512x256xbf16>
    return %0 : tensor<512x256xbf16>
  }
}
"""
AFFINE = """func.func @main(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<f32>) {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<2x3xf32>, tensor<f32>
}
"""
WRONG = """func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {
  return %a : tensor<2xf32>
}
"""


def unary(op: str, dtype: str, shape: str = "4x") -> str:
    kind = f"tensor<{shape}{dtype}>"
    return f"func.func @main(%a: {kind}) -> {kind} {{\n  %0 = stablehlo.{op} %a : {kind}\n  return %0 : {kind}\n}}\n"


@pytest.fixture
def matmul() -> str:
    return MATMUL


@pytest.fixture
def affine() -> str:
    return AFFINE
