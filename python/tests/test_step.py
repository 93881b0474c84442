"""Steps of distributed programs: the object, its table and texts, traces, refusals."""

from __future__ import annotations

import json
import pathlib

import pytest
import ridgeline

SHARED = """module @shared attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%a: tensor<64x128xbf16>, %b: tensor<512x256xbf16>) -> tensor<64x256xbf16> {
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}>
      : (tensor<64x128xbf16>) -> tensor<64x512xbf16>
    %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0]
      : (tensor<64x512xbf16>, tensor<512x256xbf16>) -> tensor<64x256xbf16>
    return %1 : tensor<64x256xbf16>
  }
}
"""


def test_parts_add_up() -> None:
    step = ridgeline.step(SHARED, cluster="dgx_h100")
    e = step["dgx_h100"]
    parts = e.compute_s + e.exposed_s + e.bubble_s + e.straggler_s + e.dispatch_s
    assert parts == pytest.approx(e.time_s, rel=1e-6) and e.devices == 4
    assert sum(e.exposed_by_kind.values()) == pytest.approx(e.exposed_s, rel=1e-6)
    gather = e.collectives[0]
    # the full buffer of a rank is the result: 64 x 512 bf16
    assert (gather.kind, gather.group_size, gather.bytes, gather.count) == ("all_gather", 4, 64 * 512 * 2, 1)
    assert e.memory is not None and e.memory.fits


def test_it_prints_and_traces(tmp_path: pathlib.Path) -> None:
    step = ridgeline.step(SHARED, cluster=["dgx_a100", "dgx_h100"], overlap="none", chakra=tmp_path / "ranks")
    assert [e.time_s for e in step] == sorted(e.time_s for e in step)
    assert step.fastest is step[0] and step.fastest.overlap == "none"
    assert len(str(step).splitlines()) == 4 + 2 and "<table" in step._repr_html_()
    assert "exposed communication" in step.report
    assert json.loads(step.trace)["otherData"]["cluster"] == step.fastest.cluster
    assert len(list((tmp_path / "ranks").glob("*.et"))) == 4
    assert step.to_dict()["format"] == "ridgeline-step"


def test_refusals() -> None:
    with pytest.raises(ridgeline.RidgelineError, match="written for 4 devices, the slice of dgx_h100 has 2"):
        ridgeline.step(SHARED, cluster="dgx_h100", devices=2)
    with pytest.raises(ridgeline.RidgelineError) as unknown:
        ridgeline.step(SHARED, cluster="no_such_cluster")
    assert unknown.value.diagnostics[0].code == "E0313"
    with pytest.raises(ridgeline.RidgelineError, match="no overlap 'sometimes'"):
        ridgeline.step(SHARED, cluster="dgx_h100", overlap="sometimes")
    with pytest.raises(KeyError, match="predicted on are dgx_h100"):
        ridgeline.step(SHARED, cluster="dgx_h100")["tpu_v4"]
