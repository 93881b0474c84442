"""What people call a program, as a file or as bytes that the library reads.

Frameworks are recognised by the methods that their objects have: none of them is imported here unless one of its objects
came in.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Source:
    """A program as the library takes it: a path, or a name and its content (text or bytecode)."""

    name: str
    path: str | None = None
    content: bytes | None = None
    in_tree: Any = None
    """JAX's structure of the arguments of the function that was lowered; None = unknown."""
    out_tree: Any = None
    kept: tuple[int, ...] | None = None
    """Which of the flat arguments the program has: JAX drops unused ones. None = all."""


def _name_in(content: bytes) -> str:
    """What the program calls itself: ``module @jit_f``, ``HloModule jit_f``."""
    found = re.search(rb"^\s*(?:module @|HloModule )\"?([\w.$-]+)", content[:65536], re.MULTILINE)
    return found.group(1).decode() if found else "<program>"


def _of_content(content: bytes, name: str | None = None, **rest: Any) -> Source:
    return Source(name or _name_in(content), content=content, **rest)


def _of_path(path: str) -> Source:
    return Source(path, path="./-" if path == "-" else path)  # "-" would be standard input


def _of_text(text: str) -> Source:
    """A program has braces or several lines; what has neither is the path of one."""
    is_path = bool(text) and "\n" not in text and "{" not in text
    return _of_path(text) if is_path else _of_content(text.encode("utf-8", "surrogatepass"))


def _of_exported(exported: Any) -> Source:
    """``jax.export.Exported``: a portable artifact."""
    return _of_content(
        bytes(exported.mlir_module_serialized),
        name=getattr(exported, "fun_name", None),
        in_tree=getattr(exported, "in_tree", None),
        out_tree=getattr(exported, "out_tree", None),
        kept=_indices(getattr(exported, "module_kept_var_idx", None)),
    )


def _of_stage(stage: Any) -> Source:
    """``jax.stages.Lowered`` (StableHLO), ``jax.stages.Compiled`` (HLO of the device that it was compiled for)."""
    arguments = getattr(getattr(stage, "_lowering", None), "compile_args", None) or {}
    return _of_content(
        stage.as_text().encode(),
        in_tree=getattr(stage, "in_tree", None),
        out_tree=getattr(stage, "out_tree", None),
        kept=_indices(arguments.get("kept_var_idx")),
    )


def _indices(kept: Any) -> tuple[int, ...] | None:
    return None if kept is None else tuple(sorted(int(i) for i in kept))


def _of_exported_torch(program: Any) -> Source:
    """``torch.export.ExportedProgram``, through PyTorch/XLA."""
    try:
        from torch_xla.stablehlo import exported_program_to_stablehlo
    except ImportError as error:
        raise TypeError("a torch.export program becomes StableHLO through torch_xla, which is not installed") from error
    return _of_content(bytes(exported_program_to_stablehlo(program).get_stablehlo_bytecode()))


def _of_message(model: Any) -> Source:
    """``onnx.ModelProto``. Weights in files of their own are found from its path only."""
    return _of_content(model.SerializeToString(), name=getattr(getattr(model, "graph", None), "name", None) or None)


def _is_buffer(program: Any) -> bool:
    return isinstance(program, (bytes, bytearray, memoryview))


_FORMS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Source]], ...] = (
    (lambda p: isinstance(p, str), _of_text),
    (lambda p: isinstance(p, os.PathLike), lambda p: _of_path(os.fsdecode(p))),
    (_is_buffer, lambda p: _of_content(bytes(p))),
    (lambda p: hasattr(p, "mlir_module_serialized"), _of_exported),
    (lambda p: hasattr(p, "as_text"), _of_stage),
    # torch_xla.stablehlo.StableHLOGraphModule
    (lambda p: hasattr(p, "get_stablehlo_bytecode"), lambda p: _of_content(bytes(p.get_stablehlo_bytecode()))),
    (lambda p: hasattr(p, "graph_module") and hasattr(p, "graph_signature"), _of_exported_torch),
    (lambda p: hasattr(p, "SerializeToString"), _of_message),
    # jaxlib.mlir.ir.Module and others of MLIR's Python bindings
    (lambda p: hasattr(p, "operation") and hasattr(p, "context"), lambda p: _of_content(str(p).encode())),
)


def source_of(program: Any, arguments: Sequence[Any] = (), keywords: dict[str, Any] | None = None) -> Source:
    """Takes any of the forms, or a function of JAX with the arguments that it is to be lowered for."""
    for is_form, read in _FORMS:
        if is_form(program):
            if arguments or keywords:
                raise TypeError(f"{type(program).__name__} is a program already: it takes no example arguments here")
            return read(program)
    if hasattr(program, "lower"):  # jax.jit(f), jax.stages.Traced
        return _of_stage(program.lower(*arguments, **(keywords or {})))
    if callable(program) and (arguments or keywords):
        try:
            import jax
        except ImportError as error:
            raise TypeError("a function is lowered by JAX, which is not installed") from error
        return _of_stage(jax.jit(program).lower(*arguments, **(keywords or {})))
    if callable(program):
        raise TypeError("a function needs example arguments: predict(f, x, on=...), or jax.jit(f).lower(x)")
    raise TypeError(
        f"{type(program).__name__} is no program: give what jax.jit(f).lower(...) or jax.export returns, StableHLO or HLO "
        "text, bytes of bytecode or ONNX, or the path of a file"
    )
