#!/usr/bin/env python3
"""Compares Ridgeline with JAX on hundreds of jitted functions: every form of a program that JAX writes is read as the same
program, MLIR accepts every form that Ridgeline writes, and the counts are XLA's. README.md explains the checks.

Usage: compare_functions.py RIDGELINE [--count N] [--every K] [--only TEXT] [--json FILE] [--verbose] [--keep DIR]
Exit status: 0 all agree, 1 something differs, 77 JAX is not installed and --skip-code was given (else 0).
"""
import argparse
import collections
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import warnings

# Collectives need devices; these are threads. Must be said before JAX starts.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

try:
    import jax
except ImportError:
    jax = None

CHECKS = ["accepted", "bytecode", "artifact", "oldest", "our artifact", "MLIR reads", "identical text", "operations",
          "bytes", "true count"]

APPROX = ("XLA's converter expands the custom call ApproxTopK into sort, slices and a tuple, which is gone when the HLO is "
          "converted back; the custom call itself counts as unknown here")
RESULT_TUPLE = ("XLA's converter puts a single result with a sharding into a tuple and takes it out again; the tuple (one "
                "pointer) is gone when the HLO is converted back")

NESTED_UPGRADE = ("StableHLO 1.17 does not bring operations in the body of a scatter of an old version up to date, nor down: its "
                  "own artifact of 0.9.0 holds sine_v2 there, which 0.9.0 does not have")

# Differences that are not errors of Ridgeline: "category name", what differs, why. What differs is, by count, XLA's value less
# that of its HLO converted back; or how the message of another check begins. Anything else is not explained.
EXPLAINED = [
    ("indexing scatter apply", "MLIR does not accept our artifact of 0.9.0", NESTED_UPGRADE),
    ("sorting approx_max_k", {"bytes accessed": 16}, APPROX),
    *((f"shardings {name}", {"bytes accessed": 8}, RESULT_TUPLE)
      for name in ("jit rows", "jit columns", "jit both", "donated sharded", "pmap psum", "pmap gather", "pmap index",
                   "pmap scan")),
]


def explanation_of(case, check, texts, gaps):
    name = re.sub(r" #\d+$", "", f"{case.category} {case.name}")
    rows = [(difference, why) for what, difference, why in EXPLAINED if what == name]
    if check in ("operations", "bytes"):
        return next((why for difference, why in rows if difference == gaps), None)
    return next((why for difference, why in rows if isinstance(difference, str)
                 and all(text.startswith(difference) for text in texts)), None)


def compare(tool, case):
    """{check: problems} of one function; a check that does not apply is missing."""
    from check_counts import CountCheck
    from check_forms import FormCheck

    built = case.build()
    counts = CountCheck(tool, built)
    problems = counts.run()
    problems.update(FormCheck(tool, built.text, built.artifact).run())
    return problems, counts


class Report:
    def __init__(self):
        self.tables = collections.defaultdict(collections.Counter)
        self.failures, self.explained, self.unlowered = [], [], []
        self.functions = self.agreeing = self.folded = 0

    def add(self, case, problems, counts):
        table = self.tables[case.category]
        failed = False
        for check, texts in problems.items():
            why = explanation_of(case, check, texts, counts.gaps) if texts else None
            table[check] += not texts
            table[f"{check} explained"] += bool(why)
            table[f"{check} of"] += 1
            if why:
                self.explained.append({"function": f"{case.category}: {case.name}", "check": check, "why": why,
                                       "difference": texts[0]})
            for text in texts if not why else []:
                self.failures.append({"function": f"{case.category}: {case.name}", "check": check, "difference": text})
                failed = True
        self.functions += 1
        self.agreeing += not failed
        self.folded += not counts.is_unfolded

    def print(self):
        total = collections.Counter()
        print(f"{'category':12}" + "".join(f"{check:>16}" for check in CHECKS))
        for category, table in self.tables.items():
            total.update(table)
            print_row(category, table)
        print_row("all", total)
        for entry in self.failures:
            print(f"FAILED {entry['function']}: {entry['check']}: {entry['difference']}")
        names = collections.Counter(entry["function"] for entry in self.explained)
        for why in sorted({entry["why"] for entry in self.explained}):
            print(f"explained: {why}")
        if self.unlowered:
            print(f"JAX itself refuses {len(self.unlowered)} random functions, like {self.unlowered[0]}")
        print(f"counted after XLA's folding: {self.folded} of {self.functions}")
        print(f"jax: {self.agreeing} of {self.functions} functions agree ({len(names)} explained)")

    def document(self, seconds):
        return {"functions": self.functions, "agree": self.agreeing, "counted_after_folding": self.folded,
                "seconds": round(seconds, 1), "jax": jax.__version__, "failures": self.failures,
                "explained": self.explained, "not_lowered": self.unlowered,
                "checks": {category: {c: {"agree": t[c], "explained": t[f"{c} explained"], "of": t[f"{c} of"]}
                                      for c in CHECKS if t[f"{c} of"]} for category, t in self.tables.items()}}


def print_row(name, table):
    cells = (f"{table[c] + table[c + ' explained']} of {table[c + ' of']}" if table[c + " of"] else "-" for c in CHECKS)
    print(f"{name:12}" + "".join(f"{cell:>16}" for cell in cells))


def run(tool, options):
    import device_programs
    import programs
    import random_programs

    report = Report()
    categories = [*programs.CATEGORIES, *random_programs.CATEGORIES, *device_programs.CATEGORIES]
    for number, case in enumerate(programs.all_cases(options.count, categories)):
        if number % options.every or options.only not in f"{case.category} {case.name}":
            continue
        try:
            problems, counts = compare(tool, case)
        except programs.NotLowered as error:
            report.unlowered.append(f"{case.category}: {case.name}: {error}")
            continue
        report.add(case, problems, counts)
        if options.verbose and any(problems.values()):
            print(f"{case.category}: {case.name}: {problems}", flush=True)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridgeline")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="at least N functions (default: one round)")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only each K-th function")
    parser.add_argument("--only", default="", metavar="TEXT", help="functions whose 'category name' contains TEXT")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--verbose", action="store_true", help="show differences while they are found")
    parser.add_argument("--keep", metavar="DIR", help="write the programs there")
    parser.add_argument("--skip-code", type=int, default=0, metavar="N", help="exit status without JAX")
    options = parser.parse_args()
    if jax is None:
        print("skipped: no JAX")
        return options.skip_code
    from ridgeline_tool import Tool

    warnings.filterwarnings("ignore", message="Some donated buffers")
    warnings.filterwarnings("ignore", message="overflow encountered in cast")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = run(Tool(options.ridgeline, options.keep or scratch), options)
    if len(report.unlowered) > 0.1 * report.functions:
        report.failures.append({"function": "random functions", "check": "lowered",
                                "difference": f"JAX refuses {len(report.unlowered)}"})
    report.print()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report.document(time.monotonic() - start), indent=1) + "\n",
                                              encoding="utf-8")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
