"""The five models of onnx_models.py: `ridgeline run` gives what onnxruntime gives, `inspect` the FLOPs of the closed form, and
`predict` a time. Exit status 77 (skipped) without onnx and onnxruntime.

usage: compare_models.py RIDGELINE [MODEL...]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from onnx_models import MODELS

# f32 sums of up to 1,000 terms in another order; relative to the largest element
TOLERANCE = 2e-5


def call(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(a) for a in arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compare(tool, name, folder):
    model, data, binds, flops = MODELS[name]()
    onnx.checker.check_model(model)
    path = folder / f"{name}.onnx"
    # weights of one model lie in a file of their own
    external = name == "gpt2"
    onnx.save(model, path, save_as_external_data=external, location=f"{name}.data", size_threshold=64)
    expected = onnxruntime.InferenceSession(str(path)).run(None, data)
    options = [word for bind in binds for word in ("--bind", bind)]
    files = []
    for key, value in data.items():
        np.save(folder / f"{key}.npy", value)
        files.append(folder / f"{key}.npy")
    call(tool, "run", path, *files, *options, "-o", folder / "out.npz")
    results = np.load(folder / "out.npz")
    worst = 0.0
    for i, want in enumerate(expected):
        got = results[results.files[i]]
        assert got.shape == want.shape and got.dtype == want.dtype, (name, i, got.shape, want.shape)
        worst = max(worst, float(np.max(np.abs(got - want)) / np.max(np.abs(want))))
    assert worst <= TOLERANCE, f"{name}: {worst:.2e} of the largest element"
    counted = json.loads(call(tool, "inspect", path, *options, "--json"))
    matrix = counted["totals"]["units"]["matrix"]["operations"]
    assert matrix == flops, f"{name}: {matrix} FLOPs instead of {flops}"
    call(tool, "predict", path, *options, "--on", "h100")
    call(tool, "explain", path, *options)
    text = folder / f"{name}.mlir"
    call(tool, "convert", path, *options, "-o", text)
    print(f"{name}: {len(model.graph.node)} nodes, {flops:,} FLOPs, difference {worst:.1e}")


def main():
    tool = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or MODELS:
            compare(tool, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
