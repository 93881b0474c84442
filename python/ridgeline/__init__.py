"""Ridgeline: one machine-learning program, every chip.

    import jax, jax.numpy as jnp, ridgeline

    lowered = jax.jit(lambda x, w: jax.nn.relu(x @ w)).lower(jnp.ones((512, 1024)), jnp.ones((1024, 1024)))
    print(ridgeline.predict(lowered, on=["h100", "mi300x", "tpu-v5p"]))

``predict`` says how long a program takes on any chip, how sure that is and what bounds it; ``inspect`` what it does; ``run``
what it computes; ``step`` how long a step of a distributed program takes on clusters; ``plan`` how a program is laid out on a
chip of many cores with private memory; ``chips`` which chips are known. A program is what JAX's ``lower`` or ``export`` returns, StableHLO or HLO
text, bytes, or a path: see ``Program``, which is also the way to ask several questions about one program.

Functions may be called from several threads at once, and let other threads run while the library works.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

from . import _abi, _context
from ._errors import Diagnostic, RidgelineError, RidgelineWarning
from ._plan import Ingredient, Plan, Policy
from ._program import ChipName, Form, Program, TextForm, chip_names, encode
from ._results import (
    Chip,
    Chips,
    ChipSheet,
    Collective,
    Estimate,
    Field,
    Function,
    Fusion,
    Inspection,
    Loop,
    Memory,
    Note,
    Operation,
    OperationKind,
    Prediction,
    RunResult,
    Share,
    Signature,
)
from ._step import Step, StepCollective, StepEstimate, StepMemory

__version__: str = _abi.version

__all__ = [
    "Chip",
    "ChipSheet",
    "Chips",
    "Collective",
    "Diagnostic",
    "Estimate",
    "Field",
    "Function",
    "Fusion",
    "Ingredient",
    "Inspection",
    "Loop",
    "Memory",
    "Note",
    "Operation",
    "OperationKind",
    "Plan",
    "Policy",
    "Prediction",
    "Program",
    "RidgelineError",
    "RidgelineWarning",
    "RunResult",
    "Share",
    "Signature",
    "Step",
    "StepCollective",
    "StepEstimate",
    "StepMemory",
    "chip",
    "chips",
    "convert",
    "inspect",
    "plan",
    "predict",
    "run",
    "step",
]


def _program(program: Any, args: Sequence[Any], bind: str | Sequence[str], entry: str | None) -> Program:
    if isinstance(program, Program):
        if args or bind or entry:
            raise TypeError("a Program was read already: example arguments, bind and entry are given to Program(...)")
        return program
    return Program(program, *args, bind=bind, entry=entry)


def predict(
    program: Any,
    *args: Any,
    on: ChipName | Iterable[ChipName],
    fidelity: str | None = None,
    f32_as: str | None = None,
    fusion: bool = True,
    bind: str | Sequence[str] = (),
    entry: str | None = None,
    top: int = 5,
) -> Prediction:
    """How long one execution takes on each chip, how sure that is, what bounds it, and whether it fits.

    ``program``: see ``Program``; ``args`` are example arguments when it is a function. ``on``: ids, aliases, groups
    (``"@gpu"``, ``"@demo"``, ``"@all"``) or paths of chip files, one or several. ``fidelity``: the model, ``"roofline"``.
    ``f32_as``: what f32 products of default precision run as, ``"f32"``, ``"tf32"`` or ``"bf16"`` (None: the chip's own way).
    ``fusion=False``: operation by operation, as the program is written. ``top``: operations that ``report`` lists per chip.

    A chip that refuses the program is in the result, with its reason. Raises ``RidgelineError`` when the program or the name
    of a chip is wrong; ``RidgelineWarning`` says what the numbers leave out.
    """
    return _program(program, args, bind, entry).predict(on, fidelity=fidelity, f32_as=f32_as, fusion=fusion, top=top)


def step(
    program: Any,
    *args: Any,
    cluster: str | Iterable[str],
    devices: int = 0,
    shape: str | None = None,
    overlap: str | None = None,
    network: str | None = None,
    straggler: float = 0.0,
    fidelity: str | None = None,
    f32_as: str | None = None,
    top: int = 10,
    chakra: str | os.PathLike[str] | None = None,
    chakra_ranks: int = 0,
    bind: str | Sequence[str] = (),
    entry: str | None = None,
) -> Step:
    """How long one step of a program of several devices takes on each cluster, and what of it is communication.

    ``program``: see ``Program``; a partitioned one, with explicit collectives. ``cluster``: ids, aliases or paths of cluster
    files, one or several. ``devices``: of the slice (0: as many as the program states); ``shape``: by dimension, innermost
    first, ``"4x4x8"``. ``overlap`` of communication with computation: ``"none"``, ``"as-written"``, ``"early-late"``, ``"latency-hiding"``
    (None: what the program states, else its compiler's). ``network``: ``"analytic"`` or ``"event"``. ``straggler``: spread of
    the devices' speeds, a fraction. ``chakra``: a directory for execution traces, one file per rank, of the fastest cluster;
    ``chakra_ranks``: of the first so many.

    A cluster that cannot run the program is in the result, with its reason. Raises ``RidgelineError`` when none can.
    """
    return _program(program, args, bind, entry).step(
        cluster,
        devices=devices,
        shape=shape,
        overlap=overlap,
        network=network,
        straggler=straggler,
        fidelity=fidelity,
        f32_as=f32_as,
        top=top,
        chakra=chakra,
        chakra_ranks=chakra_ranks,
    )


def plan(
    program: Any,
    *args: Any,
    on: ChipName = "ipu",
    policies: str | Iterable[str] = ("joint",),
    published: bool = False,
    without: str | Iterable[str] = (),
    ablation: bool = False,
    budget: int = 0,
    threads: int = 0,
    bind: str | Sequence[str] = (),
    entry: str | None = None,
) -> Plan:
    """How a program lies on a chip of many cores with private memory, and how near to the best possible that is.

    ``policies``: ``"joint"``, the published ``"basic"``, ``"static"``, ``"dyn"``, ``"full"`` and their yardstick ``"ideal"``,
    ``"exact"`` and ``"exact-mip"`` for small programs, or ``"all"``. ``published=True``: the published planner's operator graph
    and machine. ``without``: ingredients to leave out, ``"views"``, ``"fusion"``, ``"tree"``, ``"overlap"``, ``"reorder"``;
    ``ablation=True`` also plans without each of them. ``budget``: search operations per policy (0: its default).

    A policy without a schedule is in the result, with its reason. Raises ``RidgelineError`` when the chip lacks what planning
    needs, an operator fits in no partition, or no policy has a schedule.
    """
    return _program(program, args, bind, entry).plan(
        on,
        policies=policies,
        published=published,
        without=without,
        ablation=ablation,
        budget=budget,
        threads=threads,
    )


def inspect(program: Any, *args: Any, bind: str | Sequence[str] = (), entry: str | None = None) -> Inspection:
    """Operations, FLOPs, bytes, arithmetic intensity, peak memory, loops and collectives of a program."""
    return _program(program, args, bind, entry).inspect()


def run(program: Any, *inputs: Any, entry: str | None = None, **options: Any) -> RunResult:
    """What the program computes, as NumPy arrays, by the reference interpreter.

    ``inputs`` are arrays (NumPy, JAX, or anything that ``numpy.asarray`` takes) in the order of the parameters; of programs
    from JAX also the arguments of the function, nested as it takes them. When ``program`` is a function, they are its
    arguments. bfloat16 and 8-bit floats are those of ``ml_dtypes``; without it arrays of unsigned integers hold their bits.

    Options: ``fill="random"`` or ``"zero"`` for inputs that are missing at the end, ``seed``; ``replicas`` and ``partitions``
    to run on a grid of devices, with ``per_process=True`` each on inputs of its own, one process after another in ``inputs``;
    ``plain=True`` for the definitions without fast kernels; ``memory_budget_bytes``, ``operation_budget``, ``max_depth``
    (0 = the defaults); ``print``, a function that receives what the program prints.

    A program that would need more than a budget is refused (``status`` ``"limit"``); a check in it that fails is an error.
    """
    if isinstance(program, Program):
        if entry:
            raise TypeError("a Program was read already: entry is given to Program(...)")
        return program.run(*inputs, **options)
    is_function = (
        callable(program) and not hasattr(program, "as_text") and not hasattr(program, "mlir_module_serialized")
    )
    return Program(program, *(inputs if is_function else ()), entry=entry).run(*inputs, **options)


@overload
def convert(program: Any, form: TextForm = "pretty", *, bind: str | Sequence[str] = ...) -> str: ...
@overload
def convert(
    program: Any,
    form: Literal["bytecode"],
    *,
    bind: str | Sequence[str] = ...,
    target: str | None = ...,
    locations: bool = ...,
) -> bytes: ...
def convert(
    program: Any,
    form: Form = "pretty",
    *,
    bind: str | Sequence[str] = (),
    target: str | None = None,
    locations: bool = False,
) -> str | bytes:
    """The program as StableHLO text, ``"pretty"`` or ``"generic"``, or as ``"bytecode"``: a portable artifact for the version
    ``target`` of StableHLO (None: the newest) and later ones. It is read and written without being checked."""
    if form == "bytecode":
        return _program(program, (), bind, None).convert("bytecode", target=target, locations=locations)
    if target is not None or locations:
        raise ValueError('target and locations are for the form "bytecode"')
    return _program(program, (), bind, None).convert(form)


def chips() -> Chips:
    """All chips that are known."""
    with _context.borrowed() as context:
        return Chips.from_json(json.loads(context.read("rdg_chips_list", _abi.FORMAT_JSON)))


def chip(name: ChipName) -> ChipSheet:
    """Everything that is known about a chip: id, alias, or the path of a chip file."""
    encoded = encode(chip_names(name)[0])
    with _context.borrowed() as context:
        document = json.loads(context.read("rdg_chip_show", encoded, _abi.FORMAT_JSON))
        return ChipSheet.from_json(document, context.read("rdg_chip_show", encoded, _abi.FORMAT_TEXT).decode())
