"""Counts of one program against JAX: the `xla` convention against HloCostAnalysis, the `true` one against an independent
count of the jaxpr (true_counts.py)."""
import re

from jax._src.interpreters import mlir
from jax.interpreters import partial_eval
from jaxlib import _jax
from jaxlib.mlir import ir

import true_counts
from ridgeline_tool import Refused

# XLA adds the counts of operations as 32-bit floats.
ROUNDING = 2.0**-20

KEYS = {"operations": ("flops", "transcendentals"), "bytes": ("bytes accessed",)}

# A broadcast to the same shape. HLO has them, and XLA counts them; in StableHLO they are dropped by the conversion, so
# that in text made from HLO something that costs the same stands for them.
SAME_SHAPE = re.compile(r"stablehlo\.broadcast_in_dim (%\S+), dims = \[[0-9, ]+\] : \((tensor<\S+>)\) -> \2(?=\s)")


def close(ours, theirs):
    if ours is None:  # unknown; XLA's sum of its -1 per custom call
        return theirs < 0
    return ours == theirs or abs(ours - theirs) <= ROUNDING * abs(theirs)


def counts_of(document):
    main = next(f for f in document["functions"] if f["function"] == "main")
    return {"flops": main["xla_flops"], "transcendentals": main["xla_transcendentals"], "bytes accessed": main["xla_bytes"]}


def hlo_as_stablehlo(lowered):
    """The program after XLA's conversion to HLO, which folds before XLA counts."""
    computation = lowered.compiler_ir("hlo")
    module = _jax.mlir.hlo_to_stablehlo(computation.as_serialized_hlo_module_proto())
    with mlir.make_ir_context():
        return SAME_SHAPE.sub(r"stablehlo.reverse \1, dims = [0] : \2", str(ir.Module.parse(module)))


def differences(ours, theirs):
    return ", ".join(f"{k} {v} (XLA {theirs.get(k, 0):.0f})" for k, v in ours.items() if not close(v, theirs.get(k, 0)))


def xla_check(tool, document, lowered):
    """({"operations": verdict, "bytes": verdict}, detail, gaps): "same", or "rewritten" where the program after XLA's folding
    gives the same counts; no verdict where both differ: `gaps` then has XLA's count less ours of its program."""
    theirs = lowered.cost_analysis() or {}
    ours = counts_of(document)
    verdicts = {k: "same" for k, keys in KEYS.items() if all(close(ours[x], theirs.get(x, 0)) for x in keys)}
    if len(verdicts) == len(KEYS):
        return verdicts, "", {}
    detail = differences(ours, theirs)
    try:
        again = counts_of(tool.inspect(hlo_as_stablehlo(lowered))[0])
    except Exception as error:  # what XLA cannot convert back stays unexplained
        return verdicts, f"{detail}; HLO: {str(error)[:200]}", {}
    for kind, keys in KEYS.items():
        if all(close(again[x], theirs.get(x, 0)) for x in keys):
            verdicts.setdefault(kind, "rewritten")
    gaps = {k: theirs.get(k, 0) - v for k, v in again.items() if v is not None and not close(v, theirs.get(k, 0))}
    return verdicts, f"{detail}; of the HLO {differences(again, theirs) or 'none'}", gaps


def true_check(document, jaxpr):
    """(all that an independent count knows agrees or None when it knows nothing, what differs)."""
    live, _ = partial_eval.dce_jaxpr(jaxpr.jaxpr, [True] * len(jaxpr.jaxpr.outvars))
    units = document["totals"]["units"]
    known = {k: v for k, v in true_counts.count(live).items() if v is not None}
    wrong = {k: v for k, v in known.items() if units[k]["operations"] != v}
    detail = ", ".join(f"{k} {units[k]['operations']} (jaxpr {v})" for k, v in wrong.items())
    return (not wrong if known else None), detail


class CountCheck:
    """The counts of one program; `lowered` is None where XLA cannot count it (dimensions that are not known: there the
    program must be accepted with `binds`)."""

    def __init__(self, tool, built):
        self.tool, self.text, self.lowered, self.jaxpr, self.binds = tool, built.text, built.lowered, built.jaxpr, built.binds
        self.problems = {}
        self.gaps = {}
        self.is_unfolded = True

    def run(self):
        try:
            document, messages = self.tool.inspect(self.text, self.binds)
        except Refused as error:
            return {"accepted": [str(error)]}
        self.problems["accepted"] = messages[:3]
        if self.lowered is not None:
            verdicts, detail, self.gaps = xla_check(self.tool, document, self.lowered)
            for kind in KEYS:
                self.problems[kind] = [] if kind in verdicts else [detail]
            self.is_unfolded = all(verdicts.get(k) == "same" for k in KEYS)
        if self.jaxpr is not None:
            agrees, difference = true_check(document, self.jaxpr)
            if agrees is not None:
                self.problems["true count"] = [] if agrees else [difference]
        return self.problems
