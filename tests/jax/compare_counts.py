#!/usr/bin/env python3
"""Compares Ridgeline with JAX on small programs: the counts of the `xla` convention with HloCostAnalysis, the parser and
the printer with MLIR's own, and the `true` counts with an independent count of the jaxpr. README.md explains the checks.

Usage: compare_counts.py RIDGELINE [--count N] [--only TEXT] [--verbose] [--keep DIR]
Exit status: 0 all passed, 1 something differs, 77 JAX is not installed and --skip-code was given (else 0).
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jax
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir
except ImportError:
    jax = None

# XLA adds the counts of operations as 32-bit floats.
ROUNDING = 2.0**-20

# Counts that differ although both tools see the same operations, per "category name" prefix: why, and the HLO seen.
EXPLAINED = {
    "sorting approx_max_k": "XLA's converter expands the custom call ApproxTopK into sort, slices and a tuple (16 bytes) that "
                            "is gone when the HLO is converted back; the custom call itself counts as unknown here",
}

# Warnings that are true statements about a program: a custom call of unknown cost, a loop of unknown length.
EXPECTED_WARNINGS = ("[W0402]", "[W0403]")


def close(ours, theirs):
    if ours is None:  # unknown; XLA's sum of its -1 per custom call
        return theirs < 0
    return ours == theirs or abs(ours - theirs) <= ROUNDING * abs(theirs)


class Tool:
    """The built ridgeline."""

    def __init__(self, path, scratch):
        self.path = path
        self.scratch = pathlib.Path(scratch)

    def run(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def write(self, text):
        path = self.scratch / "program.mlir"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def inspect(self, text):
        """(document, problem): the inspection, or what the tool said instead."""
        status, out, err = self.run("inspect", self.write(text), "--json")
        if status != 0:
            return None, f"inspect: exit status {status}: {err.strip()[:400]}"
        return json.loads(out), None

    def diagnostics(self, text):
        return self.run("inspect", self.write(text), "--json")[2]

    def convert(self, text, form):
        return self.run("convert", self.write(text), "--form", form)


def true_check(document, jaxpr):
    """(all that an independent count knows agrees or None when it knows nothing, what differs)."""
    import true_counts
    from jax.interpreters import partial_eval as pe

    live, _ = pe.dce_jaxpr(jaxpr.jaxpr, [True] * len(jaxpr.jaxpr.outvars))
    units = document["totals"]["units"]
    known = {k: v for k, v in true_counts.count(live).items() if v is not None}
    wrong = {k: v for k, v in known.items() if units[k]["operations"] != v}
    detail = ", ".join(f"{k} {units[k]['operations']} (jaxpr {v})" for k, v in wrong.items())
    return (not wrong if known else None), detail


def counts_of(document):
    main = next(f for f in document["functions"] if f["function"] == "main")
    return {"flops": main["xla_flops"], "transcendentals": main["xla_transcendentals"], "bytes accessed": main["xla_bytes"]}


def count_check(tool, text, lowered):
    """How the counts agree: {"operations": verdict, "bytes": verdict}, and a detail for those that do not.

    Before it counts, XLA converts to HLO, and that conversion folds (x * 1, select of a constant, ...). When a program
    differs, its HLO is converted back to StableHLO and counted: equal numbers then mean that the folding is the
    difference ("rewritten")."""
    theirs = lowered.cost_analysis() or {}
    document, problem = tool.inspect(text)
    if problem:
        return None, problem
    ours = counts_of(document)
    keys = {"operations": ("flops", "transcendentals"), "bytes": ("bytes accessed",)}
    verdicts = {k: "same" for k in keys if all(close(ours[x], theirs.get(x, 0)) for x in keys[k])}
    detail = ", ".join(f"{k} {v} (XLA {theirs.get(k, 0):.0f})" for k, v in ours.items() if not close(v, theirs.get(k, 0)))
    if len(verdicts) < len(keys):
        rewritten, problem = tool.inspect(hlo_as_stablehlo(lowered))
        if problem:
            return verdicts, f"{detail}; HLO: {problem}"
        again = counts_of(rewritten)
        for kind in keys:
            if all(close(again[x], theirs.get(x, 0)) for x in keys[kind]):
                verdicts.setdefault(kind, "rewritten")
        detail += "; of the HLO " + ", ".join(f"{k} {v}" for k, v in again.items() if not close(v, theirs.get(k, 0)))
    return verdicts, detail


# A broadcast to the same shape. HLO has them, and XLA counts them; in StableHLO they are dropped by the conversion, so
# that in text made from HLO something that costs the same stands for them.
SAME_SHAPE = re.compile(r"stablehlo\.broadcast_in_dim (%\S+), dims = \[[0-9, ]+\] : \((tensor<\S+>)\) -> \2(?=\s)")


def hlo_as_stablehlo(lowered):
    computation = lowered.compiler_ir("hlo")
    module = _jax.mlir.hlo_to_stablehlo(computation.as_serialized_hlo_module_proto())
    with mlir.make_ir_context():
        return SAME_SHAPE.sub(r"stablehlo.reverse \1, dims = [0] : \2", str(ir.Module.parse(module)))


def mlir_print(text, generic=False):
    """The text that MLIR itself prints for a program; raises when MLIR does not accept it."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        return module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=False)


