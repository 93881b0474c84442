"""The scanned Llama-3-8B training step on a mesh of eight devices, split in two ways and annotated in two styles.

  fsdp    every parameter, its moments and the batch are split over the devices; a layer's weights are gathered where they
          are used (Zhao et al., 2023)
  tensor  matrices are split by heads and hidden columns, the ones after them by rows; activations are replicated
          (Shoeybi et al., 2019)

Shardy writes shardings as attributes and operations of `sdy`, GSPMD as `mhlo.sharding` strings and custom calls. The
shapes in the text are those of the whole program in either style; the partitioner comes after.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import llama3
from common import Program, Tree, element_count, shape

DEVICES = 8
BATCHES = {"fsdp": 8, "tensor": 1}
LENGTH = 4096

# Which dimension of a parameter is split over the mesh; layers are stacked along the first. None: replicated.
SPLIT = {
    "fsdp": {"embedding": 0, "output": 0, "final_norm": 0, "attention_norm": 1, "mlp_norm": 1, "query": 1, "key": 1,
             "value": 1, "attention_out": 1, "gate": 1, "up": 1, "down": 1},
    "tensor": {"embedding": 1, "output": 1, "final_norm": None, "attention_norm": None, "mlp_norm": None, "query": 2,
               "key": 2, "value": 2, "attention_out": 1, "gate": 2, "up": 2, "down": 1},
}


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:DEVICES]), ("device",))


def split(count: int, dimension: int | None) -> P:
    return P(*("device" if d == dimension else None for d in range(count)))


def parameter_shardings(kind: str, parameters: Tree) -> Tree:
    def one(path: Any, leaf: Any) -> NamedSharding:
        return NamedSharding(mesh(), split(len(leaf.shape), SPLIT[kind][path[-1].key]))

    return jax.tree_util.tree_map_with_path(one, parameters)


def shardings(kind: str, arguments: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """Of the arguments of a training step: state, tokens, targets, learning rate."""
    whole = NamedSharding(mesh(), P())
    batch = NamedSharding(mesh(), P("device")) if kind == "fsdp" else whole
    state = {name: whole if name == "step" else parameter_shardings(kind, tree)
             for name, tree in arguments[0].items()}
    return state, batch, batch, whole


def make_run(kind: str) -> Callable[..., jax.Array]:
    """Scans over the layers and says between them how the activations lie."""
    lies = NamedSharding(mesh(), P("device") if kind == "fsdp" else P())

    def run(layer: llama3.LayerFunction, x: jax.Array, layers: Tree) -> jax.Array:
        def annotated(x: jax.Array, parameters: Tree) -> jax.Array:
            return jax.lax.with_sharding_constraint(layer(x, parameters), lies)

        return llama3.scanned(annotated, jax.lax.with_sharding_constraint(x, lies), layers)

    return run


def step_and_shardings(config: llama3.Config, kind: str, arguments: tuple[Tree, ...]
                       ) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A training step and the options of jax.jit that split it."""
    given = shardings(kind, arguments)
    options = {"in_shardings": given, "out_shardings": (given[0], given[3])}
    return llama3.make_train_step(config, make_run(kind)), options


def programs() -> list[Program]:
    config = llama3.Config()
    parameters = llama3.stack_layers(llama3.parameter_shapes(config, config.compute))
    made = []
    for kind, batch in BATCHES.items():
        tokens = shape(jnp.int32, batch, LENGTH)
        arguments = (llama3.state_shapes(parameters), tokens, tokens, shape(jnp.float32))
        function, options = step_and_shardings(config, kind, arguments)
        for style in ("shardy", "gspmd"):
            made.append(Program(f"llama3_8b_{kind}8_{style}",
                                f"Llama-3-8B, {kind}-parallel training step on 8 devices, {style}",
                                function, arguments, donated=(0,),
                                parameters=element_count(parameters), options=options,
                                shardy=style == "shardy"))
    return made
