"""Plans: the object, its table and texts, refusals."""

from __future__ import annotations

import json

import pytest
import ridgeline


def test_a_plan_has_its_policies(matmul: str) -> None:
    plan = ridgeline.plan(matmul, policies="all")
    joint, ideal = plan["joint"], plan["ideal"]
    assert plan.chip == "elk_ipu_pod4_hbm" and plan.chosen == "joint" and plan.time_s == joint.time_s
    assert joint.time_s >= plan.plan_space_bound_s >= 0 and joint.time_s >= plan.resource_bound_s > 0
    # 512x1024 and 1024x256 bf16 are read, 512x256 written, at less than 17 TB/s
    assert joint.time_s > (512 * 1024 + 1024 * 256) * 2 / 17e12
    assert ideal.reference and not joint.reference
    assert joint.gap_plan_space == pytest.approx(joint.time_s / plan.plan_space_bound_s - 1)
    assert joint.peak_sram_bytes is not None and joint.peak_sram_bytes <= 624 * 1024
    assert [p.policy for p in plan] == [p["policy"] for p in plan.to_dict()["policies"]]


def test_it_prints_as_a_table(matmul: str) -> None:
    plan = ridgeline.plan(matmul, policies=["basic", "joint"])
    assert [line.split()[0] for line in str(plan).splitlines()[4:]] == ["basic", "joint"]
    assert "<table" in plan._repr_html_()
    assert "no plan whatever is faster" in plan.report


def test_its_texts_are_what_they_say(matmul: str) -> None:
    plan = ridgeline.plan(matmul)
    assert json.loads(plan.file)["format"].startswith("ridgeline-plan")
    assert json.loads(plan.trace)["otherData"]["policy"] == "joint"
    assert plan.chart.startswith("<!doctype html>")


def test_without_an_ingredient(matmul: str) -> None:
    assert ridgeline.plan(matmul, without="fusion", ablation=True).ablation[0].time_s > 0
    with pytest.raises(ridgeline.RidgelineError, match="no ingredient 'speed'"):
        ridgeline.plan(matmul, without="speed")


def test_refusals(matmul: str) -> None:
    with pytest.raises(ridgeline.RidgelineError, match="no policy 'best'"):
        ridgeline.plan(matmul, policies="best")
    with pytest.raises(ridgeline.RidgelineError) as refused:
        ridgeline.plan(matmul, on="h100")
    assert refused.value.diagnostics[0].code == "E0803"
    with pytest.raises(KeyError, match="planned with are joint"):
        ridgeline.plan(matmul)["static"]
