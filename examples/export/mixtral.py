"""A stack of mixture-of-experts layers of Mixtral-8x7B's sizes (Jiang et al., 2024): prefill of one prompt.

Attention is Llama's. Every token goes to the two experts of eight that the router likes best; no token is dropped. Tokens
are sorted by expert, and each expert's matrices meet their rows in one ragged product.
"""

from __future__ import annotations

import dataclasses
from typing import Callable

import jax
import jax.numpy as jnp
from jax import lax

import llama3
from common import Program, Tree, element_count, shape

BATCH = 1
LENGTH = 4096


@dataclasses.dataclass(frozen=True)
class Config(llama3.Config):
    vocabulary: int = 32000
    rope_theta: float = 1e6
    experts: int = 8
    chosen: int = 2


def parameter_shapes(config: Config) -> Tree:
    """Layers are stacked."""
    dtype = config.compute
    parameters = llama3.parameter_shapes(config, dtype)
    experts = {"router": shape(dtype, config.width, config.experts),
               "gate": shape(dtype, config.experts, config.width, config.hidden),
               "up": shape(dtype, config.experts, config.width, config.hidden),
               "down": shape(dtype, config.experts, config.hidden, config.width)}
    return llama3.stack_layers(
        parameters | {"layers": [layer | experts for layer in parameters["layers"]]})


def mixture(config: Config, x: jax.Array, layer: Tree) -> jax.Array:
    """The sum of the chosen experts' outputs, weighted by the softmax over their scores; x is [token, width]."""
    scores, experts = lax.top_k((x @ layer["router"]).astype(jnp.float32), config.chosen)
    weights = jax.nn.softmax(scores, axis=-1)
    order = jnp.argsort(experts.reshape(-1))  # choices by expert, in the order of the tokens
    sizes = jnp.sum(experts.reshape(-1)[:, None] == jnp.arange(config.experts), axis=0, dtype=jnp.int32)
    rows = x.at[order // config.chosen].get(mode="promise_in_bounds", wrap_negative_indices=False)
    gate = lax.ragged_dot(rows, layer["gate"], sizes)
    hidden = gate * lax.logistic(gate) * lax.ragged_dot(rows, layer["up"], sizes)
    out = lax.ragged_dot(hidden, layer["down"], sizes)
    # back to the order of the choices, which are disjoint places
    out = jnp.zeros_like(out).at[order].set(out, unique_indices=True, mode="promise_in_bounds",
                                            wrap_negative_indices=False)
    out = out.reshape(*x.shape[:1], config.chosen, x.shape[1])
    return jnp.sum(out * weights[..., None].astype(out.dtype), axis=1)


def make_prefill(config: Config) -> Callable[..., jax.Array]:
    def prefill(parameters: Tree, tokens: jax.Array) -> jax.Array:
        """Logits after the last token."""
        positions = jnp.arange(tokens.shape[1])
        rope = llama3.rope_tables(config, positions)
        bias = jnp.where(positions[None, :] <= positions[:, None], 0.0, -jnp.inf)

        def layer(x: jax.Array, parameters: Tree) -> jax.Array:
            context = llama3.attend(config, *llama3.project(config, x, parameters, rope), bias)
            x = x + context @ parameters["attention_out"]
            h = llama3.rms_norm(config, x, parameters["mlp_norm"])
            return x + mixture(config, h.reshape(-1, config.width), parameters).reshape(x.shape)

        x = llama3.embed(parameters["embedding"], tokens)
        x = llama3.scanned(layer, x, parameters["layers"])
        return llama3.predict(config, x[:, -1:], parameters)[:, 0]

    return prefill


def programs() -> list[Program]:
    config = Config()
    parameters = parameter_shapes(config)
    return [Program("mixtral_8x7b_prefill", "Mixtral-8x7B, prefill, layers scanned", make_prefill(config),
                    (parameters, shape(jnp.int32, BATCH, LENGTH)), donated=(),
                    parameters=element_count(parameters))]
