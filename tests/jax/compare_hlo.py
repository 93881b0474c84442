#!/usr/bin/env python3
"""Compares the import of HLO text with XLA: the modules of many jitted functions, before and after optimisation, on one
and on eight devices, in every form that XLA prints. README.md explains the checks.

Usage: compare_hlo.py RIDGELINE [--count N] [--only TEXT] [--verbose] [--keep DIR] [FILE.hlo ...]
Exit status: 0 all passed, 1 something differs, 77 JAX is not installed and --skip-code was given (else 0).
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    import jax
    from jax._src.interpreters import mlir
    from jaxlib import _hlo, _jax
except ImportError:
    jax = None

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "import"

# XLA adds the counts of operations as 32-bit floats; the sum of n of them may be off by n half units in the last place.
ROUNDING = 2.0**-20
HALF_UNIT = 2.0**-24

# Differences that are known, per check and beginning of the case's name: why.
EXPLAINED = {
    ("bytes", ".*pointers of tuples$"): "tuples are taken apart; how many there were is guessed when bytes are counted",
    ("bytes", "constructs.hlo"): "holds what the rows about '-start' and dynamic-reshape are about",
    ("bytes", "bounded.hlo"): "XLA counts four bytes for the size of each dimension of a dynamic shape",
    ("as XLA converts", ".*replica_groups = dense<>"): "no groups are all devices; here they are listed",
    ("as XLA converts", ".*__elided__"): "XLA invents the elements of a constant that was left out",
    ("forms", ".* (bare|canonical): .*__elided__"): "large constants are left out of these forms",
    ("as XLA converts", ".*device_ids"): "XLA's converter drops the order of the devices",
    ("as XLA converts", ".*result_accuracy"): "the accuracy that a function must have is not kept",
    ("as XLA converts", ".*literal=f32"): "the literal of a custom call is not kept",
    ("bytes", ".*dynamic-reshape"): "StableHLO takes the sizes as one tensor, which is made first",
    ("bytes", "transpose:.*None .XLA 7"): "XLA's sum with -1 for the custom calls of Shardy happens to be positive",
    ("MLIR reads", ".*async_done' op requires one result"): "a collective of several arrays that is started: XLA's "
                                                            "converter refuses it, here it stays asynchronous",
    ("read", ".* canonical:.*'(reduce-scatter|reduce-scatter-start|scan)' needs the attribute 'to_apply'"):
        "XLA's canonical form leaves the body of a reduce-scatter or scan out, and XLA does not read it either",
    ("bytes", ".*(-start|send|recv)[(]"): "XLA also counts the operands, results and contexts that what is started hands to its "
                                          "-done; here that is a future or the result",
    ("as XLA converts", ".*(custom-call|async|slice|copy)-start.*mhlo.async_"):
        "what is started and no collective is made where it starts",
    ("bytes|operations", ".*scaled-dot"): "HLO's scaled-dot has no counterpart in StableHLO but a custom call, whose cost is unknown",
    ("bytes", ".*set-dimension-size"): "XLA counts four bytes for the size of each dimension of a dynamic shape",
    ("bytes", ".*packed elements$"): "layouts with elements of another size, :E(4), are not kept; XLA counts two to a byte there",
}


def forms():
    """Ways to print a module that are HLO text again, by name."""
    options = {name: _hlo.HloPrintOptions() for name in ("long", "bare")}
    options["short"] = _hlo.HloPrintOptions.short_parsable()
    options["canonical"] = _hlo.HloPrintOptions.canonical()
    options["long"].print_operand_shape = True
    options["long"].compact_operands = False
    options["long"].print_large_constants = True
    options["long"].print_control_dependencies = True
    options["bare"].print_percent = False
    options["bare"].print_metadata = False
    options["bare"].print_program_shape = False
    return options


class Tool:
    """The built ridgeline."""

    def __init__(self, path, scratch):
        self.path = path
        self.scratch = pathlib.Path(scratch)

    def run(self, command, text, *arguments):
        path = self.scratch / "program.hlo"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([self.path, command, str(path), *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


def close(ours, theirs, terms):
    if ours is None:  # unknown; XLA's sum of its -1 per custom call
        return theirs < 0
    return ours == theirs or abs(ours - theirs) <= max(ROUNDING, terms * HALF_UNIT) * abs(theirs)


# Warnings that are true statements about a program.
EXPECTED = re.compile(r"\[W(0402|0403|0406|0407|0503)\]$")


def unexpected(messages):
    heads = [line for line in messages.splitlines() if re.search(r" (warning|error): .*\]$", line)]
    return "\n".join(line for line in heads if not EXPECTED.search(line))


def count_check(tool, text, module):
    """(verdicts, detail): flops and transcendentals, and bytes, are those of HloCostAnalysis."""
    theirs = dict(_jax.hlo_module_cost_analysis(jax.devices()[0].client, module))
    status, out, err = tool.run("inspect", text, "--json")
    if status != 0:
        return {}, f"inspect: {err.strip()[:300]}"
    main = next(f for f in json.loads(out)["functions"] if f["function"] == "main")
    ours = {"flops": main["xla_flops"], "transcendentals": main["xla_transcendentals"], "bytes accessed": main["xla_bytes"]}
    good = {k: close(v, theirs.get(k, 0), text.count(" = ")) for k, v in ours.items()}
    detail = ", ".join(f"{k} {ours[k]} (XLA {theirs.get(k, 0):.0f})" for k, is_good in good.items() if not is_good)
    gap = (ours["bytes accessed"] or 0) - theirs.get("bytes accessed", 0)
    if not good["bytes accessed"] and gap % 8 == 0 and abs(gap) <= tuple_bytes(text):
        detail += ", pointers of tuples"
    elif not good["bytes accessed"] and ":E(" in text:
        detail += ", packed elements"
    return {"operations": good["flops"] and good["transcendentals"], "bytes": good["bytes accessed"]}, detail


def plain(text):
    """A program without names and without what some forms of the text leave out."""
    names = {}
    text = re.sub(r'@("[^"]*"|[\w.$-]+)', lambda m: names.setdefault(m.group(), f"@{len(names)}"), text)
    text = re.sub(r'(mhlo\.)?(known_trip_count|backend_config|sharding|frontend_attributes) = ("(\\.|[^"\\])*"|\{[^}]*\}|\d+ : i64)(, )?',
                  "", text)
    return re.sub(r",? ?(attributes )?\{\s*\}", "", re.sub(r"module .*", "module", text, count=1)).replace(", }", "}")


def structure_check(text, module):
    """What differs from XLA's own conversion to StableHLO; None when nothing does."""
    import mlir_structure

    try:
        theirs_text = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
        theirs = mlir_structure.Structure(theirs_text)
    except Exception as error:  # pylint: disable=broad-except
        return "unconverted " + re.sub(r"\(callsite.*\)\)|\"[^\"]*\"", "", str(error).replace("\n", " "))[:300]
    ours = mlir_structure.Structure(text)
    return mlir_structure.difference(ours, ours.main(), theirs, theirs.main())


