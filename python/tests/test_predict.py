"""Predictions: bounds that physics gives, the forms of the answer, the options."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import pickle

import pytest
import ridgeline

FLOP = 2 * 512 * 1024 * 256  # of the product: a multiply and an add per element of the contraction
BYTES = 2 * (512 * 1024 + 1024 * 256 + 512 * 256)  # bf16 operands and result, each moved once


def test_time_respects_peak_and_bandwidth(matmul: str) -> None:
    prediction = ridgeline.predict(matmul, on=["h100", "mi300x"])
    assert [e.chip for e in prediction] == sorted((e.chip for e in prediction), key=lambda c: prediction[c].time_s)
    chips = ridgeline.chips()
    for e in prediction:
        figures = chips[e.chip].figures
        assert e.time_s >= FLOP / figures["matrix_bf16"]
        assert e.low_s <= e.time_s <= e.high_s and e.interval == (e.low_s, e.high_s)
        assert e.flops == FLOP
        assert e.mfu == pytest.approx(FLOP / (e.time_s * figures["matrix_bf16"]), rel=1e-9)
        assert e.memory is not None and e.memory.argument_bytes == 2 * (512 * 1024 + 1024 * 256)
        assert e.fits is True and e.memory.capacity_bytes == figures["memory_bytes"]
        parts = sum(s.time_s for s in e.time_by_bound.values()) + e.dispatch_s
        assert parts == pytest.approx(e.time_s, rel=1e-9)
        assert [o.operation for o in e.operations] == ["dot_general"] and e.operations[0].op_class == "matrix"
    assert prediction[0].times_fastest == 1 and prediction.fastest is prediction[0]


def test_a_prediction_is_a_sequence_and_a_table(matmul: str) -> None:
    prediction = ridgeline.predict(matmul, on="h100,mi300x")
    assert len(prediction) == 2 and list(prediction[:1]) == [prediction[0]] and prediction[-1] in prediction
    with pytest.raises(KeyError, match="amd_mi300x"):
        prediction["h200"]
    head, gap, titles, rule, *rows = str(prediction).splitlines()
    assert head.startswith("product, roofline (Ridgeline ") and not gap and titles.split()[0] == "chip"
    assert [row.split()[0] for row in rows] == [e.chip for e in prediction]
    assert {len(row) for row in (titles, rule)} == {len(rule)}
    assert repr(prediction) == str(prediction)
    assert prediction._repr_html_().count("<tr>") == 3
    assert "nvidia_h100_sxm" in prediction.report and "fusion" in prediction.report


def test_documents_are_the_library_s(matmul: str) -> None:
    prediction = ridgeline.predict(matmul, on="h100")
    document = prediction.to_dict()
    assert document["format"] == "ridgeline-prediction" and json.loads(json.dumps(document)) == document
    assert prediction[0].to_dict() == document["estimates"][0]
    assert ridgeline.Prediction.from_json(document) == prediction
    document["estimates"].clear()
    assert len(prediction.to_dict()["estimates"]) == 1
    assert pickle.loads(pickle.dumps(prediction)) == prediction


def documented(start: str) -> dict[str, object]:
    """The example document of docs/json.md."""
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "json.md"
    if not page.exists():
        pytest.skip("the repository around the package is not there")
    return json.loads(page.read_text(encoding="utf-8").split(start)[1].split("```json")[1].split("```")[0])  # type: ignore[no-any-return]


def test_the_documented_example_reads_completely() -> None:
    alpha, gamma = ridgeline.Prediction.from_json(documented("## Prediction"))
    assert (alpha.time_s, alpha.low_s, alpha.high_s, alpha.mfu) == (0.01, 0.008, 0.013, 0.42)
    assert alpha.time_by_class["matrix"] == ridgeline.Share(0.004, 0.4, 1)
    assert alpha.fusion is not None and alpha.fusion.gain == 2.5
    assert alpha.notes == (ridgeline.Note("W0503", "2 collectives, 1.50 MB, not timed", 1),)
    assert gamma.refused and gamma.reason == "gamma cannot run bf16" and math.isnan(gamma.time_s) and gamma.fits is None
    table = str(ridgeline.Prediction.from_json(documented("## Prediction"))).splitlines()
    assert table[4].split() == (
        "alpha Acme 10.0 ms 8.00 ms – 13.0 ms 1.00× memory 50 % 42 % 3 200 kB / 16.0 GB yes".split()
    )
    assert "refused: gamma cannot run bf16" in table[5]


def test_estimates_are_plain_and_frozen(matmul: str) -> None:
    e = ridgeline.predict(matmul, on="h100")[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        e.time_s = 0.0  # type: ignore[misc]
    assert str(e).startswith("nvidia_h100_sxm: ") and "bound by" in str(e)


def test_options(matmul: str) -> None:
    f32 = matmul.replace("bf16", "f32")
    plain, narrow = (ridgeline.predict(f32, on="a100", f32_as=p)[0] for p in ("f32", "bf16"))
    assert plain.time_s > narrow.time_s
    chain = matmul.replace(
        "return %0",
        "%1 = stablehlo.tanh %0 : tensor<512x256xbf16>\n    %2 = stablehlo.tanh %1 : tensor<512x256xbf16>\n    return %2",
    )
    fused, unfused = (ridgeline.predict(chain, on="h100", fusion=f)[0] for f in (True, False))
    assert fused.kernels < unfused.kernels == 3 and unfused.fusion is None
    with pytest.raises(ridgeline.RidgelineError, match="no fidelity 'guess'"):
        ridgeline.predict(matmul, on="h100", fidelity="guess")
    with pytest.raises(ValueError, match="on which chips"):
        ridgeline.predict(matmul, on=[])
    assert len(ridgeline.predict(matmul, on="@demo")) > 5


def test_dynamic_dimensions_are_bound() -> None:
    text = (
        "func.func @main(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {\n"
        "  %0 = stablehlo.tanh %a : tensor<?x8xf32>\n  return %0 : tensor<?x8xf32>\n}"
    )
    assert ridgeline.inspect(text, bind="arg0=1000x8").read_bytes == 4 * 8000
    assert ridgeline.predict(text, on="h100", bind=["arg0=1000x8"])[0].time_s > 0


def test_a_program_is_read_once(matmul: str) -> None:
    program = ridgeline.Program(matmul, name="mine.mlir")
    assert program.predict("h100") == program.predict(["nvidia_h100_sxm"])
    assert program.predict("h100").program == "mine.mlir" and "mine.mlir" in repr(program)
    assert program.predict(ridgeline.chips()["h100"]) == ridgeline.predict(program, on="h100")
    with pytest.raises(TypeError, match="read already"):
        ridgeline.predict(program, on="h100", entry="main")
    assert "dot_general" in program.explain() and "task 0" in program.explain("h100", task=0)
    assert json.loads(program.trace("h100"))


def test_chip_files(matmul: str, tmp_path: pathlib.Path) -> None:
    chip = tmp_path / "mine.yaml"
    chip.write_text("id: mine\nname: Mine\nvendor: Me\ninherit: nvidia_h100_sxm\nfields: {}\n", encoding="utf-8")
    mine, h100 = (ridgeline.predict(matmul, on=c)[0] for c in (chip, "h100"))
    assert mine.chip == "mine" and mine.flops == h100.flops


def test_pandas(matmul: str) -> None:
    pandas = pytest.importorskip("pandas")
    prediction = ridgeline.predict(matmul, on=["h100", "mi300x"])
    frame = prediction.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["chip"]) == [e.chip for e in prediction]
    assert frame["time_s"].dtype == "float64" and list(frame["fits"]) == [True, True]
    assert list(prediction[0].to_pandas()["operation"]) == ["dot_general"]
    assert len(ridgeline.chips().to_pandas()) == len(ridgeline.chips())


def test_inspection(matmul: str) -> None:
    found = ridgeline.inspect(matmul)
    assert (found.flops, found.matrix_flops, found.read_bytes + found.write_bytes) == (FLOP, FLOP, BYTES)
    assert found.flops_per_byte == pytest.approx(FLOP / BYTES)
    assert [(o.operation, o.op_class, o.count) for o in found.operations] == [("dot_general", "matrix", 1)]
    assert found.functions[0].function == "main" and found.functions[0].xla_flops == FLOP
    assert "dot_general" in str(found) and "dot_general" in found._repr_html_() and "product" in found.report
    assert ridgeline.Inspection.from_json(found.to_dict()) == found
    documented_one = ridgeline.Inspection.from_json(documented("## Inspection"))
    assert documented_one.collectives == (ridgeline.Collective("all_reduce", 8, 3, 98304),)
    assert documented_one.loops[0].trips == 3
