"""Single operators on random tensors: `ridgeline run` gives what onnxruntime gives (onnx.reference where onnxruntime has no
kernel). Exit status 77 (skipped) without onnx and onnxruntime.

usage: compare_ops.py RIDGELINE [NAME...]        runs the cases whose name contains one of the names
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from onnx_ops_cases import CASES

# largest difference by element type, relative to the largest element (1 at least); integers must be equal
TOLERANCE = {np.dtype(np.float32): 3e-6, np.dtype(np.float64): 1e-12, np.dtype(np.float16): 2e-3}


def model_of(case):
    inputs, weights = [], []
    for name, value in case.inputs.items():
        if name in case.constants:
            weights.append(numpy_helper.from_array(value, name))
        else:
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    outputs = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(case.outputs)]
    names = case.order or list(case.inputs)
    nodes = case.nodes or [helper.make_node(case.kind, names, [o.name for o in outputs], domain=case.domain,
                                            **case.attributes)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    imports = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports + case.imports, functions=case.functions, ir_version=10)


def expected_of(case, model, data):
    if not case.reference:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # compare with the operator, not with what it is fused to
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, data), "onnxruntime"
        except Exception as error:  # no kernel for a type or version
            if "NOT_IMPLEMENTED" not in str(error) and "is under development" not in str(error):
                raise
    return ReferenceEvaluator(model).run(None, data), "onnx.reference"


def difference(got, want):
    """None when equal enough, else what differs."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype not in TOLERANCE:
        return None if np.array_equal(got, want) else f"{np.sum(got != want)} elements differ"
    if not np.array_equal(np.isfinite(got), np.isfinite(want)) or not np.array_equal(np.isnan(got), np.isnan(want)):
        return "other elements are infinite or NaN"
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite & ~np.isnan(want)], want[~finite & ~np.isnan(want)]):
        return "an infinity has the other sign"
    a, b = got[finite].astype(np.float64), want[finite].astype(np.float64)
    if a.size == 0:
        return None
    worst = np.max(np.abs(a - b)) / max(1, np.max(np.abs(b)))
    return None if worst <= TOLERANCE[want.dtype] else f"differs by {worst:.1e}"


def run_case(tool, case, folder):
    model = model_of(case)
    path = folder / "case.onnx"
    path.write_bytes(model.SerializeToString())
    data = {k: v for k, v in case.inputs.items() if k not in case.constants}
    files = []
    for i, value in enumerate(data.values()):
        np.save(folder / f"in{i}.npy", value)
        files.append(str(folder / f"in{i}.npy"))
    want, oracle = expected_of(case, model, data)
    done = subprocess.run([str(tool), "run", str(path), *files, "-o", str(folder / "out.npz")], capture_output=True, text=True)
    if done.returncode != 0:
        return (done.stderr or done.stdout or f"status {done.returncode}").strip().splitlines()[0], oracle
    results = np.load(folder / "out.npz")
    for i, value in enumerate(want):
        found = difference(results[results.files[i]], np.asarray(value))
        if found:
            return f"output {i}: {found}", oracle
    return None, oracle


def main():
    tool, words = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    failed = 0
    oracles = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if words and not any(word in case.name for word in words):
                continue
            try:
                problem, oracle = run_case(tool, case, pathlib.Path(folder))
            except Exception as error:
                problem, oracle = f"no answer to compare with: {str(error)[:200]}", "none"
            oracles[oracle] = oracles.get(oracle, 0) + 1
            if problem:
                failed += 1
                print(f"{case.name}: {problem}")
    print(f"{sum(oracles.values())} cases, {failed} failed ({', '.join(f'{k} {v}' for k, v in sorted(oracles.items()))})")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
