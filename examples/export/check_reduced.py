"""Checks the example models numerically at reduced size, and the full programs' text.

Runs on the CPU in about a minute. The reduced models compute in f32, so that
tolerances can be tight, except where a check is about bf16.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

import dit
import gpt2
import llama3
import mixtral
import parallel
import resnet50
import vit
from blocks import normalise
from common import Tree, cast, cross_entropy, lower
from export_all import all_programs
from text_stats import count

RESNET50_MULTIPLY_ADDS = 4_089_184_256  # Of one 224x224 image, padding included.
PARAMETERS = {  # As their authors' releases have them; DiT's with its table of positions.
    "resnet50": 25_557_032,
    "vit": 86_567_656,
    "gpt2": 124_439_808,
    "llama3": 8_030_261_248,
    "mixtral": 46_702_792_704,
    "dit": 675_129_632,
}

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


def check_llama_prefill_equals_forward() -> None:
    """The last position's logits, and caches that decoding goes on from."""
    parameters, tokens, _ = llama_inputs(10)
    batch, length = tokens.shape
    expected = llama3.forward(SMALL_LLAMA, parameters, tokens, llama3.unrolled)
    logits, caches = llama3.make_prefill(SMALL_LLAMA)(parameters, tokens[:, :-1])
    assert_close(logits, expected[:, -2], tolerance=1e-5)
    caches = jax.tree.map(lambda c: jnp.pad(c, ((0, 0), (0, 0), (0, 1), (0, 0))), caches)
    logits, _ = llama3.make_decode_step(SMALL_LLAMA)(parameters, caches, tokens[:, -1],
                                                     jnp.int32(length - 1))
    assert_close(logits, expected[:, -1], tolerance=1e-5)


def check_parallel_steps_equal_one_device() -> None:
    """On eight devices, split either way, the step is the one of the unsplit program."""
    config = dataclasses.replace(SMALL_LLAMA, vocabulary=96, heads=8, kv_heads=8, head_size=4)
    rng = np.random.default_rng(11)
    parameters = llama3.stack_layers(
        random_weights(rng, llama3.parameter_shapes(config, jnp.float32)))
    state = zeros(llama3.state_shapes(parameters)) | {"parameters": parameters}
    tokens = jnp.asarray(rng.integers(config.vocabulary, size=(8, 6)), jnp.int32)
    arguments = (state, tokens, jnp.roll(tokens, 1, axis=1), jnp.float32(0.01))
    expected = jax.jit(llama3.make_train_step(config, llama3.scanned))(*arguments)
    for kind in parallel.BATCHES:
        step, options = parallel.step_and_shardings(config, kind, arguments)
        state, value = jax.jit(step, **options)(*arguments)
        assert_close(value, expected[1], tolerance=1e-5)
        assert_close(state["parameters"], expected[0]["parameters"], tolerance=1e-3)


# GPT-2, ViT, DiT, Mixtral.