def same_structure(a, b):
    """Of programs with and without configurations, which the canonical form leaves out."""
    import mlir_structure

    with mlir.make_ir_context():
        x, y = (mlir_structure.Structure(text, ["backend_config"]) for text in (a, b))
        differs = mlir_structure.difference(x, x.main(), y, y.main())
        return not differs, differs


def tuple_bytes(text):
    """Of the pointers of all values of a text that are tuples. Tuples are taken apart by the import, and their number is guessed
    when bytes are counted: the counts may differ by that much."""
    shapes = re.findall(r"^ *(?:ROOT )?\S+ = (\(.*?\)) [a-z-]+\(", text, re.MULTILINE)
    return 8 * sum(len(re.findall(r"\w\[|\(", shape)) for shape in shapes)


class Report:
    KEYS = ["read", "forms", "fixed point", "MLIR reads", "operations", "bytes", "as XLA converts"]

    def __init__(self):
        self.tables = collections.defaultdict(collections.Counter)
        self.failures = []
        self.explained = collections.Counter()

    def add(self, group, name, key, is_good, detail):
        reason = None if is_good else next(
            (r for (k, start), r in EXPLAINED.items() if re.fullmatch(k, key) and re.match(start, f"{name}: {detail}")), None)
        self.tables[group][key] += bool(is_good)
        self.tables[group][f"{key} of"] += 1
        if reason:
            self.explained[reason] += 1
            self.tables[group][f"{key} explained"] += 1
        elif not is_good:
            self.failures.append(f"{key}: {name}: {detail}")

    def print(self):
        print(f"{'modules':26}" + "".join(f"{k:>18}" for k in self.KEYS))
        for group, table in self.tables.items():
            cells = (f"{table[k]}+{table[k + ' explained']} of {table[k + ' of']}" for k in self.KEYS)
            print(f"{group:26}" + "".join(f"{cell:>18}" for cell in cells))
        for reason, count in self.explained.items():
            print(f"explained {count}: {reason}")
        for failure in self.failures:
            print(f"FAILED {failure[:700]}")


