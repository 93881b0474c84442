"""What every export script needs: shape trees, the loss, lowering and compression."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import subprocess
from typing import Any, Callable

# Programs for several devices need them to be there when they are lowered: threads of the CPU do.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp

Tree = Any  # A pytree of arrays, or of jax.ShapeDtypeStruct.

PLATFORM = "tpu"
COMPRESSION_LEVEL = 19


@dataclasses.dataclass(frozen=True)
class Program:
    """A function together with the argument shapes it is exported at."""

    name: str
    description: str
    function: Callable[..., Any]
    arguments: tuple[Tree, ...]
    donated: tuple[int, ...]
    parameters: int
    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # Of jax.jit: shardings.
    shardy: bool = True  # Shardings are written for Shardy, else for GSPMD.


def shape(dtype: Any, *dimensions: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, dtype)


def element_count(tree: Tree) -> int:
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


def cast(tree: Tree, dtype: Any) -> Tree:
    return jax.tree.map(lambda leaf: leaf.astype(dtype), tree)


def retype(shapes: Tree, dtype: Any) -> Tree:
    """The same shapes at another element type."""
    return jax.tree.map(lambda leaf: shape(dtype, *leaf.shape), shapes)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross-entropy over all positions, in f32.

    The label's logit is picked with a mask rather than a gather: its gradient is
    then elementwise, where a gather would scatter into a zeroed array as large as
    the logits.
    """
    logits = logits.astype(jnp.float32)
    classes = jax.lax.broadcasted_iota(labels.dtype, logits.shape, logits.ndim - 1)
    picked = jnp.where(classes == labels[..., None], logits, 0.0).sum(axis=-1)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def lower(program: Program) -> str:
    """The program as StableHLO text, without source locations.

    Naming a platform keeps the text independent of the machine that exports it. The
    platform's device is not needed.
    """
    function = jax.jit(program.function, donate_argnums=program.donated, **program.options)
    was_shardy = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", program.shardy)
    try:
        lowered = function.trace(*program.arguments).lower(lowering_platforms=(PLATFORM,))
    finally:
        jax.config.update("jax_use_shardy_partitioner", was_shardy)
    return lowered.as_text()


def compress(text: str) -> bytes:
    """One zstd frame that states its content size and carries a checksum."""
    data = text.encode()
    command = ["zstd", f"-{COMPRESSION_LEVEL}", "--single-thread", "--check",
               f"--stream-size={len(data)}", "--quiet", "--stdout"]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def decompress(path: pathlib.Path) -> str:
    command = ["zstd", "--decompress", "--quiet", "--stdout", str(path)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
