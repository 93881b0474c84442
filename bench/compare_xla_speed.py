#!/usr/bin/env python3
"""The interpreter beside XLA's CPU back end: the same StableHLO programs, the same random arguments, one after the other.

Usage: compare_xla_speed.py BENCH_INTERP [--runs N] [--only NAME] [--plain] [--json] [--keep DIR]
Without JAX it prints "skipped: no JAX".

Programs: ResNet-50 (batch 1; f32, and with bf16 convolutions as examples/ has it) and GPT-2 with 124M parameters (a step over
128 tokens, and one token with a key-value cache of 1,024 positions). Each is lowered once; XLA compiles that module and runs
it, bench_interp reads its text. Times are medians without reading and compiling; where other work disturbs the machine the
processor time (of all threads) says more than the wall time. The error is the greatest
difference of a result divided by the greatest magnitude of that result.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples" / "export"))

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    jax = None

SEED = 2024
GPT2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "positions": 1024}  # gpt2's public config.json


# ---- programs -------------------------------------------------------------------------------------------------------------


def resnet50(compute):
    import resnet50 as model

    config = model.Config(compute=compute)
    images = jax.ShapeDtypeStruct((1, config.image, config.image, config.channels), compute)
    parameters = model.parameter_shapes(config, compute)
    return model.make_inference(config), (parameters, model.statistics_shapes(config), images)


def gpt2_parameters():
    def of(*dims):
        return jax.ShapeDtypeStruct(dims, jnp.float32)

    d = GPT2["width"]
    norm = {"gain": of(d), "bias": of(d)}
    layer = {
        "norm1": norm, "norm2": norm,
        "qkv": {"kernel": of(d, 3 * d), "bias": of(3 * d)}, "out": {"kernel": of(d, d), "bias": of(d)},
        "up": {"kernel": of(d, 4 * d), "bias": of(4 * d)}, "down": {"kernel": of(4 * d, d), "bias": of(d)},
    }
    return {"tokens": of(GPT2["vocabulary"], d), "positions": of(GPT2["positions"], d), "norm": norm,
            "layers": [layer] * GPT2["layers"]}


def normalise(x, p):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["gain"] + p["bias"]


def linear(x, p):
    return x @ p["kernel"] + p["bias"]


def heads(x):
    return x.reshape(x.shape[0], GPT2["heads"], -1)


def feed_forward(x, p):
    return linear(jax.nn.gelu(linear(x, p["up"]), approximate=True), p["down"])


def attend(q, k, v, mask):
    scores = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(np.float32(q.shape[-1]))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e10), axis=-1)
    return jnp.einsum("hqk,khd->qhd", weights, v).reshape(q.shape[0], -1)


def gpt2_prefill(parameters, tokens):
    count = tokens.shape[0]
    x = parameters["tokens"][tokens] + parameters["positions"][:count]
    mask = jnp.tril(jnp.ones((count, count), bool))
    for p in parameters["layers"]:
        q, k, v = (heads(part) for part in jnp.split(linear(normalise(x, p["norm1"]), p["qkv"]), 3, axis=-1))
        x = x + linear(attend(q, k, v, mask), p["out"])
        x = x + feed_forward(normalise(x, p["norm2"]), p)
    return normalise(x, parameters["norm"]) @ parameters["tokens"].T


def gpt2_decode(parameters, cache, token, position):
    x = (parameters["tokens"][token] + parameters["positions"][position])[None]
    mask = jnp.arange(GPT2["positions"]) <= position
    updated = []
    for p, kept in zip(parameters["layers"], cache, strict=True):
        q, k, v = (heads(part) for part in jnp.split(linear(normalise(x, p["norm1"]), p["qkv"]), 3, axis=-1))
        k, v = (jax.lax.dynamic_update_slice(old, new, (position, 0, 0)) for old, new in zip(kept, (k, v)))
        updated.append((k, v))
        x = x + linear(attend(q, k, v, mask), p["out"])
        x = x + feed_forward(normalise(x, p["norm2"]), p)
    return normalise(x, parameters["norm"])[0] @ parameters["tokens"].T, updated


def programs():
    row = jax.ShapeDtypeStruct((GPT2["positions"], GPT2["heads"], GPT2["width"] // GPT2["heads"]), jnp.float32)
    number = jax.ShapeDtypeStruct((), jnp.int32)
    return {
        "resnet50_f32": lambda: resnet50(jnp.float32),
        "resnet50_bf16": lambda: resnet50(jnp.bfloat16),
        "gpt2_prefill_128": lambda: (gpt2_prefill, (gpt2_parameters(), jax.ShapeDtypeStruct((128,), jnp.int32))),
        "gpt2_decode_1024": lambda: (gpt2_decode, (gpt2_parameters(), [(row, row)] * GPT2["layers"], number, number)),
    }


def random_arguments(shapes):
    """Small centred weights; what must be positive or near one (variances, scales) lies around one."""
    random = np.random.default_rng(SEED)

    def make(path, leaf):
        name = str(path[-1])
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return np.asarray(random.integers(0, 1000, leaf.shape), leaf.dtype)
        values = random.standard_normal(leaf.shape, np.float32)
        if "kernel" in name:
            values *= np.float32(1 / np.sqrt(np.prod(leaf.shape[:-1])))
        elif any(word in name for word in ("scale", "variance", "gain")):
            values = 1 + np.float32(0.1) * np.abs(values)
        elif len(path) > 1 and len(leaf.shape) < 3:
            values *= np.float32(0.02)
        return np.asarray(values, leaf.dtype)

    return jax.tree_util.tree_map_with_path(make, shapes)


# ---- both sides -----------------------------------------------------------------------------------------------------------


def run_xla(lowered, arguments, runs):
    compiled = lowered.compile()
    arguments = jax.tree.map(jnp.asarray, arguments)
    results = jax.block_until_ready(compiled(*arguments))
    wall, processor = [], []
    for _ in range(runs):
        start, processor_start = time.perf_counter(), time.process_time()
        jax.block_until_ready(compiled(*arguments))
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - processor_start)
    times = {"s": statistics.median(wall), "processor_s": statistics.median(processor)}
    return times, [np.asarray(leaf) for leaf in jax.tree.leaves(results)]


def run_ours(bench, folder, name, runs, plain):
    output = folder / f"{name}.results"
    command = [bench, str(folder / f"{name}.mlir"), "--arguments", str(folder / f"{name}.arguments"),
               "--results", str(output), "--runs", str(runs)] + (["--plain"] if plain else [])
    report = subprocess.run(command, check=True, capture_output=True, text=True)
    times = json.loads(report.stdout)
    return {"s": times["median_s"], "processor_s": times["processor_s"]}, output.read_bytes()


def greatest_error(expected, data):
    worst, at = 0.0, 0
    for e in expected:
        ours = np.frombuffer(data, e.dtype, e.size, at).reshape(e.shape).astype(np.float64)
        at += e.nbytes
        e = e.astype(np.float64)
        if not np.isfinite(ours).all():
            return float("inf")
        worst = max(worst, np.abs(ours - e).max() / max(np.abs(e).max(), 1e-30))
    assert at == len(data), "the results have another size"
    return float(worst)


def compare(bench, name, make, runs, plain, folder):
    function, shapes = make()
    lowered = jax.jit(function, keep_unused=True).lower(*shapes)
    arguments = random_arguments(shapes)
    (folder / f"{name}.mlir").write_text(lowered.as_text())
    with open(folder / f"{name}.arguments", "wb") as file:
        for leaf in jax.tree.leaves(arguments):
            file.write(np.ascontiguousarray(leaf).tobytes())
    xla, expected = run_xla(lowered, arguments, runs)
    ours, data = run_ours(bench, folder, name, runs, False)
    row = {"program": name, "xla": xla, "ours": ours, "ratio": {key: ours[key] / xla[key] for key in xla},
           "error": greatest_error(expected, data)}
    if plain:
        row["plain"], data = run_ours(bench, folder, name, 1, True)
        row["plain_error"] = greatest_error(expected, data)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only")
    parser.add_argument("--plain", action="store_true", help="also the definitions without fast kernels (minutes)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", help="folder that keeps programs, arguments and results")
    options = parser.parse_args()
    if jax is None:
        print("skipped: no JAX")
        return
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in programs().items():
            if not options.only or options.only == name:
                rows.append(compare(options.bench, name, make, options.runs, options.plain, folder))
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'':20}{'wall time':^24}{'processor time':^24}")
    print(f"{'program':20}" + f"{'XLA ms':>8}{'ours ms':>9}{'ratio':>7}" * 2 + f"{'error':>10}"
          + ("  plain s" if options.plain else ""))
    for r in rows:
        line = f"{r['program']:20}"
        for key in ("s", "processor_s"):
            line += f"{r['xla'][key] * 1e3:8.1f}{r['ours'][key] * 1e3:9.1f}{r['ratio'][key]:7.2f}"
        print(line + f"{r['error']:10.1e}" + (f"{r['plain']['s']:9.1f}" if options.plain else ""))


if __name__ == "__main__":
    main()
