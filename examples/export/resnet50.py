"""ResNet-50 v1.5: inference and one training step.

v1.5 puts the stride of a down-sampling block in its 3x3 convolution, not in the
first 1x1. Activations are NHWC. Convolutions and the classifier's matrix product
take and give bf16; batch normalisation, pooling, loss and optimizer work in f32.
Inference keeps its kernels in bf16; training keeps f32 kernels and casts at use.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax

from common import Program, Tree, cross_entropy, element_count, retype, shape

EPSILON = 1e-5
STATISTICS_DECAY = 0.9
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4

BATCH = 128


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 224
    channels: int = 3
    classes: int = 1000
    width: int = 64
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    expansion: int = 4
    compute: Any = jnp.bfloat16


@dataclasses.dataclass(frozen=True)
class Unit:
    """A convolution followed by batch normalisation."""

    size: int
    inputs: int
    outputs: int
    stride: int = 1

    @property
    def padding(self) -> int:
        return self.size // 2


def architecture(config: Config) -> Tree:
    """All units, in the tree structure that parameters and statistics follow."""
    stages = []
    inputs = config.width
    for index, count in enumerate(config.blocks):
        width = config.width << index
        outputs = width * config.expansion
        stage = []
        for position in range(count):
            stride = 2 if index > 0 and position == 0 else 1
            block = {
                "reduce": Unit(1, inputs, width),
                "spatial": Unit(3, width, width, stride),
                "expand": Unit(1, width, outputs),
            }
            if position == 0:
                block["shortcut"] = Unit(1, inputs, outputs, stride)
            stage.append(block)
            inputs = outputs
        stages.append(stage)
    return {"stem": Unit(7, config.channels, config.width, stride=2), "stages": stages}


def parameter_shapes(config: Config, kernel_dtype: Any) -> Tree:
    def of_unit(unit: Unit) -> Tree:
        return {
            "kernel": shape(kernel_dtype, unit.size, unit.size, unit.inputs, unit.outputs),
            "scale": shape(jnp.float32, unit.outputs),
            "bias": shape(jnp.float32, unit.outputs),
        }

    features = config.width * 2 ** (len(config.blocks) - 1) * config.expansion
    return jax.tree.map(of_unit, architecture(config)) | {
        "classifier": {
            "kernel": shape(kernel_dtype, features, config.classes),
            "bias": shape(jnp.float32, config.classes),
        }
    }


def statistics_shapes(config: Config) -> Tree:
    """Running mean and variance of every unit."""
    def of_unit(unit: Unit) -> Tree:
        return {"mean": shape(jnp.float32, unit.outputs),
                "variance": shape(jnp.float32, unit.outputs)}

    return jax.tree.map(of_unit, architecture(config))


def affine(x: jax.Array, mean: jax.Array, variance: jax.Array, parameters: Tree) -> jax.Array:
    """Normalises in f32 and returns to the type of x."""
    multiplier = parameters["scale"] * lax.rsqrt(variance + EPSILON)
    y = (x.astype(jnp.float32) - mean) * multiplier + parameters["bias"]
    return y.astype(x.dtype)


def normalise_inference(x: jax.Array, parameters: Tree, statistics: Tree) -> tuple[jax.Array, Tree]:
    y = affine(x, statistics["mean"], statistics["variance"], parameters)
    return y, statistics


def normalise_training(x: jax.Array, parameters: Tree, statistics: Tree) -> tuple[jax.Array, Tree]:
    """Normalises by the batch's own moments and moves the running ones towards them."""
    x32 = x.astype(jnp.float32)
    mean = jnp.mean(x32, axis=(0, 1, 2))
    variance = jnp.mean(lax.square(x32), axis=(0, 1, 2)) - lax.square(mean)
    updated = jax.tree.map(
        lambda running, batch: STATISTICS_DECAY * running + (1 - STATISTICS_DECAY) * batch,
        statistics, {"mean": mean, "variance": variance})
    return affine(x, mean, variance, parameters), updated


def max_pool(x: jax.Array) -> jax.Array:
    """3x3 windows at stride 2, padded by one."""
    return lax.reduce_window(x, -jnp.inf, lax.max,
                             window_dimensions=(1, 3, 3, 1), window_strides=(1, 2, 2, 1),
                             padding=((0, 0), (1, 1), (1, 1), (0, 0)))


