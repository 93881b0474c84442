"""One program on the same inputs in JAX and in the interpreter: text and the oldest portable artifact that can hold it.

Inputs: one set of ordinary numbers and, for programs without factorizations and loops of unknown length, one with the numbers
at which definitions change (NaN, infinities, signed zeros, subnormal numbers, the ends of the integer types). Tolerances:
run_noise.py; a single elementwise operation is held to 2 ulp without them."""
import re
import zlib

import jax
import jax.export
import jax.numpy as jnp
import ml_dtypes  # noqa: F401  (names of types that NumPy lacks)
import numpy

import programs
import run_noise
from check_forms import no_messages, oldest_artifact, write_bytecode
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

SAMPLES = 6
SAFETY = 4  # tolerance over the largest spread of the samples: six are few
OPERATIONS = "2e7"


class LeftOut(Exception):
    """There is nothing to compare; the reason."""


# ---- inputs ----------------------------------------------------------------------------------------------------------------

def special_values(dtype, names):
    """Of a type, for a program with these primitives. What a sum or product of numbers near an end of the range gives
    depends on the order of its terms; what infinite numbers give in a convolution, an FFT or complex products, on
    which products with zeros are left out."""
    kind = run_noise.real_type(dtype)
    if jnp.issubdtype(kind, jnp.floating):
        info = jnp.finfo(kind)
        if names & {"fft", "reduce_prod", "cumprod", *run_noise.SUMS}:
            infinite = [] if names & {"fft", "conv_general_dilated", "complex"} else [numpy.nan, numpy.inf, -numpy.inf]
            return numpy.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 10.0, *infinite]).astype(kind)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1.5, 2.5, -2.5, 3.0, numpy.nan, numpy.inf, -numpy.inf, float(info.max),
                  float(info.min), float(info.tiny), -float(info.tiny), float(info.smallest_subnormal), float(info.tiny) / 4,
                  1e5, -1e5, 1e-5, 10.0, -10.0, 88.0, -88.0]
        if names & run_noise.OF_FORMAT:  # XLA flushes subnormal numbers, and double precision cannot judge these programs
            values = [v for v in values if not 0 < abs(v) < float(info.tiny)]
        with numpy.errstate(all="ignore"):
            return numpy.array(values).astype(kind)
    if kind == jnp.bool_:
        return numpy.array([False, True])
    info = jnp.iinfo(kind)
    return numpy.array([0, 1, 2, 3, info.max, info.min, info.max - 1, info.min + 1] + [-1] * (info.min < 0)).astype(kind)


def ordinary(rng, shape, dtype, positive):
    kind = run_noise.real_type(dtype)
    if jnp.issubdtype(kind, jnp.floating):
        low = 0.25 if positive else -3
        return rng.uniform(low, 3, shape).astype(kind)
    if kind == jnp.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    low = 1 if positive else 0 if jnp.iinfo(kind).min == 0 else max(-4, jnp.iinfo(kind).min)
    return rng.integers(low, min(7, jnp.iinfo(kind).max) + 1, shape).astype(kind)


def draw(rng, shape, dtype, special, positive, names):
    if jnp.issubdtype(dtype, jnp.complexfloating):
        real, imaginary = (draw(rng, shape, run_noise.real_type(dtype), special, positive, names) for _ in range(2))
        out = numpy.empty(shape, dtype)
        out.real, out.imag = real, imaginary
        return out
    values = numpy.asarray(ordinary(rng, shape, dtype, positive)).reshape(shape)
    if special:
        rare = special_values(dtype, names)
        values = numpy.where(rng.random(shape) < 0.5, rare[rng.integers(0, len(rare), shape)], values).astype(values.dtype)
    return values


def inputs_of(avals, seed, special, positive, names):
    rng = numpy.random.default_rng(seed)
    if any(jnp.issubdtype(a.dtype, jnp.complexfloating) for a in avals):
        names = names | {"complex"}
    return [draw(rng, a.shape, jnp.dtype(a.dtype), special, positive, names) for a in avals]


def primitives(jaxpr, into=None):
    """Names of all primitives of a jaxpr, those inside of others included."""
    into = set() if into is None else into
    for eqn in jaxpr.eqns:
        into.add(eqn.primitive.name)
        for value in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "eqns") or hasattr(v, "jaxpr")):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                primitives(inner, into)
    return into


# ---- comparison ------------------------------------------------------------------------------------------------------------

def bits(a):
    a = numpy.atleast_1d(a)
    return a.view(f"u{a.dtype.itemsize}") if a.dtype.itemsize <= 8 else a.view("u8")


def parts(a):
    """Real arrays in double precision."""
    a = numpy.asarray(a)
    if jnp.issubdtype(a.dtype, jnp.complexfloating):
        return [a.real.astype("f8"), a.imag.astype("f8")]
    return [a.astype("f8")]


def ulp_of(value, dtype):
    """Distance of floats of a type around a value."""
    info = jnp.finfo(run_noise.real_type(dtype))
    with numpy.errstate(all="ignore"):
        exponent = numpy.floor(numpy.log2(numpy.maximum(numpy.abs(value), float(info.tiny))))
        return numpy.exp2(exponent) * float(info.eps)