def check(tool, report, group, name, module, text=None):
    texts = {k: module.to_string(o) for k, o in forms().items()} if text is None else {"file": text}
    main_form = next(iter(texts))
    converted = {}
    for form, hlo in texts.items():
        status, out, err = tool.run("convert", hlo)
        bad = unexpected(err) or (err.strip() if status != 0 else "")
        report.add(group, f"{name} {form}", "read", not bad, bad[:300])
        if status == 0:
            converted[form] = out
    if main_form not in converted:
        return
    ours = converted[main_form]
    for form, out in converted.items():
        if form == "canonical":  # has another order
            try:
                report.add(group, f"{name} {form}", "forms", *same_structure(ours, out))
            except Exception as error:  # what MLIR does not read is reported below  # pylint: disable=broad-except
                report.add(group, f"{name} {form}", "MLIR reads", False, str(error).replace("\n", " ")[:400])
        elif form != main_form:
            a, b = plain(ours), plain(out)
            report.add(group, f"{name} {form}", "forms", a == b, first_difference(a, b))
    status, again, err = tool.run("convert", ours)
    report.add(group, name, "fixed point", status == 0 and again == ours, err[:300] or first_difference(ours, again))
    try:
        with mlir.make_ir_context():
            mlir.ir.Module.parse(ours).operation.verify()
            problem = None
            report.add(group, name, "MLIR reads", True, "")
            differs = structure_check(ours, module)
            if not (differs or "").startswith("unconverted"):
                report.add(group, name, "as XLA converts", not differs, differs)
            else:
                report.explained["XLA does not convert: " + re.sub(r"[%@][\w.-]+", "X", differs)[:100]] += 1
    except Exception as error:  # whatever MLIR raises is its verdict  # pylint: disable=broad-except
        report.add(group, name, "MLIR reads", False, str(error).replace("\n", " ")[:400])
    verdicts, detail = count_check(tool, texts[main_form], module)
    for key in ("operations", "bytes"):
        report.add(group, name, key, verdicts.get(key), detail)


def first_difference(a, b):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if x != y:
            return f"{x.strip()[:200]} | {y.strip()[:200]}"
    return "one is longer" if a != b else ""


def optimised(lowered):
    """What XLA's compiler leaves; None when it has no code for this on a CPU."""
    try:
        return lowered.compile().runtime_executable().hlo_modules()[0]
    except (jax.errors.JaxRuntimeError, NotImplementedError):
        return None


def both(groups, name, lowered, is_compiled):
    yield groups[0], name, lowered.compiler_ir("hlo").get_hlo_module(), None
    module = optimised(lowered) if is_compiled else None
    if module is not None:
        yield groups[1], name, module, None


def modules(options):
    """(group, name, module, its text or None) of every case that `options` selects."""
    import hlo_devices
    import hlo_lines
    import programs
    import random_programs

    for path in sorted(GOLDEN.glob("*.hlo")):
        if options.only in path.name:
            text = path.read_text(encoding="utf-8")
            yield "golden files", path.name, _hlo.hlo_module_from_text(text), text
    for name, text in hlo_lines.cases():
        if options.only in name:
            yield "single instructions", name, _hlo.hlo_module_from_text(text), None
    for index, case in enumerate(programs.all_cases(options.count, [*programs.CATEGORIES, *random_programs.CATEGORIES])):
        name = f"{case.category} {case.name}"
        if index % options.every or options.only not in name:
            continue
        try:
            with jax.enable_x64(case.x64):
                lowered = case.wrap(case.function, **case.options).lower(*case.arguments)
                yield from both(("before optimisation", "optimised"), name, lowered, index // options.every % 4 == 0)
        except (TypeError, ValueError, NotImplementedError):  # JAX refuses some of the random ones
            if not case.is_random:
                raise
    for name, function, arguments in hlo_devices.cases():
        if options.only in name:
            yield from both(("8 devices, before", "8 devices, optimised"), name, function.lower(*arguments), True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridgeline")
    parser.add_argument("files", nargs="*", help="check these files of HLO text instead")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="at least N programs (default: one round)")
    parser.add_argument("--every", type=int, default=4, metavar="N", help="every Nth function; every fourth of these is compiled")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    parser.add_argument("--keep", metavar="DIR", help="write the programs there")
    parser.add_argument("--skip-code", type=int, default=0, metavar="N", help="exit status without JAX")
    options = parser.parse_args()
    if jax is None:
        print("skipped: no JAX")
        return options.skip_code
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        tool = Tool(options.ridgeline, options.keep or scratch)
        for path in options.files:
            text = pathlib.Path(path).read_text(encoding="utf-8")
            check(tool, report, "files", path, _hlo.hlo_module_from_text(text), text)
        if not options.files:
            for group, name, module, text in modules(options):
                check(tool, report, group, name, module, text)
    report.print()
    print(f"{len(report.failures)} failed, {sum(report.explained.values())} explained")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