def forward(config: Config, parameters: Tree, statistics: Tree, images: jax.Array,
            normalise: Callable[..., tuple[jax.Array, Tree]]) -> tuple[jax.Array, Tree]:
    """Logits in f32, and the statistics as `normalise` leaves them."""

    def apply(x: jax.Array, unit: Unit, parameters: Tree, statistics: Tree):
        x = lax.conv_general_dilated(
            x, parameters["kernel"].astype(x.dtype),
            window_strides=(unit.stride, unit.stride),
            padding=[(unit.padding, unit.padding)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return normalise(x, parameters, statistics)

    def bottleneck(x: jax.Array, units: Tree, parameters: Tree, statistics: Tree):
        updated = {}

        def step(name: str, x: jax.Array) -> jax.Array:
            y, updated[name] = apply(x, units[name], parameters[name], statistics[name])
            return y

        y = jax.nn.relu(step("reduce", x))
        y = jax.nn.relu(step("spatial", y))
        y = step("expand", y)
        shortcut = step("shortcut", x) if "shortcut" in units else x
        return jax.nn.relu(y + shortcut), updated

    units = architecture(config)
    x = images.astype(config.compute)
    x, stem = apply(x, units["stem"], parameters["stem"], statistics["stem"])
    x = max_pool(jax.nn.relu(x))

    updated = {"stem": stem, "stages": []}
    for stage in zip(units["stages"], parameters["stages"], statistics["stages"], strict=True):
        updated_stage = []
        for block in zip(*stage, strict=True):
            x, updated_block = bottleneck(x, *block)
            updated_stage.append(updated_block)
        updated["stages"].append(updated_stage)

    features = jnp.mean(x.astype(jnp.float32), axis=(1, 2)).astype(config.compute)
    classifier = parameters["classifier"]
    logits = features @ classifier["kernel"].astype(config.compute)
    return logits.astype(jnp.float32) + classifier["bias"], updated


def make_inference(config: Config) -> Callable[..., jax.Array]:
    def inference(parameters: Tree, statistics: Tree, images: jax.Array) -> jax.Array:
        logits, _ = forward(config, parameters, statistics, images, normalise_inference)
        return logits

    return inference


def make_train_step(config: Config) -> Callable[..., tuple[Tree, jax.Array]]:
    """SGD with momentum and L2 regularisation of all parameters."""

    def loss(parameters: Tree, statistics: Tree, images: jax.Array, labels: jax.Array):
        logits, updated = forward(config, parameters, statistics, images, normalise_training)
        return cross_entropy(logits, labels), updated

    def train_step(state: Tree, images: jax.Array, labels: jax.Array, learning_rate: jax.Array):
        parameters = state["parameters"]
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(
            parameters, state["statistics"], images, labels)
        momentum = jax.tree.map(
            lambda m, gradient, p: MOMENTUM * m + (gradient + WEIGHT_DECAY * p),
            state["momentum"], gradients, parameters)
        parameters = jax.tree.map(lambda p, m: p - learning_rate * m, parameters, momentum)
        return {"parameters": parameters, "momentum": momentum, "statistics": statistics}, value

    return train_step


def state_shapes(config: Config) -> Tree:
    parameters = parameter_shapes(config, jnp.float32)
    return {"parameters": parameters, "momentum": retype(parameters, jnp.float32),
            "statistics": statistics_shapes(config)}


def programs() -> list[Program]:
    config = Config()
    images = shape(jnp.bfloat16, BATCH, config.image, config.image, config.channels)
    labels = shape(jnp.int32, BATCH)
    parameters = parameter_shapes(config, jnp.bfloat16)
    count = element_count(parameters)
    return [
        Program("resnet50_inference", "ResNet-50 v1.5, inference", make_inference(config),
                (parameters, statistics_shapes(config), images), donated=(), parameters=count),
        Program("resnet50_train", "ResNet-50 v1.5, training step (SGD with momentum)",
                make_train_step(config),
                (state_shapes(config), images, labels, shape(jnp.float32)),
                donated=(0,), parameters=count),
    ]