class RunCheck:
    def __init__(self, tool, case):
        self.tool = tool
        self.case = case
        self.counts = {"elements": 0, "equal bits": 0, "unstable": 0, "judged": 0, "old artifacts": 0}
        self.problems = []

    # ---- the program

    def prepare(self):
        case = self.case
        try:
            built = case.build()
        except programs.NotLowered:
            raise LeftOut("random programs that JAX refuses") from None
        static = case.options.get("static_argnums")
        arguments = [self.concrete(a) for a in case.arguments]
        if static is not None:
            arguments = [a for i, a in enumerate(case.arguments) if i != static]
        self.flat, self.tree = jax.tree.flatten(tuple(arguments))

        def function(*flat):
            given = list(jax.tree.unflatten(self.tree, flat))
            if static is not None:
                given.insert(static, case.arguments[static])
            return jax.tree.leaves(jitted(*given))

        options = {k: v for k, v in case.options.items() if not k.startswith("donate")}
        jitted = case.wrap(case.function, **options)
        self.function = function
        self.jaxpr = jax.make_jaxpr(function)(*self.flat)
        self.names = primitives(self.jaxpr.jaxpr)
        if any("callback" in name for name in self.names):
            raise LeftOut("programs that call back into Python")
        self.text = built.text
        self.devices = int(re.search(r"num_partitions = (\d+)|$", built.text).group(1) or 1)
        self.kept = sorted(built.lowered._lowering.compile_args["kept_var_idx"]) if built.lowered is not None else None

    def concrete(self, argument):
        sizes = programs.SIZES

        def known(leaf):
            if not hasattr(leaf, "shape"):
                return leaf
            dims = (sizes[str(d)] if jax.export.is_symbolic_dim(d) else d for d in leaf.shape)
            return jax.ShapeDtypeStruct(tuple(dims), leaf.dtype)

        return jax.tree.map(known, argument)

    # ---- the two sides

    def ours(self, program, inputs, avals):
        path = self.tool.file(program)
        given, made = self.tool.scratch / "in.npz", self.tool.scratch / "out.npz"
        kept = self.kept if self.kept is not None else range(len(inputs))
        arrays = [inputs[i] for i in kept]
        if len((self.case.export or {}).get("platforms", ())) > 1:
            arrays.insert(0, numpy.int32(0))  # which of the platforms: the CPU
        made.unlink(missing_ok=True)
        files = []
        if arrays:
            numpy.savez(given, *arrays)
            files = [str(given)]
        grid = ["--partitions", str(self.devices)] if self.devices > 1 else []
        status, _, err = self.tool.run("run", path, *files, "-o", str(made), "--operations", OPERATIONS, *grid)
        if status != 0:
            if "E0704" in err:
                raise LeftOut("programs over the budget of operations")
            return err.strip()[:400]
        with numpy.load(made) as archive:
            prefixes = [f"r0p{d}_" for d in range(self.devices)] if self.devices > 1 else [""]
            each = [[archive[f"{prefix}arr_{i}"] for i in range(len(avals))] for prefix in prefixes]
        out = each[0]
        if any(a.tobytes() != b.tobytes() for other in each for a, b in zip(out, other)):
            return "processes have different whole results"
        return [self.typed(a, aval) for a, aval in zip(out, avals)]

    @staticmethod
    def typed(a, aval):
        """Types that NumPy lacks are stored as bytes without a meaning, integers below a byte as bytes."""
        dtype = numpy.dtype(aval.dtype)
        if dtype.name in ("int2", "int4", "uint2", "uint4") and a.dtype.kind in "iu":
            return a.astype(dtype)
        return a.view(dtype) if a.dtype != dtype and a.dtype.itemsize == dtype.itemsize and a.dtype.kind == "V" else a

    # ---- all of it

    def run(self):
        with jax.enable_x64(self.case.x64):
            self.prepare()
            self.compare_all()
        return self.problems

    def compare_all(self):
        seed = zlib.crc32(f"{self.case.category} {self.case.name}".encode())
        has_loop = "while" in self.names  # which special numbers may keep from ending
        is_factorization = self.names & run_noise.LINEAR_ALGEBRA - {"fft"}  # of which LAPACK promises nothing for them
        avals = self.jaxpr.out_avals
        spread = run_noise.Spread(self.jaxpr)
        is_single = spread.is_elementwise(self.names)
        theirs_function = jax.jit(self.function)
        with mlir.make_ir_context():
            old = oldest_artifact(write_bytecode(ir.Module.parse(self.text)))
        for special in [False] if has_loop or is_factorization else [False, True]:
            inputs = inputs_of(self.flat, seed, special, has_loop, self.names)
            ours = self.ours(self.text, inputs, avals)
            if isinstance(ours, str):
                self.problems.append(ours)
                return
            theirs = [numpy.asarray(a) for a in theirs_function(*inputs)]
            needs_samples = spread.is_moved and not is_single
            moved = [spread.sample(s, inputs) for s in range(SAMPLES + 1)] if needs_samples else [theirs]
            what = "special" if special else "ordinary"
            for i, (a, b) in enumerate(zip(ours, theirs)):
                self.judge = lambda i=i, inputs=inputs: self.wide_output(inputs, i)
                problem = self.compare(a, b, [m[i] for m in moved], is_single)
                if problem:
                    self.problems.append(f"{what} inputs, output {i} ({b.dtype}{list(b.shape)}): {problem}")
            if old is not None:
                self.compare_old(old, inputs, avals, ours)

    def wide_output(self, inputs, i):
        """Output i in double precision, or None."""
        if self.names & run_noise.OF_FORMAT:
            return None
        try:
            return run_noise.wide_values(self.jaxpr, inputs)[i]
        except Exception:  # whatever JAX raises: there is no judge
            return None

    def compare_old(self, old, inputs, avals, ours):
        version, artifact = old
        again = self.ours(artifact, inputs, avals)
        if isinstance(again, str):
            self.problems.append(f"artifact of {version}: {again}")
            return
        same = all(numpy.array_equal(bits(a), bits(b)) for a, b in zip(ours, again))
        if not same:
            self.problems.append(f"artifact of {version} gives other results")
        self.counts["old artifacts"] += same

    def compare(self, ours, theirs, samples, is_single):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"{ours.dtype}{list(ours.shape)}"
        if theirs.size == 0:
            return None
        self.counts["elements"] += theirs.size
        same_bits = (bits(ours) == bits(theirs)).reshape(theirs.size, -1)
        self.counts["equal bits"] += int(numpy.sum(numpy.all(same_bits, axis=1)))
        if not jnp.issubdtype(theirs.dtype, jnp.inexact):
            same = ours == theirs
            stable = numpy.all([s == theirs for s in samples], axis=0)
            self.counts["unstable"] += int(numpy.sum(~stable))
            bad = ~same & stable
            if numpy.any(bad):
                wide = self.judge()
                right = bad & (ours == wide) if wide is not None and wide.dtype == ours.dtype else bad & False
                self.counts["judged"] += int(numpy.sum(right))
                bad &= ~right
            return self.message(ours, theirs, bad, None) if numpy.any(bad) else None
        for k, (a, b) in enumerate(zip(parts(ours), parts(theirs))):
            spread = [parts(s)[k] for s in samples]
            problem = self.compare_reals(a, b, spread, theirs.dtype, is_single, k)
            if problem:
                return problem
        return None

    def compare_reals(self, a, b, samples, dtype, is_single, part):
        with numpy.errstate(all="ignore"):
            ulp = ulp_of(b, dtype)
            if is_single:
                tolerance = 2 * ulp
                stable = numpy.ones(b.shape, bool)
            else:
                distances = [numpy.abs(s - b) for s in samples]
                classes = [(numpy.isnan(s) == numpy.isnan(b)) & ((s == b) | (numpy.isinf(s) == numpy.isinf(b)))
                           for s in samples]
                stable = numpy.all(classes, axis=0)
                largest = numpy.nanmax(numpy.stack([numpy.where(numpy.isfinite(d), d, 0) for d in distances]), axis=0)
                tolerance = SAFETY * largest
            # XLA flushes subnormal numbers to zero
            tolerance = tolerance + float(jnp.finfo(run_noise.real_type(dtype)).tiny)
            same = (a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (numpy.abs(a - b) <= tolerance)
        self.counts["unstable"] += int(numpy.sum(~stable))
        bad = ~same & stable
        if numpy.any(bad):
            bad &= ~self.is_right(a, tolerance if not is_single else ulp_of, dtype, part)
            self.counts["judged"] += int(numpy.sum(~same & stable & ~bad))
        return self.message(a, b, bad, tolerance) if numpy.any(bad) else None

    def is_right(self, a, tolerance, dtype, part):
        """Where our values are those of double precision, rounded: within 1 ulp, or the tolerance."""
        wide = self.judge()
        if wide is None or wide.shape != a.shape:
            return numpy.zeros(a.shape, bool)
        with numpy.errstate(all="ignore"):
            true = parts(wide)[part].astype(run_noise.real_type(dtype)).astype("f8")
            tolerance = tolerance(true, dtype) if callable(tolerance) else tolerance
            return (a == true) | (numpy.isnan(a) & numpy.isnan(true)) | (numpy.abs(a - true) <= tolerance)

    @staticmethod
    def message(a, b, bad, tolerance):
        at = tuple(int(i[0]) for i in numpy.nonzero(numpy.atleast_1d(bad)))
        x, y = numpy.atleast_1d(a)[at], numpy.atleast_1d(b)[at]
        limit = "" if tolerance is None else f", tolerance {numpy.atleast_1d(tolerance)[at]:.3g}"
        return f"{int(numpy.sum(bad))} of {bad.size}; at {list(at)} {x!r}, JAX {y!r}{limit}"
