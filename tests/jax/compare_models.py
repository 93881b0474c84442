#!/usr/bin/env python3
"""Generated models (`ridgeline generate`), run by the interpreter at reduced size, against the models written from their
definitions in NumPy, in double precision: one head and one expert at a time, matrices unfused, KV heads repeated.

Usage: compare_models.py RIDGELINE [--only TEXT] [--skip-code N]
Exit status: 0 all agree, 1 something differs, 77 NumPy is not installed and --skip-code was given (else 0).

The configurations are restated here from the publications, so that a wrong row of generate_models.def shows. A result agrees
when its largest difference is at most TOLERANCE of its largest magnitude: f32 has 24 bits, and the longest sums of these
sizes have some thousand terms, of two layers.
"""
import argparse
import math
import pathlib
import re
import sys
import tempfile

from ridgeline_tool import Tool

try:
    import numpy as np
except ImportError:
    np = None

TOLERANCE = 2e-5
BATCH, ENTRIES, POSITION, LAYERS = 2, 7, 5, 2

LLAMA = dict(norm="rms", eps=1e-5, theta=1e4, act="silu", gated=True)
MODELS = {
    "llama2-7b": (8, dict(LLAMA, hidden=4096, heads=32, kv=32, size=128, ffn=11008, vocabulary=32000)),
    "llama2-13b": (8, dict(LLAMA, hidden=5120, heads=40, kv=40, size=128, ffn=13824, vocabulary=32000)),
    "llama2-70b": (8, dict(LLAMA, hidden=8192, heads=64, kv=8, size=128, ffn=28672, vocabulary=32000)),
    "llama3-8b": (4, dict(LLAMA, hidden=4096, heads=32, kv=8, size=128, ffn=14336, vocabulary=128256, theta=5e5)),
    "gemma2-27b": (8, dict(hidden=4608, heads=32, kv=16, size=128, ffn=36864, vocabulary=256128, norm="rms1", eps=1e-6,
                           theta=1e4, act="gelu_tanh", gated=True, tied=True, post=True, embedding_scale=True,
                           scale=144, cap=50, logit_cap=30)),
    "opt-30b": (8, dict(hidden=7168, heads=56, kv=56, size=128, ffn=28672, vocabulary=50272, norm="layer", eps=1e-5,
                        offset=2, act="relu", tied=True, bias=True)),
    # 50,257 is a prime number and 25 heads are few: whole size
    "gpt2-xl": (1, dict(hidden=1600, heads=25, kv=25, size=64, ffn=6400, vocabulary=50257, norm="layer", eps=1e-5,
                        offset=0, act="gelu_tanh", tied=True, bias=True)),
    "mixtral-8x7b": (8, dict(LLAMA, hidden=4096, heads=32, kv=8, size=128, ffn=14336, vocabulary=32000, theta=1e6,
                             experts=8, chosen=2)),
    "dit-xl2": (8, dict(hidden=1152, heads=16, kv=16, size=72, ffn=4608, norm="layer", eps=1e-6, act="gelu_tanh",
                        bias=True)),
    "vit-h": (8, dict(hidden=1280, heads=16, kv=16, size=80, ffn=5120, norm="layer", eps=1e-6, act="gelu_tanh",
                      bias=True)),
}
# (model, step, weights)
CASES = [(name, step, "f32") for name in MODELS for step in ("decode", "prefill")
         if name not in ("dit-xl2", "vit-h")] + [
    ("dit-xl2", "forward", "f32"), ("vit-h", "forward", "f32"), ("llama2-13b", "decode", "int8"),
    ("gemma2-27b", "decode", "int4"), ("gemma2-27b", "prefill", "int8"), ("mixtral-8x7b", "decode", "int8"),
    ("dit-xl2", "forward", "int8")]


# ---- the parts, from their definitions ----

def norm(c, x, weights, name):
    if c["norm"] == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + c["eps"])
    if name is None:
        return x
    weight = weights[name] + (1 if c["norm"] == "rms1" else 0)
    return x * weight + (weights[name + "_bias"] if c["norm"] == "layer" else 0)


def dense(x, weights, name):
    y = x @ weights[name]
    return y + weights[name + "_bias"] if name + "_bias" in weights else y


