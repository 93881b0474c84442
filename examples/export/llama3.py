"""Llama-3-8B: a training step, written twice, prefill, and one decode step.

The two training programs do the same arithmetic. One repeats the layer in the
program's text; the other stacks the layers' parameters and scans over them.

Training keeps parameters and both AdamW moments in f32 and casts the parameters to
bf16 once per step. Every matrix product takes and gives bf16; softmax, RMS norm,
rotary embedding, loss and optimizer work in f32. Nothing is rematerialised.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax

from common import Program, Tree, cast, cross_entropy, element_count, retype, shape

BETA1 = 0.9
BETA2 = 0.95
ADAM_EPSILON = 1e-8
WEIGHT_DECAY = 0.1

TRAIN_BATCH = 1
TRAIN_LENGTH = 4096
PREFILL_BATCH = 1
PREFILL_LENGTH = 8192
DECODE_BATCH = 16
CACHE_LENGTH = 8192


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 128256
    width: int = 4096
    layers: int = 32
    heads: int = 32
    kv_heads: int = 8
    head_size: int = 128
    hidden: int = 14336
    rope_theta: float = 500000.0
    norm_epsilon: float = 1e-5
    compute: Any = jnp.bfloat16


def parameter_shapes(config: Config, dtype: Any) -> Tree:
    queries = config.heads * config.head_size
    keys = config.kv_heads * config.head_size

    def layer() -> Tree:
        return {
            "attention_norm": shape(dtype, config.width),
            "query": shape(dtype, config.width, queries),
            "key": shape(dtype, config.width, keys),
            "value": shape(dtype, config.width, keys),
            "attention_out": shape(dtype, queries, config.width),
            "mlp_norm": shape(dtype, config.width),
            "gate": shape(dtype, config.width, config.hidden),
            "up": shape(dtype, config.width, config.hidden),
            "down": shape(dtype, config.hidden, config.width),
        }

    return {
        "embedding": shape(dtype, config.vocabulary, config.width),
        "layers": [layer() for _ in range(config.layers)],
        "final_norm": shape(dtype, config.width),
        "output": shape(dtype, config.width, config.vocabulary),
    }


def stack_layers(parameters: Tree) -> Tree:
    """The parameters, arrays or shapes, with each kind of layer weight as one array."""
    def stack(*leaves):
        if isinstance(leaves[0], jax.ShapeDtypeStruct):
            return shape(leaves[0].dtype, len(leaves), *leaves[0].shape)
        return jnp.stack(leaves)

    return parameters | {"layers": jax.tree.map(stack, *parameters["layers"])}


# Building blocks. x is [batch, length, width] throughout.


def embed(table: jax.Array, tokens: jax.Array) -> jax.Array:
    return table.at[tokens].get(mode="promise_in_bounds", wrap_negative_indices=False)


def rms_norm(config: Config, x: jax.Array, weight: jax.Array) -> jax.Array:
    x32 = x.astype(jnp.float32)
    mean_square = jnp.mean(lax.square(x32), axis=-1, keepdims=True)
    return (x32 * lax.rsqrt(mean_square + config.norm_epsilon)).astype(x.dtype) * weight


def rope_tables(config: Config, positions: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Cosines and sines, each [length, head_size / 2]."""
    half = config.head_size // 2
    exponents = jnp.arange(half, dtype=jnp.float32) / half
    frequencies = lax.pow(jnp.float32(config.rope_theta), -exponents)
    angles = positions.astype(jnp.float32)[:, None] * frequencies
    return jnp.cos(angles), jnp.sin(angles)


