"""DiT-XL/2 (Peebles and Xie, 2022): one denoising step of class-conditional sampling on 32x32x4 latents.

The step evaluates the network with and without the class (guidance doubles the batch), and moves the latents by DDIM
without noise. The predicted variances, half of the network's output, are not used by that sampler.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax

from blocks import attend, dense, dense_shapes, normalise, split_heads
from common import Program, Tree, element_count, shape

BATCH = 8


@dataclasses.dataclass(frozen=True)
class Config:
    latent: int = 32
    channels: int = 4
    patch: int = 2
    width: int = 1152
    layers: int = 28
    heads: int = 16
    classes: int = 1000
    frequencies: int = 256
    norm_epsilon: float = 1e-6
    compute: Any = jnp.bfloat16

    @property
    def patches(self) -> int:
        return (self.latent // self.patch) ** 2


def parameter_shapes(config: Config, dtype: Any) -> Tree:
    width, patch_size = config.width, config.patch ** 2

    def layer() -> Tree:
        return {
            "query_key_value": dense_shapes(dtype, width, 3 * width),
            "attention_out": dense_shapes(dtype, width, width),
            "up": dense_shapes(dtype, width, 4 * width),
            "down": dense_shapes(dtype, 4 * width, width),
            "modulation": dense_shapes(dtype, width, 6 * width),
        }

    return {
        "patches": dense_shapes(dtype, patch_size * config.channels, width),
        "positions": shape(dtype, config.patches, width),
        "time_in": dense_shapes(dtype, config.frequencies, width),
        "time_out": dense_shapes(dtype, width, width),
        "classes": shape(dtype, config.classes + 1, width),  # the last one: no class
        "layers": [layer() for _ in range(config.layers)],
        "final_modulation": dense_shapes(dtype, width, 2 * width),
        "output": dense_shapes(dtype, width, patch_size * 2 * config.channels),
    }


def patchify(config: Config, x: jax.Array) -> jax.Array:
    """[batch, height, width, channels] as [batch, patch, values of a patch]."""
    batch, side, p = x.shape[0], config.latent // config.patch, config.patch
    x = x.reshape(batch, side, p, side, p, -1).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(batch, side * side, -1)


def unpatchify(config: Config, x: jax.Array) -> jax.Array:
    batch, side, p = x.shape[0], config.latent // config.patch, config.patch
    x = x.reshape(batch, side, side, p, p, -1).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(batch, config.latent, config.latent, -1)


def time_features(config: Config, times: jax.Array) -> jax.Array:
    """Cosines and sines of the times at geometric frequencies from 1 to 1/10000, in f32."""
    half = config.frequencies // 2
    frequencies = jnp.exp(jnp.arange(half, dtype=jnp.float32) * (-math.log(10000) / half))
    angles = times.astype(jnp.float32)[:, None] * frequencies
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)


def modulated(config: Config, x: jax.Array, shift: jax.Array, scale: jax.Array) -> jax.Array:
    return normalise(x, config.norm_epsilon) * (1 + scale[:, None]) + shift[:, None]


def denoise(config: Config, parameters: Tree, latents: jax.Array, times: jax.Array, classes: jax.Array
            ) -> jax.Array:
    """Predicted noise and variances, [batch, height, width, 2 * channels]."""
    x = dense(patchify(config, latents), parameters["patches"]) + parameters["positions"]
    time = dense(time_features(config, times).astype(config.compute), parameters["time_in"])
    time = dense(jax.nn.silu(time), parameters["time_out"])
    label = parameters["classes"].at[classes].get(mode="promise_in_bounds",
                                                  wrap_negative_indices=False)
    condition = jax.nn.silu(time + label)
    for layer in parameters["layers"]:
        shift1, scale1, gate1, shift2, scale2, gate2 = jnp.split(
            dense(condition, layer["modulation"]), 6, axis=-1)
        h = modulated(config, x, shift1, scale1)
        context = attend(*split_heads(dense(h, layer["query_key_value"]), 3, config.heads))
        x = x + gate1[:, None] * dense(context, layer["attention_out"])
        h = modulated(config, x, shift2, scale2)
        h = dense(jax.nn.gelu(dense(h, layer["up"]), approximate=True), layer["down"])
        x = x + gate2[:, None] * h
    shift, scale = jnp.split(dense(condition, parameters["final_modulation"]), 2, axis=-1)
    return unpatchify(config, dense(modulated(config, x, shift, scale), parameters["output"]))


def make_step(config: Config) -> Callable[..., jax.Array]:
    def step(parameters: Tree, latents: jax.Array, time: jax.Array, classes: jax.Array,
             guidance: jax.Array, level: jax.Array, next_level: jax.Array) -> jax.Array:
        """Latents, in f32, one step on: `level` is the share of signal before (its square root scales the image), and
        `next_level` after it."""
        batch = latents.shape[0]
        both = jnp.concatenate([latents, latents]).astype(config.compute)
        labels = jnp.concatenate([classes, jnp.full_like(classes, config.classes)])
        out = denoise(config, parameters, both, jnp.broadcast_to(time, (2 * batch,)), labels)
        noise = out[..., :config.channels].astype(jnp.float32)
        given, free = noise[:batch], noise[batch:]
        noise = free + guidance * (given - free)
        image = (latents - lax.sqrt(1 - level) * noise) * lax.rsqrt(level)
        return lax.sqrt(next_level) * image + lax.sqrt(1 - next_level) * noise

    return step


def programs() -> list[Program]:
    config = Config()
    parameters = parameter_shapes(config, config.compute)
    scalar = shape(jnp.float32)
    latents = shape(jnp.float32, BATCH, config.latent, config.latent, config.channels)
    return [Program("dit_xl2_step", "DiT-XL/2, one guided denoising step", make_step(config),
                    (parameters, latents, shape(jnp.int32), shape(jnp.int32, BATCH), scalar, scalar,
                     scalar),
                    donated=(1,), parameters=element_count(parameters))]
