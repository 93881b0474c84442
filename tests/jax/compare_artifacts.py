#!/usr/bin/env python3
"""Compares the portable artifacts that Ridgeline writes with those of MLIR and StableHLO (through JAX).

For every program and version: StableHLO reads what `ridgeline convert --form bytecode` wrote, finds the operations of VHLO
that it writes itself, and makes the same StableHLO of them. What Ridgeline refuses, StableHLO refuses as well, apart from
operations of other dialects, which it passes through. Sizes are compared too. Texts beside which an artifact lies are
written for its version: it must have the same operations of VHLO.

Usage: compare_artifacts.py RIDGELINE [--data DIR] [--all] [--only TEXT] [--target V]... [--verbose]
Exit status: 0 all passed, 1 something differs, 77 no JAX or no data and --skip-code was given (else 0).
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.passmanager import PassManager
except ImportError:
    stablehlo = None

# Folders below corpus/, and of how many files one is taken in the short run.
FOLDERS = (
    ("jax_export", 3),
    ("stablehlo/tests/vhlo", 4),
    ("stablehlo/tests", 12),
    ("stablehlo/testdata", 24),
    ("stablehlo/testdata/quantized", 24),
    ("stablehlo/testdata/dynamic", 24),
    ("shardy/sdy/ir/test", 6),
    ("models", 4),
)
TARGETS = ("1.0.0", "1.17.0")
OTHER_DIALECTS = (1, 11, 0)
# What Ridgeline refuses and StableHLO does not: why.
EXPLAINED = (
    ("lower it to StableHLO first", "operation of another dialect, which StableHLO passes through"),
    ("needs StableHLO 1.10.9", "operation of another dialect for a version whose readers refuse it"),
    ("__elided__", "elided resource, which StableHLO writes without its data"),
    ("the attribute #vhlo.", "attribute of VHLO itself"),
)
# Larger texts take MLIR too long; the corpus test reads them back with Ridgeline itself.
SIZE_MAX_BYTES = 3 << 20


def version(text):
    return tuple(int(part) for part in text.split("."))


def quiet(call):
    """Result of a call, or None when it fails. MLIR writes its messages to the descriptor, so that is closed meanwhile."""
    saved = os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        return call()
    except (ValueError, RuntimeError, ir.MLIRError):
        return None
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


class Upstream:
    """StableHLO and MLIR within jaxlib."""

    def __init__(self):
        self.context = mlir.make_ir_context()
        with self.context:
            self.strip = PassManager.parse("builtin.module(strip-debuginfo)")

    def parse(self, text):
        with self.context:
            module = ir.Module.parse(text)
            self.strip.run(module.operation)
        return module

    def write(self, module, target):
        with self.context:
            return stablehlo.serialize_portable_artifact(module, target, version(target) >= OTHER_DIALECTS)

    def vhlo(self, artifact):
        """The operations of VHLO in an artifact, as text."""
        with self.context:
            return self.text(ir.Module.parse(artifact))

    def read(self, artifact):
        """The StableHLO that is made of an artifact, as text."""
        with self.context:
            return self.text(stablehlo.deserialize_portable_artifact(self.context, artifact))

    @staticmethod
    def text(module):
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
        # a storage type of quantized types has two spellings, of which Ridgeline keeps one
        text = re.sub(r"uniform<ui(\d)", r"uniform<u\1", text)
        text = re.sub(r"(!vhlo\.quant\w*<)!vhlo\.ui", r"\1!vhlo.i", text)
        # MLIR renames resources that a context has seen before
        return re.sub(r"\b([A-Za-z]\w*?)_\d+(?=> :|: \"0x)", r"\1", text)


class Comparison:
    def __init__(self, arguments):
        self.ridgeline = arguments.ridgeline
        self.verbose = arguments.verbose
        self.targets = arguments.target or TARGETS
        self.upstream = Upstream()
        self.counts = collections.Counter()
        self.failures = []
        self.bytes = collections.Counter()

    def write(self, path, target, artifact):
        command = [self.ridgeline, "convert", path, "--form", "bytecode", "--target", target, "-o", artifact]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return pathlib.Path(artifact).read_bytes() if done.returncode == 0 else None, done.stderr

    def fail(self, name, target, what):
        self.failures.append(f"{name} for {target}: {what}")

    def check(self, name, text, target, scratch):
        path, artifact = scratch / "program.mlir", scratch / "program.mlir.bc"
        path.write_text(text, encoding="utf-8")
        ours, messages = self.write(str(path), target, str(artifact))
        if ours is None and "[E011" not in messages:
            self.counts["not read by Ridgeline"] += 1
            return
        module = quiet(lambda: self.upstream.parse(text))
        if module is None:
            self.counts["not read by MLIR"] += 1
            return
        theirs = quiet(lambda: self.upstream.write(module, target))
        if ours is None:
            reasons = [why for sign, why in EXPLAINED if sign in messages]
            what = "refused by both" if theirs is None else f"refused: {reasons[0]}" if reasons else "refused"
            self.counts[what] += 1
            if what == "refused":
                self.fail(name, target, "refused by Ridgeline only: " + messages.split("\n", 1)[0])
            return
        if theirs is None:
            self.counts["refused by StableHLO only"] += 1
            if self.verbose:
                print(f"{name} for {target}: StableHLO refuses it")
        self.compare(name, target, ours, theirs)

    def compare(self, name, target, ours, theirs):
        """`theirs` is None where StableHLO wrote nothing: then it must read ours at least."""
        read = quiet(lambda: self.upstream.read(ours))
        if read is None and theirs is None:
            self.counts["wrong for MLIR, refused by it when written or read"] += 1
            return
        if read is None:
            self.fail(name, target, "StableHLO does not read the artifact")
            return
        self.counts["read by StableHLO"] += 1
        if theirs is None:
            return
        self.bytes["ours"] += len(ours)
        self.bytes["theirs"] += len(theirs)
        if read != self.upstream.read(theirs):
            self.fail(name, target, "another program: " + difference(self.upstream.read(theirs), read))
        elif self.upstream.vhlo(ours) == self.upstream.vhlo(theirs):
            self.counts["the same VHLO"] += 1
        elif "sdy." in read:  # its operations take casts, which stand elsewhere
            self.counts["the same but for casts"] += 1
        else:
            self.fail(name, target, "other VHLO: " + difference(self.upstream.vhlo(theirs), self.upstream.vhlo(ours)))

    def check_twin(self, path, name, scratch):
        """A text and the artifact beside it."""
        theirs = pathlib.Path(str(path) + ".bc").read_bytes()
        producer = re.match(rb"ML\xefR.StableHLO_v(\d+\.\d+\.\d+)\0", theirs, re.DOTALL)
        expected = quiet(lambda: self.upstream.vhlo(theirs))
        if not producer or expected is None:
            self.counts["twins of another kind or version"] += 1
            return
        target = producer[1].decode()
        ours, messages = self.write(str(path), target, str(scratch / "twin.mlir.bc"))
        if ours is None:
            self.fail(name, target, "twin refused: " + messages.split("\n", 1)[0])
            return
        found = without_nothing(quiet(lambda: self.upstream.vhlo(ours)) or "")
        expected = without_nothing(expected)
        if found == expected:
            self.counts["twins with the same VHLO"] += 1
        elif found and "unrealized_conversion_cast" in found and without_casts(found) == without_casts(expected):
            self.counts["twins, the same but for casts"] += 1
        else:
            self.fail(name, target, "other VHLO than its twin: " + difference(expected, found))

    def report(self):
        for what, count in sorted(self.counts.items()):
            print(f"{what}: {count}")
        if self.bytes["theirs"]:
            print(f"bytes: {self.bytes['ours']} beside StableHLO's {self.bytes['theirs']} "
                  f"({self.bytes['ours'] / self.bytes['theirs']:.3f})")
        for failure in self.failures[:80]:
            print(failure)
        print(f"failures: {len(self.failures)}")
        return 1 if self.failures else 0


def without_nothing(text):
    """Lists of empty dictionaries as empty lists: text has neither."""
    return re.sub(r"\[#vhlo\.dict_v1<\{\}>(, #vhlo\.dict_v1<\{\}>)*\]", "[]", text)


def without_casts(text):
    """The text without casts and the names of values, which casts shift."""
    lines = [line for line in text.splitlines() if "unrealized_conversion_cast" not in line]
    return re.sub(r"%\w+(:\d+)?(#\d+)?", "%", "\n".join(lines))


def difference(expected, found):
    for a, b in zip(expected.splitlines(), found.splitlines()):
        if a != b:
            return f"\n  expected {a.strip()[:300]}\n  found    {b.strip()[:300]}"
    return "one is longer"


def chosen_files(data, arguments):
    for folder, step in FOLDERS:
        files = sorted((data / "corpus" / folder).glob("**/*.mlir" if folder == "models" else "*.mlir"))
        files = [file for file in files if arguments.only in str(file) and file.stat().st_size <= SIZE_MAX_BYTES]
        yield from files if arguments.all or arguments.only else files[::step]


def pieces(file):
    """The programs of a file, but for those with what the StableHLO of jaxlib does not know, and those of the verifier's
    tests that are wrong, with some of which MLIR ends the process."""
    parts = re.split(r"^// -----.*$", file.read_text(encoding="utf-8", errors="replace"), flags=re.MULTILINE)
    unwanted = ("result_tilings",) + (("expected-error",) if file.parent.name == "tests" else ())
    return [(f"{file.name}[{i}]", part) for i, part in enumerate(parts)
            if part.strip() and not any(word in part for word in unwanted)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ridgeline")
    parser.add_argument("--data", default=os.environ.get("RIDGELINE_DATA", "../shared/data"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--target", action="append")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--skip-code", type=int, default=0)
    arguments = parser.parse_args()
    if stablehlo is None:
        print("skipped: no JAX")
        return arguments.skip_code
    data = pathlib.Path(arguments.data)
    if not (data / "corpus").is_dir():
        print("skipped: no data")
        return arguments.skip_code
    comparison = Comparison(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        for file in chosen_files(data, arguments):
            if arguments.verbose:
                print(file, flush=True)
            if pathlib.Path(str(file) + ".bc").exists():
                comparison.check_twin(file, file.name, pathlib.Path(scratch))
            for name, text in pieces(file):
                for target in comparison.targets:
                    comparison.check(name, text, target, pathlib.Path(scratch))
    return comparison.report()


if __name__ == "__main__":
    sys.exit(main())