def block_reference(x: np.ndarray, layer: Tree, heads: int, epsilon: float, causal: bool,
                    gelu: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A layer of GPT-2 or ViT on [token, width] in f64, head by head."""
    def norm(x: np.ndarray, p: Tree) -> np.ndarray:
        y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
        return y * p["scale"] + p["bias"]

    def dense(x: np.ndarray, p: Tree) -> np.ndarray:
        return x @ p["kernel"] + p["bias"]

    width = x.shape[1]
    size = width // heads
    projected = dense(norm(x, layer["attention_norm"]), layer["query_key_value"])
    context = []
    for head in range(heads):
        q, k, v = (projected[:, part * width + head * size:][:, :size] for part in range(3))
        weights = np.exp(q @ k.T / np.sqrt(size))
        weights = np.tril(weights) if causal else weights
        context.append(weights / weights.sum(-1, keepdims=True) @ v)
    x = x + dense(np.concatenate(context, axis=-1), layer["attention_out"])
    return x + dense(gelu(dense(norm(x, layer["mlp_norm"]), layer["up"])), layer["down"])


def check_gpt2_against_reference_and_decode() -> None:
    config = gpt2.Config(vocabulary=31, context=12, width=16, layers=3, heads=4)
    rng = np.random.default_rng(12)
    parameters = random_weights(rng, gpt2.parameter_shapes(config, jnp.float32))
    tokens = jnp.asarray(rng.integers(config.vocabulary, size=(2, 9)), jnp.int32)
    logits, _ = gpt2.make_prefill(config)(parameters, tokens)

    wide = jax.tree.map(lambda p: np.asarray(p, np.float64), parameters)
    def tanh_gelu(x: np.ndarray) -> np.ndarray:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
    for row, expected in zip(np.asarray(tokens), np.asarray(logits)):
        x = wide["embedding"][row] + wide["positions"][:len(row)]
        for layer in wide["layers"]:
            x = block_reference(x, layer, config.heads, config.norm_epsilon, True, tanh_gelu)
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config.norm_epsilon)
        x = x * wide["final_norm"]["scale"] + wide["final_norm"]["bias"]
        assert_close(expected, x @ wide["embedding"].T, tolerance=1e-5)

    caches = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 5, leaf.dtype), gpt2.cache_shapes(config, 2))
    step = jax.jit(gpt2.make_decode_step(config))
    for position in range(tokens.shape[1]):
        one, caches = step(parameters, caches, tokens[:, position], jnp.int32(position))
        assert_close(one, logits[:, position], tolerance=1e-5)


def check_vit_against_reference() -> None:
    config = vit.Config(image=12, patch=4, width=16, layers=2, heads=4, hidden=24, classes=5,
                        compute=jnp.float32)
    rng = np.random.default_rng(13)
    parameters = random_weights(rng, vit.parameter_shapes(config, jnp.float32))
    images = jnp.asarray(rng.normal(size=(2, 12, 12, 3)), jnp.float32)
    logits = vit.make_inference(config)(parameters, images)

    wide = jax.tree.map(lambda p: np.asarray(p, np.float64), parameters)
    def gelu(x: np.ndarray) -> np.ndarray:
        return x * np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))(x)
    for image, expected in zip(np.asarray(images, np.float64), np.asarray(logits)):
        patches = [image[i:i + 4, j:j + 4].reshape(-1) for i in (0, 4, 8) for j in (0, 4, 8)]
        kernel = wide["patches"]["kernel"].reshape(-1, config.width)
        x = np.concatenate([wide["class_token"][None], np.array(patches) @ kernel + wide["patches"]["bias"]])
        x = x + wide["positions"]
        for layer in wide["layers"]:
            x = block_reference(x, layer, config.heads, config.norm_epsilon, False, gelu)
        x = (x[0] - x[0].mean()) / np.sqrt(x[0].var() + config.norm_epsilon)
        x = x * wide["final_norm"]["scale"] + wide["final_norm"]["bias"]
        assert_close(expected, x @ wide["classifier"]["kernel"] + wide["classifier"]["bias"], tolerance=1e-5)


def check_dit_step() -> None:
    """Patches come back where they were; without modulation a layer is the identity, as at the start of training; a
    step to the same level is the identity; guidance 1 is the conditional prediction alone."""
    config = dit.Config(latent=4, width=8, layers=2, heads=2, classes=7, frequencies=6, compute=jnp.float32)
    rng = np.random.default_rng(14)
    parameters = random_weights(rng, dit.parameter_shapes(config, jnp.float32))
    latents = jnp.asarray(rng.normal(size=(3, 4, 4, 4)), jnp.float32)
    assert_close(dit.unpatchify(config, dit.patchify(config, latents)), latents, tolerance=0)
    classes, time = jnp.array([1, 5, 2], jnp.int32), jnp.int32(400)
    step = jax.jit(dit.make_step(config))

    def run(parameters: Tree, guidance: float, level: float, next_level: float) -> jax.Array:
        return step(parameters, latents, time, classes, *map(jnp.float32, (guidance, level, next_level)))

    assert_close(run(parameters, 4.0, 0.3, 0.3), latents, tolerance=1e-5)
    noise = dit.denoise(config, parameters, latents, jnp.full(3, 400), classes)[..., :4]
    image = (latents - np.sqrt(0.7) * noise) / np.sqrt(0.3)
    assert_close(run(parameters, 1.0, 0.3, 0.5), np.sqrt(0.5) * image + np.sqrt(0.5) * noise, tolerance=1e-5)

    still = parameters | {"layers": [layer | {"modulation": zeros(layer["modulation"])}
                                     for layer in parameters["layers"]]}
    x = dit.dense(dit.patchify(config, latents), still["patches"]) + still["positions"]
    label = still["classes"][classes]
    condition = jax.nn.silu(dit.dense(jax.nn.silu(dit.dense(
        dit.time_features(config, jnp.full(3, 400)), still["time_in"])), still["time_out"]) + label)
    shift, scale = jnp.split(dit.dense(condition, still["final_modulation"]), 2, axis=-1)
    out = dit.dense(normalise(x, config.norm_epsilon) * (1 + scale[:, None]) + shift[:, None], still["output"])
    assert_close(dit.denoise(config, still, latents, jnp.full(3, 400), classes), dit.unpatchify(config, out),
                 tolerance=1e-5)


def check_mixture_against_dense() -> None:
    """Every expert on every token, and the chosen ones added up."""
    config = mixtral.Config(vocabulary=11, width=16, layers=1, heads=4, kv_heads=2, head_size=4, hidden=12,
                            compute=jnp.float32)
    rng = np.random.default_rng(15)
    parameters = random_weights(rng, mixtral.parameter_shapes(config))
    layer = jax.tree.map(lambda leaf: leaf[0], parameters["layers"])
    x = jnp.asarray(rng.normal(size=(13, config.width)), jnp.float32)
    wide = jax.tree.map(lambda p: np.asarray(p, np.float64), layer)
    expected = []
    for token in np.asarray(x, np.float64):
        scores = token @ wide["router"]
        best = np.argsort(-scores)[:config.chosen]
        weights = np.exp(scores[best]) / np.exp(scores[best]).sum()
        total = 0
        for expert, weight in zip(best, weights):
            gate = token @ wide["gate"][expert]
            hidden = gate / (1 + np.exp(-gate)) * (token @ wide["up"][expert])
            total = total + weight * (hidden @ wide["down"][expert])
        expected.append(total)
    assert_close(mixtral.mixture(config, x, layer), np.array(expected), tolerance=1e-5)


# The full programs.


def check_full_programs() -> None:
    programs = all_programs()
    texts = {name: lower(program) for name, program in programs.items()}
    # text_stats.py does not know ragged products; tests/unit/test_lower_examples.c has closed forms for all of these.
    statistics = {name: count(text) for name, text in texts.items() if name.startswith(("resnet50", "llama3"))}

    for name, program in programs.items():
        assert program.parameters == PARAMETERS[name.split("_")[0]], (name, program.parameters)
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