def activate(c, x):
    if c["act"] == "silu":
        return x / (1 + np.exp(-x))
    if c["act"] == "relu":
        return np.where(x > 0, x, 0)
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cap(x, limit):
    return limit * np.tanh(x / limit) if limit else x


def rotate(c, x, position):
    """x of one token, [heads, size]: complex numbers of the two halves, turned."""
    if "theta" not in c:
        return x
    half = c["size"] // 2
    turn = np.exp(1j * position * c["theta"] ** (-np.arange(half) / half))
    z = (x[:, :half] + 1j * x[:, half:]) * turn
    return np.concatenate([z.real, z.imag], axis=1)


def project(c, h, weights, layer):
    """h of one token: queries [heads, size], keys and values [kv, size]."""
    heads, kv, size = c["heads"], c["kv"], c["size"]
    y = dense(h, weights, f"layers.{layer}.qkv")
    return (y[:heads * size].reshape(heads, size), y[heads * size:(heads + kv) * size].reshape(kv, size),
            y[(heads + kv) * size:].reshape(kv, size))


def attend(c, queries, keys, values):
    """queries [heads, size] of one token over keys and values [kv, entries, size]."""
    out = []
    for head in range(c["heads"]):
        k = head // (c["heads"] // c["kv"])
        scores = keys[k] @ queries[head] / math.sqrt(c.get("scale", c["size"]))
        out.append(softmax(cap(scores, c.get("cap"))) @ values[k])
    return np.concatenate(out)


def ffn(c, h, weights, layer):
    """h of one token."""
    up_name = f"layers.{layer}." + ("gate_up" if c.get("gated") else "up")

    def expert(w):
        y = dense(h, w, up_name)
        if c.get("gated"):
            y = activate(c, y[:c["ffn"]]) * y[c["ffn"]:]
        else:
            y = activate(c, y)
        return dense(y, w, f"layers.{layer}.down")

    if "experts" not in c:
        return expert(weights)
    shares = softmax(h @ weights[f"layers.{layer}.router"])  # over all, renormalised over the best: as published
    best = np.argsort(-shares)[:c["chosen"]]
    return sum(shares[e] / shares[best].sum() * expert(
        {up_name: weights[up_name][e], f"layers.{layer}.down": weights[f"layers.{layer}.down"][e]}) for e in best)


def decoder_token(c, weights, token, position, caches):
    """Logits of one token of one sequence; its keys and values go into caches[layer] = [keys, values], [kv, entries, size]."""
    x = weights["embedding"][token]
    if c.get("embedding_scale"):
        x = x * math.sqrt(c["hidden"])
    if "offset" in c:
        x = x + weights["positions"][position + c["offset"]]
    for layer in range(LAYERS):
        h = norm(c, x, weights, f"layers.{layer}.attention_norm")
        queries, keys, values = project(c, h, weights, layer)
        caches[layer][0][:, position] = rotate(c, keys, position)
        caches[layer][1][:, position] = values
        y = attend(c, rotate(c, queries, position), caches[layer][0][:, :position + 1],
                   caches[layer][1][:, :position + 1])
        y = dense(y, weights, f"layers.{layer}.out")
        x = x + (norm(c, y, weights, f"layers.{layer}.attention_post_norm") if c.get("post") else y)
        y = ffn(c, norm(c, x, weights, f"layers.{layer}.ffn_norm"), weights, layer)
        x = x + (norm(c, y, weights, f"layers.{layer}.ffn_post_norm") if c.get("post") else y)
    x = norm(c, x, weights, "final_norm")
    return cap(weights["embedding"] @ x if c.get("tied") else x @ weights["head"], c.get("logit_cap"))


def encoder_attention(c, h, weights, layer):
    """h [tokens, hidden]: every token sees all."""
    parts = [project(c, row, weights, layer) for row in h]
    keys, values = (np.stack([p[i] for p in parts], axis=1) for i in (1, 2))
    return dense(np.stack([attend(c, p[0], keys, values) for p in parts]), weights, f"layers.{layer}.out")


# ---- the models ----

