"""Checks the example models numerically at reduced size, and the full programs' text.

Runs on the CPU in about a minute. The reduced models compute in f32, so that
tolerances can be tight, except where a check is about bf16.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

import llama3
import resnet50
from common import Tree, cast, cross_entropy, lower
from text_stats import count

RESNET50_PARAMETERS = 25_557_032
RESNET50_MULTIPLY_ADDS = 4_089_184_256  # Of one 224x224 image, padding included.
LLAMA3_8B_PARAMETERS = 8_030_261_248

SMALL_RESNET = resnet50.Config(image=32, classes=10, width=8, blocks=(2, 1, 1, 1),
                               compute=jnp.float32)
SMALL_LLAMA = llama3.Config(vocabulary=97, width=32, layers=3, heads=4, kv_heads=2,
                            head_size=8, hidden=48, compute=jnp.float32)


def random_weights(rng: np.random.Generator, shapes: Tree) -> Tree:
    """Matrices and kernels scaled by their fan-in; vectors near one."""
    def draw(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        values = rng.normal(size=leaf.shape)
        if leaf.ndim == 1:
            values = 1 + 0.1 * values
        else:
            values /= np.sqrt(np.prod(leaf.shape[:-1]))
        return jnp.asarray(values, leaf.dtype)

    return jax.tree.map(draw, shapes)


def zeros(shapes: Tree) -> Tree:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def assert_close(actual: Tree, expected: Tree, tolerance: float) -> None:
    """Compares leaf by leaf, relative to each leaf's largest magnitude."""
    def compare(a: Any, e: Any) -> None:
        a, e = np.asarray(a, np.float64), np.asarray(e, np.float64)
        assert a.shape == e.shape, (a.shape, e.shape)
        error = np.abs(a - e).max() / max(np.abs(e).max(), 1e-30)
        assert error <= tolerance, f"relative error {error:.2e} exceeds {tolerance:.0e}"

    jax.tree.map(compare, actual, expected)


def assert_gradient(loss: Callable[[Tree], jax.Array], parameters: Tree) -> None:
    """Compares the gradient with a central difference along the gradient itself.

    That direction would not show a parameter cut off from the loss, hence the first test.
    """
    loss = jax.jit(loss)
    gradient = jax.grad(loss)(parameters)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert jnp.any(leaf != 0), f"no gradient for {jax.tree_util.keystr(path)}"
    norm = np.sqrt(sum(float(jnp.vdot(g, g)) for g in jax.tree.leaves(gradient)))
    reach = 2e-3 / norm

    def shifted(amount: float) -> float:
        return float(loss(jax.tree.map(lambda p, g: p + amount * g, parameters, gradient)))

    slope = (shifted(reach) - shifted(-reach)) / (2 * reach)
    assert_close(slope, norm ** 2, tolerance=1e-2)


# ResNet-50.


def resnet_batch(rng: np.random.Generator, config: resnet50.Config, size: int):
    images = rng.normal(size=(size, config.image, config.image, config.channels))
    return jnp.asarray(images, config.compute), jnp.asarray(rng.integers(config.classes, size=size))


def check_resnet_inference_agrees_with_training() -> None:
    """With the batch's own moments as statistics, both normalisations are the same."""
    rng = np.random.default_rng(1)
    parameters = random_weights(rng, resnet50.parameter_shapes(SMALL_RESNET, jnp.float32))
    statistics = zeros(resnet50.statistics_shapes(SMALL_RESNET))
    images, _ = resnet_batch(rng, SMALL_RESNET, 4)

    trained, updated = resnet50.forward(SMALL_RESNET, parameters, statistics, images,
                                        resnet50.normalise_training)
    moments = jax.tree.map(lambda u: u / (1 - resnet50.STATISTICS_DECAY), updated)
    inferred = resnet50.make_inference(SMALL_RESNET)(parameters, moments, images)
    assert_close(inferred, trained, tolerance=1e-4)


def check_resnet_gradient() -> None:
    rng = np.random.default_rng(2)
    parameters = random_weights(rng, resnet50.parameter_shapes(SMALL_RESNET, jnp.float32))
    statistics = zeros(resnet50.statistics_shapes(SMALL_RESNET))
    images, labels = resnet_batch(rng, SMALL_RESNET, 8)

    def loss(parameters: Tree) -> jax.Array:
        logits, _ = resnet50.forward(SMALL_RESNET, parameters, statistics, images,
                                     resnet50.normalise_training)
        return cross_entropy(logits, labels)

    assert_gradient(loss, parameters)


