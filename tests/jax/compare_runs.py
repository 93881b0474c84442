#!/usr/bin/env python3
"""What programs compute: the interpreter (`ridgeline run`) against JAX on the same inputs. README.md explains the checks.

Usage: compare_runs.py RIDGELINE [--count N] [--every K] [--only TEXT] [--json FILE] [--verbose] [--skip-code N]
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

LOST_NAN = "XLA's all-reduce on the CPU keeps the other number of a NaN; the specification's maximum and minimum are NaN"
ATANH = "XLA's atanh of doubles is off by up to 3 ulp; ours is the 80-bit value, rounded"
RNG = "the numbers of rng are the implementation's"
NANS = "several NaNs among the largest: XLA's TopK gives another one of them first"

# Differences that are not errors of Ridgeline: "category name" as a pattern, why.
EXPLAINED = [
    ("unary lax.atanh float64", ATANH),
    ("numeric rng_uniform", RNG),
    ("graphs 35", NANS),
    ("collectives pm(ax|in)", LOST_NAN),
]


def explanation_of(name):
    return next((why for pattern, why in EXPLAINED if re.fullmatch(pattern, name)), None)


class Report:
    def __init__(self):
        self.tables = collections.defaultdict(collections.Counter)
        self.failures, self.explained, self.left_out = [], [], []

    def add(self, case, counts, problems):
        table = self.tables[case.category]
        name = re.sub(r" #\d+$", "", f"{case.category} {case.name}")
        table.update(counts)
        table["programs"] += 1
        why = explanation_of(name) if problems else None
        table["agree"] += not problems
        table["explained"] += bool(why)
        for problem in problems:
            (self.explained if why else self.failures).append({"program": name, "difference": problem, "why": why})

    def print(self):
        columns = ["programs", "agree", "explained", "elements", "equal bits", "unstable", "judged", "old artifacts"]
        total = collections.Counter()
        print(f"{'category':12}" + "".join(f"{c:>15}" for c in columns))
        for category, table in self.tables.items():
            total.update(table)
            print(f"{category:12}" + "".join(f"{table[c]:>15}" for c in columns))
        print(f"{'all':12}" + "".join(f"{total[c]:>15}" for c in columns))
        for entry in self.failures:
            print(f"FAILED {entry['program']}: {entry['difference']}")
        for why in sorted({entry["why"] for entry in self.explained}):
            names = sorted({e["program"] for e in self.explained if e["why"] == why})
            print(f"explained: {why}: {', '.join(names)}")
        for why, count in collections.Counter(why for _, why in self.left_out).items():
            print(f"left out: {count} {why}")
        print(f"runs: {total['agree']} of {total['programs']} programs agree with JAX ({total['explained']} explained)")
        self.total = total


def run(tool, options):
    import device_programs
    import example_programs
    import programs
    import random_programs
    from check_runs import LeftOut, RunCheck

    report = Report()
    categories = [*programs.CATEGORIES, *random_programs.CATEGORIES, *device_programs.CATEGORIES,
                  *example_programs.CATEGORIES]
    for number, case in enumerate(programs.all_cases(options.count, categories)):
        if number % options.every or options.only not in f"{case.category} {case.name}":
            continue
        try:
            check = RunCheck(tool, case)
            problems = check.run()
        except LeftOut as why:
            report.left_out.append((f"{case.category} {case.name}", str(why)))
            continue
        report.add(case, check.counts, problems)
        if options.verbose and problems:
            print(f"{case.category} {case.name}: {problems[0]}", flush=True)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridgeline")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="at least N programs (default: one round)")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only each K-th program")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose 'category name' contains TEXT")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--verbose", action="store_true", help="show differences while they are found")
    parser.add_argument("--keep", metavar="DIR", help="write the programs there")
    parser.add_argument("--skip-code", type=int, default=0, metavar="N", help="exit status without JAX")
    options = parser.parse_args()
    if jax is None:
        print("skipped: no JAX")
        return options.skip_code
    from ridgeline_tool import Tool

    warnings.filterwarnings("ignore")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = run(Tool(options.ridgeline, options.keep or scratch), options)
    report.print()
    if options.json:
        document = {"seconds": round(time.monotonic() - start, 1), "jax": jax.__version__, "failures": report.failures,
                    "explained": report.explained, "left_out": report.left_out, "total": dict(report.total),
                    "categories": {name: dict(table) for name, table in report.tables.items()}}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