def rotate(x: jax.Array, rope: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Rotates the pairs (i, i + head_size / 2) of every head of [..., length, head_size]."""
    cosines, sines = rope
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    rotated = [first * cosines - second * sines, second * cosines + first * sines]
    return jnp.concatenate(rotated, axis=-1).astype(x.dtype)


def project(config: Config, x: jax.Array, layer: Tree, rope: tuple[jax.Array, jax.Array]
            ) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Rotated queries and keys, and values, each [batch, head, length, head_size]."""
    h = rms_norm(config, x, layer["attention_norm"])

    def heads(name: str, count: int) -> jax.Array:
        y = h @ layer[name]
        return y.reshape(*y.shape[:2], count, config.head_size).swapaxes(1, 2)

    return (rotate(heads("query", config.heads), rope),
            rotate(heads("key", config.kv_heads), rope),
            heads("value", config.kv_heads))


def attend(config: Config, queries: jax.Array, keys: jax.Array, values: jax.Array,
           bias: jax.Array) -> jax.Array:
    """Grouped-query attention, giving [batch, length, heads * head_size].

    The bias, [length, keys], is 0 or -inf. Adding it masks the scores without keeping
    a mask for the backward pass: the softmax's own gradient vanishes where it is -inf.
    """
    batch, _, length, _ = queries.shape
    group = config.heads // config.kv_heads
    queries = queries.reshape(batch, config.kv_heads, group, length, config.head_size)
    scores = jnp.einsum("bkgqd,bksd->bkgqs", queries, keys).astype(jnp.float32)
    weights = jax.nn.softmax(scores * config.head_size ** -0.5 + bias, axis=-1)
    context = jnp.einsum("bkgqs,bksd->bkgqd", weights.astype(values.dtype), values)
    context = context.reshape(batch, config.heads, length, config.head_size).swapaxes(1, 2)
    return context.reshape(batch, length, config.heads * config.head_size)


def finish_layer(config: Config, x: jax.Array, context: jax.Array, layer: Tree) -> jax.Array:
    """Everything after attention: the output projection and the gated MLP."""
    x = x + context @ layer["attention_out"]
    h = rms_norm(config, x, layer["mlp_norm"])
    gate = h @ layer["gate"]
    return x + (gate * lax.logistic(gate) * (h @ layer["up"])) @ layer["down"]


def predict(config: Config, x: jax.Array, parameters: Tree) -> jax.Array:
    x = rms_norm(config, x, parameters["final_norm"])
    return (x @ parameters["output"]).astype(jnp.float32)


# Training.

LayerFunction = Callable[[jax.Array, Tree], jax.Array]


def unrolled(layer: LayerFunction, x: jax.Array, layers: Tree) -> jax.Array:
    for parameters in layers:
        x = layer(x, parameters)
    return x


def scanned(layer: LayerFunction, x: jax.Array, layers: Tree) -> jax.Array:
    x, _ = lax.scan(lambda x, parameters: (layer(x, parameters), None), x, layers)
    return x


def forward(config: Config, parameters: Tree, tokens: jax.Array,
            run: Callable[[LayerFunction, jax.Array, Tree], jax.Array]) -> jax.Array:
    """Logits of all positions. `run` fits the form of the layers: listed or stacked."""
    positions = jnp.arange(tokens.shape[1])
    rope = rope_tables(config, positions)
    bias = jnp.where(positions[None, :] <= positions[:, None], 0.0, -jnp.inf)

    def layer(x: jax.Array, parameters: Tree) -> jax.Array:
        queries, keys, values = project(config, x, parameters, rope)
        context = attend(config, queries, keys, values, bias)
        return finish_layer(config, x, context, parameters)

    x = embed(parameters["embedding"], tokens)
    return predict(config, run(layer, x, parameters["layers"]), parameters)


def adamw(state: Tree, gradients: Tree, learning_rate: jax.Array) -> Tree:
    """AdamW with weight decay on all parameters."""
    step = state["step"] + 1
    correction1 = 1 / (1 - lax.pow(jnp.float32(BETA1), step.astype(jnp.float32)))
    correction2 = 1 / (1 - lax.pow(jnp.float32(BETA2), step.astype(jnp.float32)))

    def moved(p: jax.Array, mean: jax.Array, square: jax.Array) -> jax.Array:
        direction = (mean * correction1) / (lax.sqrt(square * correction2) + ADAM_EPSILON)
        return p - learning_rate * (direction + WEIGHT_DECAY * p)

    mean = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["mean"], gradients)
    square = jax.tree.map(lambda s, g: BETA2 * s + (1 - BETA2) * lax.square(g),
                          state["square"], gradients)
    parameters = jax.tree.map(moved, state["parameters"], mean, square)
    return {"parameters": parameters, "mean": mean, "square": square, "step": step}