def check_resnet_training_learns() -> None:
    """In bf16, as exported."""
    rng = np.random.default_rng(3)
    config = dataclasses.replace(SMALL_RESNET, compute=jnp.bfloat16)
    parameters = random_weights(rng, resnet50.parameter_shapes(config, jnp.float32))
    state = zeros(resnet50.state_shapes(config)) | {"parameters": parameters}
    images, labels = resnet_batch(rng, config, 8)

    step = jax.jit(resnet50.make_train_step(config))
    losses = []
    for _ in range(12):
        state, value = step(state, images, labels, jnp.float32(0.02))
        losses.append(float(value))
    assert losses[-1] < 0.5 * losses[0], losses


# Llama 3.


def llama_reference(config: llama3.Config, parameters: Tree, tokens: np.ndarray) -> np.ndarray:
    """One sequence's logits in f64 NumPy, written head by head and pair by pair."""
    parameters = jax.tree.map(lambda p: np.asarray(p, np.float64), parameters)
    length, size = len(tokens), config.head_size

    def norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + config.norm_epsilon) * weight

    def rotated(x: np.ndarray) -> np.ndarray:
        pairs = x[:, :size // 2] + 1j * x[:, size // 2:]
        frequencies = config.rope_theta ** (-2 * np.arange(size // 2) / size)
        pairs = pairs * np.exp(1j * np.arange(length)[:, None] * frequencies)
        return np.concatenate([pairs.real, pairs.imag], axis=-1)

    x = parameters["embedding"][tokens]
    for layer in parameters["layers"]:
        h = norm(x, layer["attention_norm"])
        context = []
        for head in range(config.heads):
            shared = head * config.kv_heads // config.heads
            own = slice(head * size, (head + 1) * size)
            common = slice(shared * size, (shared + 1) * size)
            scores = rotated(h @ layer["query"][:, own]) @ rotated(h @ layer["key"][:, common]).T
            weights = np.tril(np.exp(scores / np.sqrt(size)))
            weights /= weights.sum(-1, keepdims=True)
            context.append(weights @ (h @ layer["value"][:, common]))
        x = x + np.concatenate(context, axis=-1) @ layer["attention_out"]
        h = norm(x, layer["mlp_norm"])
        gate = h @ layer["gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (h @ layer["up"])) @ layer["down"]
    return norm(x, parameters["final_norm"]) @ parameters["output"]


def llama_inputs(seed: int, batch: int = 2, length: int = 11) -> tuple[Tree, jax.Array, jax.Array]:
    rng = np.random.default_rng(seed)
    parameters = random_weights(rng, llama3.parameter_shapes(SMALL_LLAMA, jnp.float32))
    tokens = jnp.asarray(rng.integers(SMALL_LLAMA.vocabulary, size=(batch, length + 1)))
    return parameters, tokens[:, :-1], tokens[:, 1:]


def check_llama_forward_against_reference() -> None:
    parameters, tokens, _ = llama_inputs(4)
    logits = llama3.forward(SMALL_LLAMA, parameters, tokens, llama3.unrolled)
    expected = np.stack([llama_reference(SMALL_LLAMA, parameters, np.asarray(row))
                         for row in tokens])
    assert_close(logits, expected, tolerance=1e-5)


def check_llama_gradient() -> None:
    parameters, tokens, targets = llama_inputs(5)

    def loss(parameters: Tree) -> jax.Array:
        logits = llama3.forward(SMALL_LLAMA, parameters, tokens, llama3.unrolled)
        return cross_entropy(logits, targets)

    assert_gradient(loss, parameters)


def check_llama_scan_equals_unrolled() -> None:
    parameters, tokens, targets = llama_inputs(6)
    rate = jnp.float32(0.01)

    def train(run: Callable[..., jax.Array], parameters: Tree) -> tuple[Tree, list[float]]:
        state = zeros(llama3.state_shapes(parameters)) | {"parameters": parameters}
        step = jax.jit(llama3.make_train_step(SMALL_LLAMA, run))
        losses = []
        for _ in range(3):
            state, value = step(state, tokens, targets, rate)
            losses.append(float(value))
        return state, losses

    listed, listed_losses = train(llama3.unrolled, parameters)
    stacked, stacked_losses = train(llama3.scanned, llama3.stack_layers(parameters))
    assert listed_losses[2] < listed_losses[0], listed_losses
    assert_close(stacked_losses, listed_losses, tolerance=1e-5)
    for name in ("parameters", "mean", "square"):
        assert_close(stacked[name], llama3.stack_layers(listed[name]), tolerance=1e-3)


def check_adamw() -> None:
    """Against the textbook recurrence in f64."""
    rng = np.random.default_rng(7)
    p = rng.normal(size=50)
    gradients, rate = rng.normal(size=(4, 50)), 0.01
    state = zeros(llama3.state_shapes({"w": jnp.asarray(p, jnp.float32)}))
    state["parameters"] = {"w": jnp.asarray(p, jnp.float32)}

    mean = square = 0
    for step, g in enumerate(gradients, start=1):
        mean = llama3.BETA1 * mean + (1 - llama3.BETA1) * g
        square = llama3.BETA2 * square + (1 - llama3.BETA2) * g ** 2
        direction = mean / (1 - llama3.BETA1 ** step)
        direction /= np.sqrt(square / (1 - llama3.BETA2 ** step)) + llama3.ADAM_EPSILON
        p = p - rate * direction - rate * llama3.WEIGHT_DECAY * p
        state = llama3.adamw(state, {"w": jnp.asarray(g, jnp.float32)}, jnp.float32(rate))
    assert_close(state["parameters"]["w"], p, tolerance=1e-5)


def check_llama_decode_equals_forward() -> None:
    """Token by token, from caches full of values that must not be seen."""
    parameters, tokens, _ = llama_inputs(8)
    batch, length = tokens.shape
    expected = llama3.forward(SMALL_LLAMA, parameters, tokens, llama3.unrolled)

    caches = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 5, leaf.dtype),
                          llama3.cache_shapes(SMALL_LLAMA, batch, length + 5))
    step = jax.jit(llama3.make_decode_step(SMALL_LLAMA), donate_argnums=1)
    for position in range(length):
        logits, caches = step(parameters, caches, tokens[:, position], jnp.int32(position))
        assert_close(logits, expected[:, position], tolerance=1e-5)


def check_llama_bf16_is_near_f32() -> None:
    parameters, tokens, _ = llama_inputs(9)
    config = dataclasses.replace(SMALL_LLAMA, compute=jnp.bfloat16)
    rounded = cast(parameters, jnp.bfloat16)
    assert_close(llama3.forward(config, rounded, tokens, llama3.unrolled),
                 llama3.forward(SMALL_LLAMA, parameters, tokens, llama3.unrolled), tolerance=0.05)


# The full programs.


def check_full_programs() -> None:
    programs = {p.name: p for p in resnet50.programs() + llama3.programs()}
    texts = {name: lower(program) for name, program in programs.items()}
    statistics = {name: count(text) for name, text in texts.items()}

    for name, program in programs.items():
        known = RESNET50_PARAMETERS if name.startswith("resnet50") else LLAMA3_8B_PARAMETERS
        assert program.parameters == known, (name, program.parameters)
        donated = sum(len(jax.tree.leaves(program.arguments[i])) for i in program.donated)
        assert texts[name].count("tf.aliasing_output") == donated, name

    inference = statistics["resnet50_inference"]
    assert inference.convolution + inference.dot == 2 * resnet50.BATCH * RESNET50_MULTIPLY_ADDS

    unrolled, scan = (statistics[f"llama3_8b_train_{form}"] for form in ("unrolled", "scan"))
    assert unrolled.dot == scan.dot, (unrolled.dot, scan.dot)
    assert abs(unrolled.total / scan.total - 1) < 1e-3, (unrolled.total, scan.total)

    config, tokens = llama3.Config(), llama3.TRAIN_BATCH * llama3.TRAIN_LENGTH
    matrices = programs["llama3_8b_decode"].arguments[0]
    weights = sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(
        [matrices["layers"], matrices["output"]]) if leaf.ndim == 2)
    attention = 2 * config.layers * config.heads * config.head_size * llama3.TRAIN_LENGTH
    assert unrolled.dot == 3 * 2 * tokens * (int(weights) + attention)


def main() -> None:
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
            print(f"ok  {name}", flush=True)


if __name__ == "__main__":
    main()
