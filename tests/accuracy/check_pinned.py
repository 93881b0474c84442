#!/usr/bin/env python3
"""Compares what `ridgeline validate SUITE` prints with the table that is pinned in the repository.

A changed number is not wrong by itself: it is to be looked at. After a change on purpose, `--update` writes the new table,
and the commit shows the difference. Without the data folder the exit status is 77 (skipped).
Usage: check_pinned.py [--update] RIDGELINE SUITE PINNED_FILE
"""
import difflib
import pathlib
import subprocess
import sys


def main():
    update = "--update" in sys.argv
    tool, suite, pinned = [word for word in sys.argv[1:] if word != "--update"]
    done = subprocess.run([tool, "validate", suite], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if "no data" in done.stderr:
            print("skipped: no data")
            return 77
        print(done.stderr, file=sys.stderr)
        return 1
    path = pathlib.Path(pinned)
    if update:
        path.write_text(done.stdout, encoding="utf-8")
        return 0
    want = path.read_text(encoding="utf-8")
    if want == done.stdout:
        print(f"{suite}: as pinned")
        return 0
    sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), done.stdout.splitlines(True), str(path), "now"))
    print(f"\n{suite}: the numbers changed; look at each, then run {sys.argv[0]} --update and commit the difference")
    return 1


if __name__ == "__main__":
    sys.exit(main())
