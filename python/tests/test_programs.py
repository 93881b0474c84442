"""What a program may be given as."""

from __future__ import annotations

import gzip
import pathlib

import pytest
import ridgeline
from conftest import AFFINE, MATMUL


def test_text_bytes_and_paths_are_one_program(tmp_path: pathlib.Path) -> None:
    plain, packed, bytecode = tmp_path / "p.mlir", tmp_path / "p.mlir.gz", tmp_path / "p.mlir.bc"
    plain.write_text(MATMUL, encoding="utf-8")
    packed.write_bytes(gzip.compress(MATMUL.encode()))
    artifact = ridgeline.convert(plain, "bytecode", target="1.0.0")
    bytecode.write_bytes(artifact)
    want = ridgeline.inspect(MATMUL)
    forms = [MATMUL.encode(), bytearray(artifact), memoryview(artifact), plain, str(plain), packed, bytecode]
    for form in forms:
        found = ridgeline.inspect(form)
        assert (found.flops, found.read_bytes, found.write_bytes) == (want.flops, want.read_bytes, want.write_bytes)


def test_hlo_text() -> None:
    text = "HloModule sum\n\nENTRY main {\n  a = f32[1000] parameter(0)\n  ROOT b = f32[1000] add(a, a)\n}\n"
    found = ridgeline.inspect(text)
    assert found.program == "sum" and found.flops == 1000


def test_objects_are_recognised_by_their_methods() -> None:
    class Lowered:
        def as_text(self) -> str:
            return MATMUL

    class Jitted:
        def lower(self, size: int) -> Lowered:
            assert size == 3
            return Lowered()

    class Exported:
        mlir_module_serialized = ridgeline.convert(MATMUL, "bytecode")
        fun_name = "f"

    class TorchXla:
        def get_stablehlo_bytecode(self) -> bytes:
            return Exported.mlir_module_serialized

    class Message:
        def SerializeToString(self) -> bytes:
            return MATMUL.encode()

    flops = ridgeline.inspect(MATMUL).flops
    for program in (Lowered(), Exported(), TorchXla(), Message()):
        assert ridgeline.inspect(program).flops == flops
    assert ridgeline.inspect(Jitted(), 3).flops == flops
    assert ridgeline.inspect(Exported()).program == "f"


@pytest.mark.parametrize(
    ("program", "args", "message"),
    [(3, (), "int is no program"), (len, (), "needs example arguments"), (MATMUL, (1,), "takes no example arguments")],
)
def test_other_things_are_refused(program: object, args: tuple[int, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ridgeline.predict(program, *args, on="h100")


def test_conversion_round_trips() -> None:
    artifact = ridgeline.convert(AFFINE, "bytecode", target="1.0.0")
    pretty = ridgeline.convert(AFFINE)
    assert artifact.startswith(b"ML\xefR") and b"StableHLO_v1.0.0" in artifact
    assert (
        ridgeline.convert(artifact)
        == pretty
        == ridgeline.convert(pretty)
        == ridgeline.convert(ridgeline.convert(AFFINE, "generic"))
    )
    assert '"stablehlo.add"' in ridgeline.convert(AFFINE, form="generic")
    with pytest.raises(ridgeline.RidgelineError, match="no version of StableHLO"):
        ridgeline.convert(AFFINE, "bytecode", target="7.0.0")
    with pytest.raises(ValueError, match='for the form "bytecode"'):
        ridgeline.convert(AFFINE, target="1.0.0")  # type: ignore[call-overload]


def test_signatures() -> None:
    program = ridgeline.Program(AFFINE)
    assert [(s.type, s.dtype, s.shape) for s in program.inputs] == [
        ("tensor<2x3xf32>", "f32", (2, 3)),
        ("tensor<3xf32>", "f32", (3,)),
    ]
    assert [s.shape for s in program.outputs] == [(2, 3), ()]
    dynamic = ridgeline.Program(
        "func.func @main(%a: tensor<?x2xi8>) -> tensor<?x2xi8> {\n  return %a : tensor<?x2xi8>\n}"
    )
    assert dynamic.inputs[0].shape == (None, 2)


def test_onnx_models() -> None:
    onnx = pytest.importorskip("onnx")
    np = pytest.importorskip("numpy")
    value, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), onnx.helper.make_node("Relu", ["y"], ["z"])]
    inputs = [value("x", kind, [4, 8]), value("w", kind, [8, 2])]
    graph = onnx.helper.make_graph(nodes, "layer", inputs, [value("z", kind, [4, 2])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    for program in (model, model.SerializeToString()):
        assert ridgeline.inspect(program).matrix_flops == 2 * 4 * 8 * 2
    assert ridgeline.inspect(model).program == "layer"
    x, w = np.ones((4, 8), "f4"), np.arange(-8, 8, dtype="f4").reshape(8, 2)
    # columns of w sum to -8 and 0
    np.testing.assert_array_equal(ridgeline.run(model, x, w)[0], np.zeros((4, 2)))
    np.testing.assert_array_equal(ridgeline.run(model, -x, w)[0], np.array([[8, 0]] * 4))
