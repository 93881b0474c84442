"""ViT-B/16 (Dosovitskiy et al., 2020), inference in bf16: 16x16 patches of a 224x224 image, 12 layers, 1000 classes."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax

from blocks import attend, dense, dense_shapes, layer_norm, norm_shapes, split_heads
from common import Program, Tree, element_count, shape

BATCH = 64


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 224
    channels: int = 3
    patch: int = 16
    width: int = 768
    layers: int = 12
    heads: int = 12
    hidden: int = 3072
    classes: int = 1000
    norm_epsilon: float = 1e-6
    compute: Any = jnp.bfloat16

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2


def parameter_shapes(config: Config, dtype: Any) -> Tree:
    width = config.width

    def layer() -> Tree:
        return {
            "attention_norm": norm_shapes(dtype, width),
            "query_key_value": dense_shapes(dtype, width, 3 * width),
            "attention_out": dense_shapes(dtype, width, width),
            "mlp_norm": norm_shapes(dtype, width),
            "up": dense_shapes(dtype, width, config.hidden),
            "down": dense_shapes(dtype, config.hidden, width),
        }

    return {
        "patches": {"kernel": shape(dtype, config.patch, config.patch, config.channels, width),
                    "bias": shape(dtype, width)},
        "class_token": shape(dtype, width),
        "positions": shape(dtype, config.patches + 1, width),
        "layers": [layer() for _ in range(config.layers)],
        "final_norm": norm_shapes(dtype, width),
        "classifier": dense_shapes(dtype, width, config.classes),
    }


def make_inference(config: Config) -> Callable[..., jax.Array]:
    def inference(parameters: Tree, images: jax.Array) -> jax.Array:
        """Logits, in f32, of images [batch, height, width, channels]."""
        batch = images.shape[0]
        x = lax.conv_general_dilated(images, parameters["patches"]["kernel"],
                                     (config.patch, config.patch), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = (x + parameters["patches"]["bias"]).reshape(batch, config.patches, config.width)
        first = jnp.broadcast_to(parameters["class_token"], (batch, 1, config.width))
        x = jnp.concatenate([first, x], axis=1) + parameters["positions"]
        for layer in parameters["layers"]:
            h = layer_norm(x, layer["attention_norm"], config.norm_epsilon)
            x = x + dense(attend(*split_heads(dense(h, layer["query_key_value"]), 3, config.heads)),
                          layer["attention_out"])
            h = layer_norm(x, layer["mlp_norm"], config.norm_epsilon)
            x = x + dense(jax.nn.gelu(dense(h, layer["up"]), approximate=False), layer["down"])
        x = layer_norm(x[:, 0], parameters["final_norm"], config.norm_epsilon)
        return dense(x, parameters["classifier"]).astype(jnp.float32)

    return inference


def programs() -> list[Program]:
    config = Config()
    parameters = parameter_shapes(config, config.compute)
    images = shape(config.compute, BATCH, config.image, config.image, config.channels)
    return [Program("vit_b16_inference", "ViT-B/16, inference", make_inference(config),
                    (parameters, images), donated=(), parameters=element_count(parameters))]
