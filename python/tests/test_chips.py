"""Chips: the list, one chip's facts, chips from elsewhere."""

from __future__ import annotations

import pathlib
import shutil

import pytest
import ridgeline
from ridgeline import _abi
from ridgeline._table import quantity


def test_list() -> None:
    chips = ridgeline.chips()
    assert len(chips) > 50 and [c.id for c in chips] == sorted(c.id for c in chips)
    h100 = chips["h100"]
    assert h100 == chips["nvidia_h100_sxm"] and h100.vendor == "NVIDIA" and h100.predicts
    # 132 SMs x 4 tensor cores x 512 FMA x 2 x 1.83 GHz (boost of the data sheet's 989.4 TFLOP/s)
    assert h100.figures["matrix_bf16"] == pytest.approx(989.4e12, rel=1e-3)
    assert chips[:2] == ridgeline.chips()[:2] and len(chips[:2]) == 2
    assert str(chips).count("\n") == len(chips) + 1 and "nvidia_h100_sxm" in chips._repr_html_()
    with pytest.raises(KeyError):
        chips["h1000"]


def test_sheet() -> None:
    sheet = ridgeline.chip("h100")
    assert sheet.id == "nvidia_h100_sxm" and all(
        f.kind in ("datasheet", "measured", "inferred") for f in sheet.fields.values()
    )
    bandwidth = sheet.fields["mem.bw"]
    assert bandwidth.value == sheet.figures["memory_rate"] and bandwidth.unit == "B/s" and bandwidth.source
    assert "nvidia_h100_sxm" in str(sheet)
    with pytest.raises(ridgeline.RidgelineError, match="did you mean"):
        ridgeline.chip("h1000")


def test_another_folder_of_chips(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = pathlib.Path(_abi.__file__).parent / "share" / "ridgeline" / "hardware"
    source = packaged if packaged.exists() else pathlib.Path(__file__).resolve().parents[2] / "hardware"
    for folder in ("families", "amd"):
        shutil.copytree(source / folder, tmp_path / folder)
    everything = len(ridgeline.chips())
    monkeypatch.setenv("RIDGELINE_HARDWARE", str(tmp_path))
    assert {c.vendor for c in ridgeline.chips()} == {"AMD"}
    monkeypatch.delenv("RIDGELINE_HARDWARE")
    assert len(ridgeline.chips()) == everything


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0037, "s", "3.70 ms"),
        (9.9999e-4, "s", "1.00 ms"),
        (12.34, "s", "12.3 s"),
        (0, "B", "0 B"),
        (1, "B", "1 B"),
        (999, "B", "999 B"),
        (84.9e9, "B", "84.9 GB"),
        (999.6e9, "B", "1.00 TB"),
        (3e-12, "s", "0.00 ns"),
        (None, "s", "-"),
        (float("nan"), "s", "-"),
        (1.07e9, "", "1.07 G"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text
