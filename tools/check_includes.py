#!/usr/bin/env python3
"""The include rule: which folder may include which. ARCHITECTURE.md states it; this refuses any other edge.

Inclusion is not transitive unless listed. `system` names the third-party headers that a module may use.
"""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "io": {"base"},
    "ir": {"base"},
    "mlir": {"ir", "base"},
    "import": {"ir", "base"},
    "analyze": {"ir", "base"},
    "interp": {"analyze", "ir", "base"},
    "hw": {"base"},
    "work": {"hw", "base"},
    "store": {"base"},
    "kernel": {"hw", "base"},
    "cost": {"kernel", "work", "hw", "base"},
    "lower": {"ir", "analyze", "work", "hw", "base"},
    "generate": {"ir", "base"},
    "lp": {"base"},
    "sim": {"work", "hw", "base"},
    "cluster": {"sim", "work", "hw", "cost", "kernel", "base"},
    "plan": {"work", "hw", "cost", "lp", "base"},
    "report": {"plan", "cluster", "sim", "work", "hw", "base"},
    "program": {"cluster", "sim", "io", "mlir", "import", "ir", "analyze", "lower", "work", "hw", "kernel", "cost", "base"},
    "profile": {"store", "io", "kernel", "hw", "report", "base"},
    "calibrate": {"profile", "store", "io", "kernel", "hw", "report", "base"},
    "measure": {"plan", "cluster", "sim", "generate", "calibrate", "profile", "program", "store", "kernel", "io", "mlir", "import", "ir", "analyze", "lower", "work", "hw", "cost", "report", "base"},
    "api": {"plan", "cluster", "sim", "generate", "interp", "measure", "calibrate", "profile", "program", "store", "kernel", "io", "mlir", "import", "ir", "analyze", "lower", "work", "hw", "cost", "report", "base", "ridgeline"},
}
THIRD_PARTY = {
    "yaml.h": {"hw"},
    "jansson.h": {"plan", "report", "profile", "calibrate", "measure", "api"},
    "sqlite3.h": {"store"},
    "lapacke.h": {"interp"},
    "zip.h": {"io"},
    "coin/Cbc_C_Interface.h": {"lp"},
    "zlib.h": {"io"},
    "zstd.h": {"io"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_source(root, errors):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in {".c", ".h", ".def"}:
            continue
        module = path.relative_to(root / "src").parts[0]
        if module not in ALLOWED:
            errors.append(f"{path}: module '{module}' is not in the include rule")
            continue
        for number, quote, target in includes(path):
            place = f"{path.relative_to(root)}:{number}"
            if quote == "<":
                if target in THIRD_PARTY and module not in THIRD_PARTY[target]:
                    errors.append(f"{place}: {module}/ may not use {target}")
                continue
            folder = target.split("/")[0] if "/" in target else None
            if folder is None:
                errors.append(f"{place}: \"{target}\" must name its module (module/file.h)")
            elif folder != module and folder not in ALLOWED[module]:
                errors.append(f"{place}: {module}/ may not include {folder}/")


def check_cli(root, errors):
    for path in sorted((root / "cli").glob("*.[ch]")):
        for number, quote, target in includes(path):
            if quote == '"' and target not in {"ridgeline/ridgeline.h", "cli.h"}:
                errors.append(f"{path.relative_to(root)}:{number}: cli/ sees include/ridgeline only, not {target}")


def check_cycles(errors):
    state = {}

    def visit(module, trail):
        if state.get(module) == "done":
            return
        if module in trail:
            errors.append("cycle in the include rule: " + " -> ".join(trail + [module]))
            return
        for target in ALLOWED.get(module, ()):
            visit(target, trail + [module])
        state[module] = "done"

    for module in ALLOWED:
        visit(module, [])


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    errors = []
    check_cycles(errors)
    check_source(root, errors)
    check_cli(root, errors)
    for error in errors:
        print(error, file=sys.stderr)
    print(f"include rule: {len(errors)} violations")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
