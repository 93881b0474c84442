#!/usr/bin/env python3
"""Writes the cases of tests/golden/bytecode: programs of plain_cases.mlir as MLIR itself writes them, once as bytecode in
memory and once as a portable artifact, and the text that MLIR prints for each. test_mlir_bytecode_plain.c reads them.

Usage: write_bytecode_cases.py        (from the root of the repository, where JAX is installed)
"""
import io
import pathlib

from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path("tests/golden/bytecode")


def main():
    pieces = (FOLDER / "plain_cases.mlir").read_text(encoding="utf-8").split("// -----\n")
    for piece in pieces:
        name = piece.split("// case ", 1)[1].splitlines()[0].strip()
        with mlir.make_ir_context() as context:
            module = ir.Module.parse(piece)
            module.operation.verify()
            out = io.BytesIO()
            module.operation.write_bytecode(out)
            (FOLDER / f"{name}.plain.mlir.bc").write_bytes(out.getvalue())
            (FOLDER / f"{name}.plain.mlir").write_text(module.operation.get_asm(enable_debug_info=False), encoding="utf-8")
            if "// and version 5" in piece:
                out = io.BytesIO()
                module.operation.write_bytecode(out, desired_version=5)
                (FOLDER / f"{name}.v5.mlir.bc").write_bytes(out.getvalue())
                (FOLDER / f"{name}.v5.mlir").write_text(module.operation.get_asm(enable_debug_info=False), encoding="utf-8")
            if "// plain only" in piece:
                continue
            data = _jax.mlir.serialize_portable_artifact(out.getvalue(), stablehlo.get_current_version(), True)
            (FOLDER / f"{name}.vhlo.mlir.bc").write_bytes(data)
            text = _jax.mlir.deserialize_portable_artifact(data, context).operation.get_asm(enable_debug_info=False)
            (FOLDER / f"{name}.vhlo.mlir").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
