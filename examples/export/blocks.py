"""What GPT-2, ViT and DiT share: dense layers with bias, layer norm, multi-head attention."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from common import Tree, shape


def dense_shapes(dtype: Any, inputs: int, outputs: int) -> Tree:
    return {"kernel": shape(dtype, inputs, outputs), "bias": shape(dtype, outputs)}


def norm_shapes(dtype: Any, width: int) -> Tree:
    return {"scale": shape(dtype, width), "bias": shape(dtype, width)}


def dense(x: jax.Array, parameters: Tree) -> jax.Array:
    return x @ parameters["kernel"] + parameters["bias"]


def normalise(x: jax.Array, epsilon: float) -> jax.Array:
    """Mean 0 and variance 1 over the last dimension, computed in f32."""
    x32 = x.astype(jnp.float32)
    mean = jnp.mean(x32, axis=-1, keepdims=True)
    centred = x32 - mean
    variance = jnp.mean(lax.square(centred), axis=-1, keepdims=True)
    return (centred * lax.rsqrt(variance + epsilon)).astype(x.dtype)


def layer_norm(x: jax.Array, parameters: Tree, epsilon: float) -> jax.Array:
    return normalise(x, epsilon) * parameters["scale"] + parameters["bias"]


def split_heads(x: jax.Array, parts: int, heads: int) -> list[jax.Array]:
    """[batch, length, parts * width] as `parts` arrays [batch, head, length, head_size]."""
    batch, length, _ = x.shape
    x = x.reshape(batch, length, parts, heads, -1)
    return [x[:, :, part].swapaxes(1, 2) for part in range(parts)]


def attend(queries: jax.Array, keys: jax.Array, values: jax.Array, bias: jax.Array | None = None
           ) -> jax.Array:
    """Softmax attention, giving [batch, length, heads * head_size]. The softmax is in f32."""
    batch, heads, length, size = queries.shape
    scores = jnp.einsum("bhqd,bhkd->bhqk", queries, keys).astype(jnp.float32) * size ** -0.5
    if bias is not None:
        scores = scores + bias
    weights = jax.nn.softmax(scores, axis=-1).astype(values.dtype)
    context = jnp.einsum("bhqk,bhkd->bhqd", weights, values)
    return context.swapaxes(1, 2).reshape(batch, length, heads * size)
