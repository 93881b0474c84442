#!/usr/bin/env python3
"""Our readers of text and of portable artifacts beside MLIR's own (through JAX's jaxlib), on the programs of bench_reader.

Usage: compare_mlir_speed.py BENCH_READER [--json] [--runs N]
Without JAX it prints our rates alone and "skipped: no JAX".

Both read from memory, on one core, in processor time. MLIR gets a new context per run, made before the clock starts; its
time contains its verifier, which always runs behind its parser; ours is the column "and checked" (mlir_parse, then analyze_infer).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
except ImportError:
    ir = None


def seconds(read, runs):
    """Median time of reading into a new context."""
    times = []
    for _ in range(runs):
        context = mlir.make_ir_context()
        context.enable_multithreading(False)
        start = time.process_time()
        module = read(context)
        times.append(time.process_time() - start)
        del module
    return statistics.median(times)


def measure_mlir(row, folder, runs):
    text = (folder / f"{row['kind']}.mlir").read_text(encoding="utf-8")
    artifact = (folder / f"{row['kind']}.mlir.bc").read_bytes()
    row["mlir_text_s"] = seconds(lambda context: ir.Module.parse(text, context), runs)
    row["mlir_artifact_s"] = seconds(lambda context: stablehlo.deserialize_portable_artifact(context, artifact), runs)


def print_table(rows):
    def rate(row, key):
        return f"{row['text_bytes'] / 1e6 / row[key]:.1f}" if key in row else "-"

    def ratio(row, ours, theirs):
        return f"{row[theirs] / row[ours]:.0f} x" if theirs in row else "-"

    head = ("MB/s of text", "size", "text", "and checked", "MLIR", "ratio", "artifact", "MLIR", "ratio")
    widths = (12, 9, 9, 12, 9, 8, 10, 9, 8)
    print("".join(f"{cell:>{width}}" if i else f"{cell:<{width}}" for i, (cell, width) in enumerate(zip(head, widths))))
    for row in rows:
        row["checked_s"] = row["text_s"] + row["check_s"]
        cells = (row["kind"], f"{row['text_bytes'] / 1e6:.2f} MB", rate(row, "text_s"), rate(row, "checked_s"),
                 rate(row, "mlir_text_s"), ratio(row, "checked_s", "mlir_text_s"), rate(row, "artifact_s"),
                 rate(row, "mlir_artifact_s"), ratio(row, "artifact_s", "mlir_artifact_s"))
        print("".join(f"{cell:>{width}}" if i else f"{cell:<{width}}" for i, (cell, width) in enumerate(zip(cells, widths))))
    print("goals: text >= 200 MB/s, artifacts >= 300 MB/s of the text that they stand for; ratios: time of MLIR / ours,")
    print("of text with checking on both sides")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench_reader")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=11, metavar="N", help="ours; MLIR runs a third of them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        command = [options.bench_reader, "--json", "--runs", str(options.runs), "--write", name]
        rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for row in rows if ir else []:
            measure_mlir(row, pathlib.Path(name), max(3, options.runs // 3))
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(rows)
        if not ir:
            print("MLIR's parser: skipped: no JAX")
    return 0


if __name__ == "__main__":
    sys.exit(main())