def text_check(tool, text):
    """Problems of both printed forms: MLIR must read the same program out of them; and whether the pretty form is what
    MLIR prints."""
    problems = []
    is_identical = False
    wanted = {"pretty": mlir_print(text), "generic": mlir_print(text, generic=True)}
    for form, want in wanted.items():
        status, out, err = tool.convert(text, form)
        if status != 0 or err:
            problems.append(f"convert --form {form}: {err.strip()[:300]}")
            continue
        try:
            again = mlir_print(out)
        except Exception as error:  # whatever MLIR raises is its verdict
            problems.append(f"MLIR does not accept our {form} form: {str(error)[:400]}")
            continue
        if again != wanted["pretty"]:
            problems.append(f"MLIR reads another program out of our {form} form: {first_difference(again, wanted['pretty'])}")
        is_identical |= form == "pretty" and normal(out) == normal(want)
    return problems, is_identical


def normal(text):
    """Lines without repeated spaces: releases of StableHLO differ in them (`compare  EQ`)."""
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def first_difference(a, b):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if x != y:
            return f"{x.strip()[:150]} | {y.strip()[:150]}"
    return "one is longer"


class Report:
    def __init__(self):
        self.tables = collections.defaultdict(collections.Counter)
        self.failures = []

    def add(self, category, key, passed):
        self.tables[category][key] += bool(passed)
        self.tables[category][f"{key} of"] += 1

    def fail(self, case, text):
        self.failures.append(f"{case.category}: {case.name}: {text}")

    def print(self):
        keys = ["accepted", "operations", "bytes", "unfolded", "MLIR reads", "identical text", "true count"]
        print(f"{'category':12}" + "".join(f"{k:>16}" for k in keys))
        total = collections.Counter()
        for category, table in self.tables.items():
            total.update(table)
            print(f"{category:12}" + "".join(f"{table[k]:>9} of {table[k + ' of']:>3}" for k in keys))
        print(f"{'all':12}" + "".join(f"{total[k]:>9} of {total[k + ' of']:>3}" for k in keys))
        for failure in self.failures:
            print(f"FAILED {failure}")


def unexpected(messages):
    """Head lines of the diagnostics that no program here should get."""
    heads = [line for line in messages.splitlines() if line.rstrip().endswith("]") and (" warning: " in line or " error: " in line)]
    return "\n".join(line for line in heads if not line.rstrip().endswith(EXPECTED_WARNINGS))


def explanation_of(case):
    name = f"{case.category} {case.name}"
    return next((reason for prefix, reason in EXPLAINED.items() if name.startswith(prefix)), None)


def check(tool, case, report, verbose):
    with jax.enable_x64(case.x64):
        lowered = jax.jit(case.function).lower(*case.arguments)
        text = lowered.as_text()
        jaxpr = jax.make_jaxpr(case.function)(*case.arguments)
    failed = len(report.failures)
    err = unexpected(tool.diagnostics(text))
    report.add(case.category, "accepted", not err)
    if err:
        report.fail(case, f"diagnostics: {err[:400]}")
    verdicts, detail = count_check(tool, text, lowered)
    if verdicts is None:
        report.fail(case, detail)
        return False
    agrees, difference = true_check(tool.inspect(text)[0], jaxpr)
    if agrees is not None:
        report.add(case.category, "true count", agrees)
    if agrees is False:
        report.fail(case, f"true count: {difference}")
    explanation = explanation_of(case)
    for kind in ("operations", "bytes"):
        agrees = kind in verdicts
        report.add(case.category, kind, agrees or (explanation and kind == "operations"))
        if not agrees and not explanation:
            report.fail(case, f"{kind}: {detail}")
    report.add(case.category, "unfolded", all(v == "same" for v in verdicts.values()) and len(verdicts) == 2)
    if verbose and detail:
        print(f"{case.category}: {case.name}: {verdicts}: {detail}")
    problems, is_identical = text_check(tool, text)
    report.add(case.category, "MLIR reads", not problems)
    report.add(case.category, "identical text", is_identical)
    for problem in problems:
        report.fail(case, problem)
    return len(report.failures) == failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridgeline")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="at least N programs (default: one round)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose 'category name' contains TEXT")
    parser.add_argument("--verbose", action="store_true", help="show every difference")
    parser.add_argument("--keep", metavar="DIR", help="write the programs there")
    parser.add_argument("--skip-code", type=int, default=0, metavar="N", help="exit status without JAX")
    options = parser.parse_args()
    if jax is None:
        print("skipped: no JAX")
        return options.skip_code
    import programs

    report = Report()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        tool = Tool(options.ridgeline, options.keep or scratch)
        for case in programs.cases(options.count):
            if options.only in f"{case.category} {case.name}":
                is_good = check(tool, case, report, options.verbose)
                passed += is_good
                failed += not is_good
    report.print()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
