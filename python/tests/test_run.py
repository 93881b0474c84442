"""Running: arrays in, arrays out."""

from __future__ import annotations

import pickle

import pytest
import ridgeline
from conftest import AFFINE, unary

np = pytest.importorskip("numpy")


def test_results_are_arrays() -> None:
    x, b = np.arange(6, dtype="f4").reshape(2, 3), np.array([1, 2, 3], "f4")
    result = ridgeline.run(AFFINE, x, b)
    y, total = result
    np.testing.assert_array_equal(y, x + b)
    assert total.shape == () and total == (x + b).sum() == 27 and y.dtype == np.float32
    y[0, 0] = 7  # the caller's own memory
    assert result.time_s >= 0 and result.processes == (tuple(result),)
    assert pickle.loads(pickle.dumps(result))[1] == 27
    np.testing.assert_array_equal(ridgeline.run(AFFINE, x.T.copy().T, b[::-1][::-1])[0], x + b)  # not contiguous
    np.testing.assert_array_equal(ridgeline.run(AFFINE, x.astype(">f4"), [1, 2, 3])[0], x + b)
    with pytest.raises(TypeError, match="does not come from JAX"):
        result.tree


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "f32", "f64"])
def test_types_of_numpy(dtype: str) -> None:
    name = dtype.replace("ui", "uint") if dtype.startswith("ui") else dtype.replace("i", "int").replace("f", "float")
    x = np.array([0, 1, 2, 100], name)
    (y,) = ridgeline.run(unary("negate", dtype), x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, -x)


def test_booleans_and_complex_numbers() -> None:
    (y,) = ridgeline.run(unary("not", "i1"), np.array([True, False, True, True]))
    assert y.dtype == bool and y.tolist() == [False, True, False, False]
    for dtype, name in (("complex<f32>", "c8"), ("complex<f64>", "c16")):
        x = np.array([1 + 2j, -3j, 0, 4], name)
        (y,) = ridgeline.run(unary("negate", dtype), x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, -x)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("bf16", "bfloat16"),
        ("f8E4M3FN", "float8_e4m3fn"),
        ("f8E5M2", "float8_e5m2"),
        ("f8E4M3B11FNUZ", "float8_e4m3b11fnuz"),
        ("f8E8M0FNU", "float8_e8m0fnu"),
        ("f4E2M1FN", "float4_e2m1fn"),
        ("f6E3M2FN", "float6_e3m2fn"),
        ("i4", "int4"),
        ("ui4", "uint4"),
        ("i2", "int2"),
    ],
)
def test_types_of_ml_dtypes(dtype: str, name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    values = [-2, -1, 0, 1] if dtype in ("i2", "i4") else [1, 2, 1, 4] if dtype == "f8E8M0FNU" else [0, 1, 2, 3]
    x = np.array(values).astype(getattr(ml_dtypes, name))
    kind = f"tensor<4x{dtype}>"
    (y,) = ridgeline.run(f"func.func @main(%a: {kind}) -> {kind} {{\n  return %a : {kind}\n}}\n", x)
    assert y.dtype == x.dtype
    assert y.astype("f4").tolist() == values


def test_arithmetic_of_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, 256, 257, -3], ml_dtypes.bfloat16)  # 257 is no bfloat16: 8 bits of mantissa, ties to even
    program = unary("add", "bf16").replace("add %a", "add %a, %a")
    (y,) = ridgeline.run(program, x)
    assert y.astype("f4").tolist() == [2, 512, 512, -6]
    assert ridgeline.run(program, [1, 2, 3, 4])[0].astype("f4").tolist() == [2, 4, 6, 8]


def test_wrong_inputs() -> None:
    x, b = np.zeros((2, 3), "f4"), np.zeros(3, "f4")
    with pytest.raises(ridgeline.RidgelineError):
        ridgeline.run(AFFINE, x)
    with pytest.raises(ridgeline.RidgelineError, match="f64"):
        ridgeline.run(AFFINE, x.astype("f8"), b)
    with pytest.raises(ridgeline.RidgelineError):
        ridgeline.run(AFFINE, x.T, b)
    with pytest.raises(TypeError, match="input 1"):
        ridgeline.run(AFFINE, x, np.array(["a", "b", "c"]))


def test_missing_inputs_are_filled() -> None:
    zero = ridgeline.run(AFFINE, fill="zero")
    assert zero[1] == 0
    one, same, other = (ridgeline.run(AFFINE, fill="random", seed=s)[0] for s in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


def test_grids_and_budgets() -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
    result = ridgeline.run(text, np.array([1, 2], "f4"), np.array([10, 20], "f4"), replicas=2, per_process=True)
    assert [p[0].tolist() for p in result.processes] == [[11, 22], [11, 22]]
    with pytest.raises(ridgeline.RidgelineError) as caught:
        ridgeline.run(unary("tanh", "f32", "1000000x"), fill="zero", memory_budget_bytes=1000)
    assert caught.value.status in ("limit", "memory", "input") and caught.value.diagnostics[0].code == "E0704"


def test_failed_checks_and_printing() -> None:
    text = (
        "func.func @main() {\n  %a = stablehlo.constant dense<1> : tensor<i32>\n"
        "  check.expect_eq_const %a, dense<2> : tensor<i32>\n  return\n}\n"
    )
    with pytest.raises(ridgeline.RidgelineError) as caught:
        ridgeline.run(text)
    assert caught.value.diagnostics[0].code == "E0703" and caught.value.diagnostics[0].line == 3
    shows = "func.func @main(%a: tensor<2xf32>) {\n  interpreter.print %a : tensor<2xf32>\n  return\n}\n"
    printed: list[str] = []
    assert ridgeline.run(shows, np.array([1, 2], "f4"), print=printed.append) == ()
    assert "".join(printed).startswith("tensor<2xf32> {")

    def refuse(_text: str) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        ridgeline.run(shows, np.array([1, 2], "f4"), print=refuse)
