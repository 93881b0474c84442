"""GPT-2 with 124M parameters, in f32 as published: a prefill that fills the caches, and one decode step.

Layer norm before each part, the tanh form of GELU, learned positions, logits by the embedding's transpose.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax

from blocks import attend, dense, dense_shapes, layer_norm, norm_shapes, split_heads
from common import Program, Tree, element_count, shape

BATCH = 1
PROMPT_LENGTH = 1024


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 50257
    context: int = 1024
    width: int = 768
    layers: int = 12
    heads: int = 12
    norm_epsilon: float = 1e-5
    compute: Any = jnp.float32


def parameter_shapes(config: Config, dtype: Any) -> Tree:
    width = config.width

    def layer() -> Tree:
        return {
            "attention_norm": norm_shapes(dtype, width),
            "query_key_value": dense_shapes(dtype, width, 3 * width),
            "attention_out": dense_shapes(dtype, width, width),
            "mlp_norm": norm_shapes(dtype, width),
            "up": dense_shapes(dtype, width, 4 * width),
            "down": dense_shapes(dtype, 4 * width, width),
        }

    return {
        "embedding": shape(dtype, config.vocabulary, width),
        "positions": shape(dtype, config.context, width),
        "layers": [layer() for _ in range(config.layers)],
        "final_norm": norm_shapes(dtype, width),
    }


def cache_shapes(config: Config, batch: int) -> Tree:
    size = config.width // config.heads
    entry = shape(config.compute, batch, config.heads, config.context, size)
    return [{"keys": entry, "values": entry} for _ in range(config.layers)]


Remember = Callable[[Tree, jax.Array, jax.Array], Tree]


def transform(config: Config, parameters: Tree, x: jax.Array, caches: Tree, bias: jax.Array,
              remember: Remember) -> tuple[jax.Array, Tree]:
    """All layers. `remember` puts new keys and values into a cache, which attention then reads."""
    updated = []
    for layer, cache in zip(parameters["layers"], caches, strict=True):
        h = layer_norm(x, layer["attention_norm"], config.norm_epsilon)
        queries, keys, values = split_heads(dense(h, layer["query_key_value"]), 3, config.heads)
        cache = remember(cache, keys, values)
        context = attend(queries, cache["keys"], cache["values"], bias)
        x = x + dense(context, layer["attention_out"])
        h = layer_norm(x, layer["mlp_norm"], config.norm_epsilon)
        x = x + dense(jax.nn.gelu(dense(h, layer["up"]), approximate=True), layer["down"])
        updated.append(cache)
    return layer_norm(x, parameters["final_norm"], config.norm_epsilon), updated


def embed(table: jax.Array, tokens: jax.Array) -> jax.Array:
    return table.at[tokens].get(mode="promise_in_bounds", wrap_negative_indices=False)


def make_prefill(config: Config) -> Callable[..., tuple[jax.Array, Tree]]:
    def prefill(parameters: Tree, tokens: jax.Array):
        """Logits of all positions, and the caches."""
        length = tokens.shape[1]
        places = jnp.arange(length)
        bias = jnp.where(places[None, :] <= places[:, None], 0.0, -jnp.inf)
        x = embed(parameters["embedding"], tokens) + parameters["positions"][:length]
        x, caches = transform(config, parameters, x, [None] * config.layers, bias,
                              lambda _, keys, values: {"keys": keys, "values": values})
        return x @ parameters["embedding"].T, caches

    return prefill


def make_decode_step(config: Config) -> Callable[..., tuple[jax.Array, Tree]]:
    def decode_step(parameters: Tree, caches: Tree, tokens: jax.Array, position: jax.Array):
        """Logits after one more token per sequence, all of them at the same position."""
        zero = jnp.int32(0)
        length = caches[0]["keys"].shape[2]
        bias = jnp.where(jnp.arange(length)[None, :] <= position, 0.0, -jnp.inf)

        def remember(cache: Tree, keys: jax.Array, values: jax.Array) -> Tree:
            def write(old: jax.Array, new: jax.Array) -> jax.Array:
                return lax.dynamic_update_slice(old, new, (zero, zero, position, zero),
                                                allow_negative_indices=False)

            return {"keys": write(cache["keys"], keys), "values": write(cache["values"], values)}

        place = lax.dynamic_slice_in_dim(parameters["positions"], position, 1,
                                         allow_negative_indices=False)
        x = embed(parameters["embedding"], tokens[:, None]) + place
        x, updated = transform(config, parameters, x, caches, bias, remember)
        return (x @ parameters["embedding"].T)[:, 0], updated

    return decode_step


def programs() -> list[Program]:
    config = Config()
    parameters = parameter_shapes(config, config.compute)
    count = element_count(parameters)
    return [
        Program("gpt2_124m_prefill", "GPT-2 (124M), forward pass that fills the caches",
                make_prefill(config), (parameters, shape(jnp.int32, BATCH, PROMPT_LENGTH)),
                donated=(), parameters=count),
        Program("gpt2_124m_decode", "GPT-2 (124M), one decode step with KV cache",
                make_decode_step(config),
                (parameters, cache_shapes(config, BATCH), shape(jnp.int32, BATCH), shape(jnp.int32)),
                donated=(1,), parameters=count),
    ]
