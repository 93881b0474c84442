#!/usr/bin/env python3
"""Runs the built tool as a user does and compares what it prints.

A case file holds any number of cases:

    # comment: what this is about
    $ ridgeline predict {in}/empty.mlir --on h100        the command, in a shell; {in} = tests/cli/inputs, {tmp} = scratch
    exit 1
    out> a line of standard output                       in order; other lines may stand between
    err> a line of standard error                        likewise
    out! text that must not occur on standard output     (err! likewise)

In expected lines `*` matches anything; a line matches when it matches the whole printed line. `exit 0` is the default.
Usage: run_cases.py RIDGELINE SOURCE_DIR [CASE_FILE...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def parse(path):
    cases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("$ "):
            cases.append({"line": number, "command": line[2:], "exit": 0, "out": [], "err": [], "out!": [], "err!": []})
        elif not line.strip() or line.startswith("#"):
            continue
        elif not cases:
            raise SystemExit(f"{path}:{number}: expectation before a command")
        elif line.startswith("exit "):
            cases[-1]["exit"] = int(line[5:])
        elif line[:5] in ("out> ", "err> "):
            cases[-1][line[:3]].append(line[5:])
        elif line[:5] in ("out! ", "err! "):
            cases[-1][line[:4]].append(line[5:])
        else:
            raise SystemExit(f"{path}:{number}: not a case line: {line}")
    return cases


def pattern(text):
    return re.compile(".*".join(re.escape(part) for part in text.split("*")) + r"\Z")


def find_in_order(expected, lines):
    """The first expected line that does not follow, or None."""
    at = 0
    for want in expected:
        match = pattern(want)
        while at < len(lines) and not match.match(lines[at]):
            at += 1
        if at == len(lines):
            return want
        at += 1
    return None


def run(case, tool, source, scratch):
    # only the {names} below are replaced: cases may hold JSON
    command = case["command"]
    for name, value in (("{in}", f"{source}/tests/cli/inputs"), ("{tmp}", scratch), ("{src}", str(source))):
        command = command.replace(name, value)
    done = subprocess.run(["bash", "-c", f'ridgeline() {{ "{tool}" "$@"; }}; ' + command], cwd=source, capture_output=True,
                          text=True, timeout=300, check=False)
    problems = []
    if done.returncode != case["exit"]:
        problems.append(f"exit {done.returncode}, expected {case['exit']}")
    for stream, text in (("out", done.stdout), ("err", done.stderr)):
        missing = find_in_order(case[stream], text.splitlines())
        if missing is not None:
            problems.append(f"std{stream} lacks, in order: {missing}")
        problems += [f"std{stream} has: {bad}" for bad in case[stream + "!"] if bad in text]
    if problems:
        problems.append("--- stdout\n" + done.stdout[-3000:] + "--- stderr\n" + done.stderr[-3000:])
    return problems


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    files = [pathlib.Path(name) for name in sys.argv[3:]] or sorted((source / "tests/cli/cases").glob("*.case"))
    total = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in files:
            for case in parse(path):
                total += 1
                problems = run(case, tool, source, scratch)
                if problems:
                    failed += 1
                    print(f"{path}:{case['line']}: $ {case['command']}")
                    print("  " + "\n  ".join(problems))
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
