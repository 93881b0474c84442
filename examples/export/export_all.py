"""Writes the example programs as compressed StableHLO text."""

from __future__ import annotations

import argparse
import pathlib

import dit
import gpt2
import llama3
import mixtral
import parallel
import resnet50
import vit
from common import Program, compress, lower

MODELS = (resnet50, vit, gpt2, llama3, mixtral, dit, parallel)


def all_programs() -> dict[str, Program]:
    return {program.name: program for model in MODELS for program in model.programs()}


def main() -> None:
    programs = all_programs()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", choices=sorted(programs),
                        help="export this program only; may be repeated")
    parser.add_argument("--out", metavar="DIR", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="where the files go (default: examples/)")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only or programs:
        program = programs[name]
        text = lower(program)
        data = compress(text)
        (options.out / f"{name}.mlir.zst").write_bytes(data)
        print(f"{name}: {program.description}; {program.parameters:,} parameters, "
              f"{len(text):,} bytes of text, {len(data):,} compressed", flush=True)


if __name__ == "__main__":
    main()