def run_decode(c, weights, inputs):
    caches = [[inputs[f"cache.{i}.{kind}"].copy() for kind in ("keys", "values")] for i in range(LAYERS)]
    logits = [decoder_token(c, weights, token, int(inputs["position"]), [[k[b], v[b]] for k, v in caches])
              for b, token in enumerate(inputs["tokens"])]
    return [np.stack(logits)] + [part for cache in caches for part in cache]


def run_prefill(c, weights, inputs):
    batch, length = inputs["tokens"].shape
    caches = [[np.zeros((batch, c["kv"], length, c["size"])) for _ in range(2)] for _ in range(LAYERS)]
    logits = []
    for b in range(batch):
        for position, token in enumerate(inputs["tokens"][b]):
            last = decoder_token(c, weights, token, position, [[k[b], v[b]] for k, v in caches])
        logits.append(last)
    return [np.stack(logits)] + [part for cache in caches for part in cache]


def patches_of(image, patch):
    side = image.shape[0] // patch
    return np.stack([image[r * patch:(r + 1) * patch, q * patch:(q + 1) * patch].reshape(-1)
                     for r in range(side) for q in range(side)])


def run_vit(c, weights, inputs):
    logits = []
    for image in inputs["images"]:
        x = dense(patches_of(image, 14), weights, "patches")
        x = np.concatenate([weights["class_token"][None], x]) + weights["positions"]
        for layer in range(LAYERS):
            x = x + encoder_attention(c, norm(c, x, weights, f"layers.{layer}.attention_norm"), weights, layer)
            h = norm(c, x, weights, f"layers.{layer}.ffn_norm")
            x = x + np.stack([ffn(c, row, weights, layer) for row in h])
        logits.append(dense(norm(c, x[0], weights, "final_norm"), weights, "head"))
    return [np.stack(logits)]


def silu(x):
    return x / (1 + np.exp(-x))


def run_dit(c, weights, inputs):
    out = []
    for latent, time, label in zip(inputs["latents"], inputs["times"], inputs["classes"]):
        angles = time * np.exp(-math.log(10000) * np.arange(128) / 128)
        t = dense(np.concatenate([np.cos(angles), np.sin(angles)]), weights, "time_in")
        condition = silu(dense(silu(t), weights, "time_out") + weights["labels"][label])
        x = dense(patches_of(latent, 2), weights, "patches") + weights["positions"]
        for layer in range(LAYERS):
            m = np.split(dense(condition, weights, f"layers.{layer}.modulation"), 6)
            h = norm(c, x, weights, None) * (1 + m[1]) + m[0]
            x = x + m[2] * encoder_attention(c, h, weights, layer)
            h = norm(c, x, weights, None) * (1 + m[4]) + m[3]
            x = x + m[5] * np.stack([ffn(c, row, weights, layer) for row in h])
        shift, scale = np.split(dense(condition, weights, "final_modulation"), 2)
        y = dense(norm(c, x, weights, None) * (1 + scale) + shift, weights, "output")
        image = np.zeros((32, 32, 8))
        for i, patch in enumerate(y):
            image[i // 16 * 2:i // 16 * 2 + 2, i % 16 * 2:i % 16 * 2 + 2] = patch.reshape(2, 2, 8)
        out.append(image)
    return [np.stack(out)]


RUNS = {"decode": run_decode, "prefill": run_prefill, "vit-h": run_vit, "dit-xl2": run_dit}


# ---- inputs ----

# What the first layer sees of images is small, so that the epsilon of its norm counts.
SMALL = ("weights.patches", "weights.patches_bias", "weights.positions", "weights.class_token")
ARGUMENT = re.compile(r'%arg\d+: tensor<([0-9x]*?)x?([a-z]+\d+)> \{jax\.arg_info = "([^"]+)"')


def make_inputs(text, c, random):
    """name: array, for every argument of the program."""
    inputs = {}
    for dims, dtype, name in ARGUMENT.findall(text[:text.index(") -> (")]):
        shape = tuple(int(d) for d in dims.split("x") if d)
        if name == "position":
            value = np.array(POSITION, np.int32)
        elif dtype == "i32":
            value = random.integers(0, c.get("vocabulary", 1001), shape).astype(np.int32)
        elif dtype in ("i8", "i4"):
            value = random.integers(-127 if dtype == "i8" else -8, 128 if dtype == "i8" else 8, shape).astype(np.int8)
        elif name == "times":
            value = random.uniform(0, 1000, shape).astype(np.float32)
        elif name.startswith("scales."):
            matrix = inputs["weights." + name[len("scales."):]]
            deviation = np.std(matrix, dtype=np.float64) * math.sqrt(c["hidden"])
            value = (random.uniform(0.5, 1.5, shape) / deviation).astype(np.float32)
        elif len(shape) >= 2 and name.startswith("weights.") and name not in ("weights.embedding", "weights.positions"):
            value = random.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[-2]))
        elif name.endswith("_norm"):
            value = 1 + random.standard_normal(shape, np.float32) / 10
        elif name == "weights.embedding":
            value = random.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[-1]))
        else:
            value = random.standard_normal(shape, np.float32)
        if name in SMALL and dtype == "f32":
            value = value / np.float32(20)
        inputs[name] = value
    return inputs


