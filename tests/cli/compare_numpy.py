#!/usr/bin/env python3
"""Arrays go through 'ridgeline run' on an identity program as numpy writes and reads them: every type that both have, C and
Fortran order, both byte orders, .npy, .npz stored and deflated. Usage: compare_numpy.py RIDGELINE; exit 77 without numpy.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

TYPES = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
         "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64",
         "complex64": "complex<f32>", "complex128": "complex<f64>"}
SHAPES = [(), (1,), (5,), (2, 3), (3, 1, 4), (2, 3, 4, 5), (0,), (3, 0, 2)]


def program(types, shape):
    text = ["tensor<" + "".join(f"{d}x" for d in shape) + t + ">" for t in types]
    parameters = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(text))
    values = ", ".join(f"%arg{i}" for i in range(len(text)))
    return f"func.func @main({parameters}) -> ({', '.join(text)}) {{\n  return {values} : {', '.join(text)}\n}}\n"


def sample(dtype, shape, random):
    """All bit patterns of the type may come: they have to arrive as they are."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return (random.integers(0, 2, count) == 1).reshape(shape)
    return np.frombuffer(random.bytes(count * np.dtype(dtype).itemsize), dtype=dtype).reshape(shape)


def run(tool, scratch, *arguments):
    done = subprocess.run([tool, "run", *map(str, arguments)], cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"ridgeline run {arguments}: {done.stderr}")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def main():
    tool, random, checked = str(pathlib.Path(sys.argv[1]).resolve()), np.random.default_rng(0), 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for shape in SHAPES:
            (scratch / "p.mlir").write_text(program(TYPES.values(), shape))
            arrays = [sample(dtype, shape, random) for dtype in TYPES]
            kinds = [arrays, [np.asarray(a, order="F") for a in arrays],
                     [a.astype(a.dtype.newbyteorder(">")) for a in arrays]]
            for kind in kinds:
                np.savez(scratch / "in.npz", *kind)
                np.savez_compressed(scratch / "named.npz", **{f"arg{i}": a for i, a in enumerate(kind)})
                for i, a in enumerate(kind):
                    np.save(scratch / f"{i}.npy", a)
                for inputs in (["in.npz"], ["named.npz"], [f"{i}.npy" for i in range(len(kind))]):
                    run(tool, scratch, "p.mlir", *inputs, "-o", "out.npz")
                    with np.load(scratch / "out.npz") as out:
                        wrong = [k for k, a in zip(TYPES, arrays) if not same(out[f"arr_{list(TYPES).index(k)}"], a)]
                    if wrong:
                        raise SystemExit(f"{inputs} of shape {shape}: {wrong} came back changed")
                    checked += len(arrays)
        (scratch / "one.mlir").write_text(program(["f32"], (2, 3)))
        one = sample("float32", (2, 3), random)
        np.save(scratch / "one.npy", one)
        run(tool, scratch, "one.mlir", "one.npy", "-o", "back.npy")
        if not same(np.load(scratch / "back.npy"), one):
            raise SystemExit("back.npy differs")
    print(f"{checked + 1} arrays came back as they were")
    return 0


if __name__ == "__main__":
    sys.exit(main())