def make_train_step(config: Config, run: Callable[..., jax.Array]
                    ) -> Callable[..., tuple[Tree, jax.Array]]:
    def loss(parameters: Tree, tokens: jax.Array, targets: jax.Array) -> jax.Array:
        parameters = cast(parameters, config.compute)
        return cross_entropy(forward(config, parameters, tokens, run), targets)

    def train_step(state: Tree, tokens: jax.Array, targets: jax.Array, learning_rate: jax.Array):
        value, gradients = jax.value_and_grad(loss)(state["parameters"], tokens, targets)
        return adamw(state, gradients, learning_rate), value

    return train_step


def state_shapes(parameters: Tree) -> Tree:
    parameters = retype(parameters, jnp.float32)
    return {"parameters": parameters, "mean": parameters, "square": parameters,
            "step": shape(jnp.int32)}


# Prefill and decoding.


def make_prefill(config: Config) -> Callable[..., tuple[jax.Array, Tree]]:
    def prefill(parameters: Tree, tokens: jax.Array):
        """Logits after the last token, and the caches that decoding goes on from."""
        positions = jnp.arange(tokens.shape[1])
        rope = rope_tables(config, positions)
        bias = jnp.where(positions[None, :] <= positions[:, None], 0.0, -jnp.inf)
        x = embed(parameters["embedding"], tokens)
        caches = []
        for layer in parameters["layers"]:
            queries, keys, values = project(config, x, layer, rope)
            x = finish_layer(config, x, attend(config, queries, keys, values, bias), layer)
            caches.append({"keys": keys, "values": values})
        return predict(config, x[:, -1:], parameters)[:, 0], caches

    return prefill


def cache_shapes(config: Config, batch: int, length: int) -> Tree:
    entry = shape(config.compute, batch, config.kv_heads, length, config.head_size)
    return [{"keys": entry, "values": entry} for _ in range(config.layers)]


def make_decode_step(config: Config) -> Callable[..., tuple[jax.Array, Tree]]:
    def decode_step(parameters: Tree, caches: Tree, tokens: jax.Array, position: jax.Array):
        """Logits after one more token per sequence, all of them at the same position."""
        length = caches[0]["keys"].shape[2]
        rope = rope_tables(config, position[None])
        bias = jnp.where(jnp.arange(length)[None, :] <= position, 0.0, -jnp.inf)
        zero = jnp.int32(0)

        def write(cache: jax.Array, entry: jax.Array) -> jax.Array:
            return lax.dynamic_update_slice(cache, entry, (zero, zero, position, zero),
                                            allow_negative_indices=False)

        x = embed(parameters["embedding"], tokens[:, None])
        updated = []
        for layer, cache in zip(parameters["layers"], caches, strict=True):
            queries, keys, values = project(config, x, layer, rope)
            cache = {"keys": write(cache["keys"], keys), "values": write(cache["values"], values)}
            context = attend(config, queries, cache["keys"], cache["values"], bias)
            x = finish_layer(config, x, context, layer)
            updated.append(cache)
        return predict(config, x, parameters)[:, 0], updated

    return decode_step


def programs() -> list[Program]:
    config = Config()
    parameters = parameter_shapes(config, config.compute)
    count = element_count(parameters)
    tokens = shape(jnp.int32, TRAIN_BATCH, TRAIN_LENGTH)

    def training(form: str, run: Callable[..., jax.Array], parameters: Tree) -> Program:
        return Program(f"llama3_8b_train_{form}",
                       f"Llama-3-8B, training step (AdamW), layers {run.__name__}",
                       make_train_step(config, run),
                       (state_shapes(parameters), tokens, tokens, shape(jnp.float32)),
                       donated=(0,), parameters=count)

    return [
        training("unrolled", unrolled, parameters),
        training("scan", scanned, stack_layers(parameters)),
        Program("llama3_8b_prefill", "Llama-3-8B, prefill of one prompt", make_prefill(config),
                (parameters, shape(jnp.int32, PREFILL_BATCH, PREFILL_LENGTH)),
                donated=(), parameters=count),
        Program("llama3_8b_decode", "Llama-3-8B, one decode step with KV cache",
                make_decode_step(config),
                (parameters, cache_shapes(config, DECODE_BATCH, CACHE_LENGTH),
                 shape(jnp.int32, DECODE_BATCH), shape(jnp.int32)),
                donated=(1,), parameters=count),
    ]