def weights_of(inputs):
    """Weights in double precision; quantised ones times their scale per output column (of a tied table: per row)."""
    weights = {}
    for name, value in inputs.items():
        if name.startswith("weights."):
            name, value = name[len("weights."):], value.astype(np.float64)
            if "scales." + name in inputs:
                scale = inputs["scales." + name].astype(np.float64)
                value = value * (scale[:, None] if name == "embedding" else np.expand_dims(scale, -2))
            weights[name] = value
    return weights


def reduced(divisor, config):
    divided = ("hidden", "heads", "kv", "ffn", "vocabulary")
    return {key: value // divisor if key in divided else value for key, value in config.items()}


def compare(tool, name, step, weights_type):
    divisor, config = MODELS[name]
    c = reduced(divisor, config)
    batch = 1 if step == "forward" else BATCH
    options = [name, f"--{step}", "--layers", str(LAYERS), "--divide", str(divisor), "--activations", "f32", "--weights",
               weights_type, "--batch", str(batch)]
    options += {"decode": ["--kv", str(ENTRIES)], "prefill": ["--prompt", str(ENTRIES)], "forward": []}[step]
    program, archive, results = (str(tool.scratch / f) for f in ("model.mlir", "inputs.npz", "results.npz"))
    status, _, err = tool.run("generate", *options, "-o", program)
    if status != 0:
        return f"not generated: {err.strip()}"
    inputs = make_inputs(pathlib.Path(program).read_text(), c, np.random.default_rng(7))
    np.savez(archive, **inputs)
    status, _, err = tool.run("run", program, archive, "-o", results)
    if status != 0:
        return f"not run: {err.strip()[:400]}"
    expected = RUNS[name if step == "forward" else step](
        c, weights_of(inputs), {k: v if v.dtype == np.int32 else v.astype(np.float64) for k, v in inputs.items()
                                if not k.startswith(("weights.", "scales."))})
    found = np.load(results)
    if len(found.files) != len(expected):
        return f"{len(found.files)} results, expected {len(expected)}"
    for i, value in enumerate(expected):
        mine = found[f"arr_{i}"]
        if mine.shape != value.shape:
            return f"result {i} is {mine.shape}, expected {value.shape}"
        difference = np.abs(mine - value).max() / np.abs(value).max()
        if not difference <= TOLERANCE:
            return f"result {i} differs by {difference:.2e} of its largest value"
    logits = np.abs(found["arr_0"] - expected[0]).max() / np.abs(expected[0]).max()
    print(f"{name:14}{step:9}{weights_type:6}{len(expected):3} results agree, the first within {logits:.1e}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridgeline")
    parser.add_argument("--only", default="", help="cases whose 'model step weights' contains this")
    parser.add_argument("--skip-code", type=int, default=0)
    options = parser.parse_args()
    if np is None:
        print("skipped: NumPy is not installed")
        return options.skip_code
    failures = 0
    cases = [case for case in CASES if options.only in " ".join(case)]
    with tempfile.TemporaryDirectory() as scratch:
        tool = Tool(options.ridgeline, scratch)
        for case in cases:
            problem = compare(tool, *case)
            if problem:
                print(f"FAILED {' '.join(case)}: {problem}")
                failures += 1
    print(f"models: {len(cases) - failures} of {len(cases)} steps agree with their definitions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
