#!/usr/bin/env python3
"""Structure of the tree: unique file names, file length, function length, file heads.

Function length counts lines from the line that opens a body in column 0 to the closing brace in column 0.
"""
import collections
import pathlib
import re
import sys

MAX_FILE_LINES = 1500
MAX_FUNCTION_LINES = 100
FOLDERS = ("include", "src", "cli", "tests", "bench")
REPEATED_NAMES = {"CMakeLists.txt"}


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".c", ".h", ".def", ".cpp"}:
                yield path


def long_functions(lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line.endswith(") {") and not line.startswith((" ", "#")) or (
            start is None and line.endswith(") {") and number > 1 and re.match(r"^[A-Za-z_]", lines[number - 2])
        ):
            start = number
        elif line == "}" and start is not None:
            if number - start > MAX_FUNCTION_LINES:
                yield start, number - start
            start = None


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    errors = []
    names = collections.defaultdict(list)
    for path in sources(root):
        relative = path.relative_to(root)
        names[path.name].append(relative)
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_FILE_LINES:
            errors.append(f"{relative}: {len(lines)} lines (limit {MAX_FILE_LINES})")
        if not lines or not lines[0].startswith(("/*", "//")):
            errors.append(f"{relative}:1: a file starts with a comment on its role")
        for start, length in long_functions(lines):
            errors.append(f"{relative}:{start}: a function of {length} lines (limit {MAX_FUNCTION_LINES})")
    for name, paths in sorted(names.items()):
        if len(paths) > 1 and name not in REPEATED_NAMES:
            errors.append(f"file name '{name}' occurs {len(paths)} times: {', '.join(map(str, paths))}")
    for error in errors:
        print(error, file=sys.stderr)
    print(f"structure: {len(errors)} violations")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
