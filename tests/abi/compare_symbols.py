#!/usr/bin/env python3
"""Compares what libridgeline.so exports with symbols.txt, and both with the functions that the public header declares.

A symbol that is missing breaks programs that are already linked; one too many is a promise that nobody meant to give.
Usage: compare_symbols.py libridgeline.so SYMBOLS_FILE HEADER
"""

import re
import subprocess
import sys


def exported(library):
    """Names with their version, as "rdg_run@@RIDGELINE_0.1"."""
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[2] for row in rows if row[1] != "A"}  # absolute: the version nodes themselves


def listed(path):
    with open(path, encoding="utf-8") as file:
        return {line.strip() for line in file if line.strip() and not line.startswith("#")}


def declared(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return set(re.findall(r"\b(rdg_\w+)\(", text))


def main():
    library, symbols_file, header = sys.argv[1:]
    found, promised = exported(library), listed(symbols_file)
    names = {symbol.split("@")[0] for symbol in promised}
    errors = [f"no longer exported: {symbol}" for symbol in sorted(promised - found)]
    errors += [f"exported but not in {symbols_file}: {symbol}" for symbol in sorted(found - promised)]
    errors += [f"declared in the header but not listed: {name}" for name in sorted(declared(header) - names)]
    errors += [f"listed but not declared in the header: {name}" for name in sorted(names - declared(header))]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"exported symbols: {len(found)}, {len(errors)} differences")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
