"""Random jitted functions: graphs of operations over arrays of random shapes and types, with control flow, derivatives,
random bits and collectives in them. The same seed gives the same programs.

A program is a list of steps. A step takes values that are there already and gives new ones; `Program.grow` draws one from
the table STEPS until JAX accepts it for the shapes at hand (`jax.eval_shape`). A step may ask for one more argument of the
function. Bodies of loops and branches are programs of their own whose result is brought back to the type of the carry."""
import itertools
import math
import random

import jax
import jax.numpy as jnp
import numpy
from jax import lax

from programs import Case, array

FLOATS = ["float32", "bfloat16", "float16", "float64"]
SMALL_FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4",
                "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"]
INTS = ["int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"]
SMALL_INTS = ["int4", "uint4", "int2", "uint2"]
COMPLEX = ["complex64", "complex128"]
MIXES = [["float32"], ["float32", "int32"], ["bfloat16", "float32"], ["float16"], ["float64", "int64"], ["int32", "bool"],
         ["complex64", "float32"], ["float32", "float32", "bool", "int32"], INTS, FLOATS]

ELEMENTS_MAX = 4096
RANK_MAX = 5


def kind(value):
    """'f' float, 'i' and 'u' integers, 'b' bool, 'c' complex, 's' a type that only moves and converts."""
    name = str(value.dtype)
    if name in SMALL_FLOATS + SMALL_INTS:
        return "s"
    return "f" if name == "bfloat16" else numpy.dtype(value.dtype).kind


class Unfit(Exception):
    """A step does not apply to what there is."""


class Program:
    def __init__(self, rng, arguments, depth=0):
        self.rng = rng
        self.arguments = list(arguments)  # of jax.ShapeDtypeStruct
        self.values = list(self.arguments)  # what steps may use, abstract
        self.places = [("argument", i) for i in range(len(self.arguments))]
        self.steps = []
        self.depth = depth

    # ---- what steps ask for

    def pick(self, kinds="fiubcs", rank=None, where=lambda v: True):
        """Index of a value of one of the kinds; rank: a number or a pair (least, most)."""
        low, high = (rank if isinstance(rank, tuple) else (rank, rank)) if rank is not None else (0, RANK_MAX)
        fit = [i for i, v in enumerate(self.values)
               if kind(v) in kinds and low <= len(v.shape) <= high and where(v)]
        if not fit:
            raise Unfit
        # the newer a value the more often, so that graphs become deep
        return max(self.rng.choice(fit), self.rng.choice(fit))

    def new(self, shape, dtype):
        """Index of a new argument of the function; an existing value where one fits now and then."""
        fit = [i for i, v in enumerate(self.values) if v.shape == tuple(shape) and str(v.dtype) == str(dtype)]
        if fit and (self.depth or self.rng.random() < 0.5):
            return self.rng.choice(fit)
        if self.depth:
            raise Unfit  # bodies take no further arguments
        self.arguments.append(array(shape, dtype))
        self.values.append(self.arguments[-1])
        self.places.append(("argument", len(self.arguments) - 1))
        return len(self.values) - 1

    def grow(self, count):
        names = list(STEPS)
        for _ in range(40 * count):
            if len(self.steps) >= count:
                break
            self.try_step(STEPS[self.rng.choice(names)])
        return self

    def try_step(self, step):
        counts = len(self.arguments), len(self.values)
        try:
            function, operands = step(self)
            made = jax.eval_shape(function, *(self.values[i] for i in operands))
            made = list(made) if isinstance(made, (tuple, list)) else [made]
            if any(math.prod(v.shape) > ELEMENTS_MAX or len(v.shape) > RANK_MAX or 0 in v.shape for v in made):
                raise Unfit
        except (Unfit, TypeError, ValueError, NotImplementedError, IndexError, ZeroDivisionError):
            del self.arguments[counts[0]:]
            del self.values[counts[1]:], self.places[counts[1]:]
            return
        number = len(self.steps)
        self.steps.append((function, tuple(operands)))
        self.values += made
        self.places += [(number, i) for i in range(len(made))]

    # ---- the function

    def __call__(self, *arguments):
        results = []
        for function, operands in self.steps:
            made = function(*(self.at(i, arguments, results) for i in operands))
            results.append(list(made) if isinstance(made, (tuple, list)) else [made])
        used = set(itertools.chain.from_iterable(operands for _, operands in self.steps))
        last = [i for i in range(len(self.values)) if i not in used and self.places[i][0] != "argument"]
        return tuple(self.at(i, arguments, results) for i in last) or tuple(arguments)

    def at(self, index, arguments, results):
        where, i = self.places[index]
        return arguments[i] if where == "argument" else results[where][i]


def as_type(values, like):
    """One value of the type of `like` that depends on all of `values`."""
    total = sum(jnp.sum(jnp.abs(v).astype("float32")) for v in map(widen, values))
    if str(like.dtype) == "bool":
        return jnp.broadcast_to(total > 0, like.shape)
    return jnp.broadcast_to(total.astype(like.dtype), like.shape) + jnp.zeros(like.shape, like.dtype)


def widen(value):
    return value.astype("float32") if kind(value) in "sb" else value


def body(program, arguments, count=3):
    """A nested program over some types."""
    if program.depth >= 2:
        raise Unfit
    return Program(program.rng, arguments, program.depth + 1).grow(program.rng.randint(1, count))


# ---- steps: each gives (function, operands) ----------------------------------------------------------------------------

UNARY = {"f": """exp exp2 expm1 log log1p tanh logistic sin cos tan asin acos atan sinh cosh asinh acosh atanh sqrt rsqrt
cbrt abs neg sign floor ceil round is_finite square erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e""".split(),
         "i": "abs neg sign population_count clz bitwise_not square".split(),
         "u": "population_count clz bitwise_not".split(), "b": ["bitwise_not"],
         "c": "real imag abs neg exp log conj sqrt rsqrt tanh sin cos tan expm1 log1p sign cbrt".split()}
BINARY = {"f": "add sub mul div rem max min pow atan2 nextafter eq ne lt le gt ge".split(),
          "i": """add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical
shift_right_arithmetic eq lt ge""".split(), "b": "bitwise_and bitwise_or bitwise_xor eq ne".split(),
          "c": "add sub mul div eq ne pow".split()}
BINARY["u"] = BINARY["i"]


def unary(p):
    i = p.pick("fiubc")
    return getattr(lax, p.rng.choice(UNARY[kind(p.values[i])])), [i]


def partner(p, i):
    """Another operand of the same type and shape."""
    v = p.values[i]
    return p.new(v.shape, v.dtype)


def binary(p):
    i = p.pick("fiubc")
    return getattr(lax, p.rng.choice(BINARY[kind(p.values[i])])), [i, partner(p, i)]


def broadcast_binary(p):
    i = p.pick("fi", rank=(1, 4))
    shape = [d if p.rng.random() < 0.6 else 1 for d in p.values[i].shape]
    j = p.new(shape[p.rng.randint(0, len(shape) - 1):], p.values[i].dtype)
    return p.rng.choice([jnp.add, jnp.multiply, jnp.maximum, jnp.subtract]), [i, j]


def literal(p):
    i = p.pick("fiu")
    value = p.rng.choice([1, 2, 3, 7])
    return p.rng.choice([lambda x: x * value, lambda x: x + value, lambda x: value - x, lambda x: jnp.maximum(x, value)]), [i]


def constant(p):
    """A dense constant of random elements."""
    i = p.pick("fi")
    v = p.values[i]
    data = numpy.random.default_rng(p.rng.getrandbits(32)).integers(-9, 9, v.shape)
    return lambda x: x + jnp.asarray(data, v.dtype), [i]


def special_constant(p):
    i = p.pick("f")
    value = p.rng.choice([jnp.inf, -jnp.inf, jnp.nan, -0.0, 1e-40, 3.4028235e38])
    return lambda x: jnp.where(x == x, x, jnp.asarray(value, x.dtype)), [i]


def choose(p):
    i = p.pick("fic")
    j = p.new(p.values[i].shape, "bool")
    return lambda x, q: jnp.where(q, x, -x), [i, j]


def clamp(p):
    i = p.pick("f")
    return lambda x: lax.clamp(jnp.asarray(-1, x.dtype), x, jnp.asarray(1, x.dtype)), [i]


def convert(p):
    i = p.pick()
    v = p.values[i]
    targets = FLOATS + INTS + SMALL_FLOATS + SMALL_INTS + ["bool"] + (COMPLEX if kind(v) in "fc" else [])
    target = p.rng.choice([t for t in targets if t != str(v.dtype) and (kind(v) != "c" or t in COMPLEX)])
    return lambda x: lax.convert_element_type(x, target), [i]


def bitcast(p):
    i = p.pick("fiu")
    bits = p.values[i].dtype.itemsize * 8
    target = p.rng.choice([f"int{bits}", f"uint{bits}", f"uint{max(8, bits // 2)}"])
    return lambda x: lax.bitcast_convert_type(x, target), [i]


def reduce_precision(p):
    i = p.pick("f")
    exponent, mantissa = p.rng.randint(3, 8), p.rng.randint(2, 23)
    return lambda x: lax.reduce_precision(x, exponent, mantissa), [i]


def axes_of(p, v, least=1):
    return tuple(sorted(p.rng.sample(range(len(v.shape)), p.rng.randint(least, len(v.shape)))))


def reduce(p):
    i = p.pick("fic", rank=(1, RANK_MAX))
    axes = axes_of(p, p.values[i])
    names = ["sum", "prod", "max", "min", "mean"] if kind(p.values[i]) != "c" else ["sum", "prod"]
    name = p.rng.choice(names)
    return lambda x: getattr(jnp, name)(x, axis=axes, keepdims=len(axes) % 2 == 0), [i]


def reduce_bool(p):
    i = p.pick("b", rank=(1, RANK_MAX))
    axes = axes_of(p, p.values[i])
    return (lambda x: jnp.any(x, axes)) if p.rng.random() < 0.5 else (lambda x: jnp.all(x, axes)), [i]


def reduce_many(p):
    """Two operands reduced together, with a region of several operations."""
    i = p.pick("f", rank=(1, 4))
    j = p.new(p.values[i].shape, "int32")
    axes = axes_of(p, p.values[i])

    def pair(a, b):
        return lax.select(a[0] > b[0], a[0], b[0]), a[1] + b[1]

    return lambda x, y: lax.reduce((x, y), (jnp.asarray(-jnp.inf, x.dtype), jnp.int32(0)), pair, axes), [i, j]


def softmax(p):
    i = p.pick("f", rank=(1, 4))
    return p.rng.choice([jax.nn.softmax, jax.nn.log_softmax, jax.nn.standardize, jax.nn.gelu, jax.nn.silu]), [i]


def argument_of(p):
    i = p.pick("fi", rank=(1, 4))
    axis = p.rng.randrange(len(p.values[i].shape))
    return p.rng.choice([lambda x: jnp.argmax(x, axis), lambda x: jnp.argmin(x, axis)]), [i]


def cumulative(p):
    i = p.pick("f", rank=(1, 3))
    axis = p.rng.randrange(len(p.values[i].shape))
    function = p.rng.choice([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp])
    return lambda x: function(x, axis=axis, reverse=axis % 2 == 1), [i]


def associative_scan(p):
    i = p.pick("f", rank=(1, 3))
    return lambda x: lax.associative_scan(jnp.add, x), [i]


def dot_general(p):
    """Random contracted and batch dimensions, types mixed now and then."""
    i = p.pick("fic", rank=(1, 4))
    v = p.values[i]
    dims = list(range(len(v.shape)))
    p.rng.shuffle(dims)
    contracted = dims[:p.rng.randint(0, min(2, len(dims)))]
    batch = dims[len(contracted):len(contracted) + p.rng.randint(0, min(2, len(dims) - len(contracted)))]
    free = [p.rng.randint(1, 4) for _ in range(p.rng.randint(0, 2))]
    shape = [v.shape[d] for d in contracted + batch] + free
    order = list(range(len(shape)))
    p.rng.shuffle(order)
    j = p.new([shape[o] for o in order], v.dtype)
    numbers = ((contracted, [order.index(k) for k in range(len(contracted))]),
               (batch, [order.index(len(contracted) + k) for k in range(len(batch))]))
    options = {}
    if kind(v) == "f":
        options = p.rng.choice([{}, {"precision": "highest"}, {"precision": ("default", "high")},
                                {"preferred_element_type": "float32"}])
    elif kind(v) == "i":
        options = p.rng.choice([{}, {"preferred_element_type": "int64"}])
    return lambda x, y: lax.dot_general(x, y, numbers, **options), [i, j]


ALGORITHMS = ["BF16_BF16_F32", "TF32_TF32_F32", "F32_F32_F32", "BF16_BF16_F32_X3"]


def dot_algorithm(p):
    i = p.pick("f", rank=2, where=lambda v: str(v.dtype) == "float32")
    j = p.new((p.values[i].shape[1], p.rng.randint(1, 5)), "float32")
    algorithm = getattr(lax.DotAlgorithmPreset, p.rng.choice(ALGORITHMS))
    return lambda x, y: lax.dot_general(x, y, (([1], [0]), ([], [])), precision=algorithm), [i, j]


def einsum(p):
    i = p.pick("f", rank=3)
    a, b, c = p.values[i].shape
    j = p.new((c, b), p.values[i].dtype)
    return p.rng.choice([lambda x, y: jnp.einsum("abc,cb->ab", x, y), lambda x, y: jnp.einsum("abc,cd->adb", x, y)]), [i, j]


def ragged_dot(p):
    m, k, n, groups = (p.rng.randint(1, 5) for _ in range(4))
    i, j = p.new((m, k), "float32"), p.new((groups, k, n), "float32")
    return lax.ragged_dot, [i, j, p.new((groups,), "int32")]


def convolution(p):
    """Any number of spatial dimensions, strides, padding, dilation, groups, layouts."""
    rng, spatial = p.rng, p.rng.randint(1, 3)
    groups, batch_groups = rng.choice([(1, 1), (1, 1), (2, 1), (1, 2)])
    batch, features, out = batch_groups * rng.randint(1, 2), groups * rng.randint(1, 3), groups * batch_groups * rng.randint(1, 2)
    size = [rng.randint(3, 6) for _ in range(spatial)]
    kernel = [rng.randint(1, 3) for _ in range(spatial)]
    letters = "DHW"[3 - spatial:]
    specs = rng.choice([(f"NC{letters}", f"OI{letters}", f"NC{letters}"), (f"N{letters}C", f"{letters}IO", f"N{letters}C"),
                        (f"{letters}NC", f"I{letters}O", f"C{letters}N")])
    lengths = dict(zip(letters, size)), dict(zip(letters, kernel))
    lhs = [{"N": batch, "C": features, **lengths[0]}[c] for c in specs[0]]
    rhs = [{"O": out, "I": features // groups, **lengths[1]}[c] for c in specs[1]]
    dtype = rng.choice(["float32", "float32", "bfloat16", "float16"])
    options = {"window_strides": [rng.randint(1, 2) for _ in size], "dimension_numbers": specs,
               "padding": rng.choice(["SAME", "VALID", [(rng.randint(0, 2), rng.randint(0, 2)) for _ in size]]),
               "lhs_dilation": [rng.choice([1, 1, 2]) for _ in size], "rhs_dilation": [rng.choice([1, 1, 2]) for _ in size],
               "feature_group_count": groups, "batch_group_count": batch_groups}
    if options["padding"] == "SAME" and options["lhs_dilation"] != [1] * spatial:
        options["padding"] = "VALID"
    return lambda x, w: lax.conv_general_dilated(x, w, **options), [p.new(lhs, dtype), p.new(rhs, dtype)]


def conv_transpose(p):
    i, j = p.new((1, 5, 4, 3), "float32"), p.new((3, 2, 3, p.rng.randint(1, 3)), "float32")
    strides = (p.rng.randint(1, 3), p.rng.randint(1, 2))
    return lambda x, w: lax.conv_transpose(x, w, strides, "SAME"), [i, j]


def pool(p):
    i = p.pick("f", rank=(1, 4))
    window = [p.rng.randint(1, min(3, d)) for d in p.values[i].shape]
    strides = [p.rng.randint(1, 2) for _ in window]
    padding = p.rng.choice(["SAME", "VALID"])
    function, start = p.rng.choice([(lax.max, -jnp.inf), (lax.add, 0.0), (lax.min, jnp.inf)])
    dilation = [p.rng.choice([1, 1, 2]) for _ in window]
    return lambda x: lax.reduce_window(x, jnp.asarray(start, x.dtype), function, window, strides, padding,
                                       window_dilation=dilation), [i]


def pool_grad(p):
    """select_and_scatter."""
    i = p.pick("f", rank=(1, 3), where=lambda v: all(d > 1 for d in v.shape))
    window = [2] * len(p.values[i].shape)

    def pooled(x):
        return jnp.sum(lax.reduce_window(x, jnp.asarray(-jnp.inf, x.dtype), lax.max, window, window, "VALID"))

    return jax.grad(pooled), [i]


def take(p):
    i = p.pick(rank=(1, 4))
    axis = p.rng.randrange(len(p.values[i].shape))
    mode = p.rng.choice(["clip", "fill", "wrap"]) if kind(p.values[i]) != "s" else "clip"
    j = p.new([p.rng.randint(1, 4) for _ in range(p.rng.randint(0, 2))], "int32")
    return lambda x, k: jnp.take(x, k, axis=axis, mode=mode), [i, j]


def take_along(p):
    i = p.pick("fi", rank=(1, 3))
    j = p.new(p.values[i].shape, "int32")
    axis = p.rng.randrange(len(p.values[i].shape))
    return lambda x, k: jnp.take_along_axis(x, k, axis, mode="clip"), [i, j]


def gather_batched(p):
    i = p.pick("f", rank=(2, 4))
    j = p.new((p.values[i].shape[0], p.rng.randint(1, 3)), "int32")
    return lambda x, k: jax.vmap(lambda a, b: a[b])(x, k), [i, j]


def scatter(p):
    i = p.pick("fi", rank=(1, 3))
    v = p.values[i]
    n = p.rng.randint(1, 4)
    j, k = p.new((n,), "int32"), p.new((n, *v.shape[1:]), v.dtype)
    name = p.rng.choice(["set", "add", "multiply", "min", "max"])
    unique = p.rng.random() < 0.3
    return lambda x, a, u: getattr(x.at[a], name)(u, unique_indices=unique, mode="drop" if unique else None), [i, j, k]


def scatter_batched(p):
    i = p.pick("f", rank=(2, 3))
    v = p.values[i]
    j = p.new((v.shape[0],), "int32")
    return lambda x, a: jax.vmap(lambda r, k: r.at[k].add(1))(x, a), [i, j]


def dynamic_slice(p):
    i = p.pick(rank=(1, 4))
    sizes = [p.rng.randint(1, d) for d in p.values[i].shape]
    j = p.new((len(sizes),), p.rng.choice(["int32", "int64", "uint32"]))
    return lambda x, k: lax.dynamic_slice(x, list(k), sizes), [i, j]


def dynamic_update_slice(p):
    i = p.pick(rank=(1, 4))
    v = p.values[i]
    j = p.new([p.rng.randint(1, d) for d in v.shape], v.dtype)
    k = p.new((len(v.shape),), "int32")
    return lambda x, u, a: lax.dynamic_update_slice(x, u, list(a)), [i, j, k]


def strided_slice(p):
    i = p.pick(rank=(1, RANK_MAX))
    starts = [p.rng.randint(0, d - 1) for d in p.values[i].shape]
    limits = [p.rng.randint(s + 1, d) for s, d in zip(starts, p.values[i].shape)]
    strides = [p.rng.randint(1, 2) for _ in starts]
    return lambda x: lax.slice(x, starts, limits, strides), [i]


def pad(p):
    i = p.pick("fiub", rank=(1, 4))
    shape = p.values[i].shape
    config = [(p.rng.randint(-1 if d > 2 else 0, 2), p.rng.randint(0, 2), p.rng.randint(0, 2)) for d in shape]
    return lambda x: lax.pad(x, jnp.zeros((), x.dtype), config), [i]


def transpose(p):
    i = p.pick(rank=(2, RANK_MAX))
    order = list(range(len(p.values[i].shape)))
    p.rng.shuffle(order)
    return lambda x: lax.transpose(x, order), [i]


def reshape(p):
    i = p.pick(rank=(1, RANK_MAX))
    shape = list(p.values[i].shape)
    p.rng.shuffle(shape)
    if len(shape) > 1 and p.rng.random() < 0.6:
        shape = [shape[0] * shape[1], *shape[2:]]
    else:
        shape.insert(p.rng.randint(0, len(shape)), 1)
    return lambda x: lax.reshape(x, shape), [i]


def broadcast(p):
    i = p.pick(rank=(0, 3))
    v = p.values[i]
    rank = len(v.shape) + p.rng.randint(0, 2)
    dims = sorted(p.rng.sample(range(rank), len(v.shape)))
    shape = [p.rng.randint(1, 4) for _ in range(rank)]
    for d, size in zip(dims, v.shape):
        shape[d] = size
    return lambda x: lax.broadcast_in_dim(x, shape, dims), [i]


def concatenate(p):
    i = p.pick(rank=(1, 4))
    v = p.values[i]
    axis = p.rng.randrange(len(v.shape))
    shape = list(v.shape)
    shape[axis] = p.rng.randint(1, 3)
    return lambda x, y: lax.concatenate([x, y, x], axis), [i, p.new(shape, v.dtype)]


def rearrange(p):
    i = p.pick("fiub", rank=(1, 3))
    axis = p.rng.randrange(len(p.values[i].shape))
    return p.rng.choice([lambda x: lax.rev(x, [axis]), lambda x: jnp.roll(x, 1, axis), lambda x: jnp.repeat(x, 2, axis),
                         lambda x: jnp.tile(x, 2), lambda x: jnp.expand_dims(x, axis),
                         lambda x: jnp.flip(x, axis), lambda x: jnp.moveaxis(x, axis, 0)]), [i]


def split(p):
    i = p.pick("fi", rank=(1, 3), where=lambda v: v.shape[-1] > 1)
    n = p.values[i].shape[-1]
    return lambda x: lax.split(x, [1, n - 1], axis=-1 + len(x.shape)), [i]


def iota(p):
    i = p.pick("fi", rank=(1, 3))
    axis = p.rng.randrange(len(p.values[i].shape))
    return lambda x: x + lax.broadcasted_iota(x.dtype, x.shape, axis), [i]


def triangle(p):
    i = p.pick("f", rank=(2, 3))
    return p.rng.choice([jnp.tril, jnp.triu, lambda x: jnp.trace(x, axis1=0, axis2=1)]), [i]


def sort(p):
    i = p.pick("fi", rank=(1, 3))
    axis = p.rng.randrange(len(p.values[i].shape))
    return p.rng.choice([lambda x: jnp.sort(x, axis), lambda x: jnp.argsort(x, axis), lambda x: jnp.median(x, axis),
                         lambda x: jnp.sort(x, axis, descending=True, stable=False)]), [i]


def sort_many(p):
    i = p.pick("f", rank=(1, 3))
    j = p.new(p.values[i].shape, "int32")
    keys = p.rng.randint(1, 2)
    return lambda x, y: lax.sort((x, y), dimension=0, is_stable=keys == 1, num_keys=keys), [i, j]


def top_k(p):
    i = p.pick("fi", rank=(1, 3))
    k = p.rng.randint(1, p.values[i].shape[-1])
    return lambda x: lax.top_k(x, k), [i]


def searching(p):
    i, j = p.new((p.rng.randint(2, 9),), "float32"), p.new((3,), "float32")
    method = p.rng.choice(["scan", "sort", "compare_all", "scan_unrolled"])
    return lambda a, v: jnp.searchsorted(a, v, method=method), [i, j]


def bounded_loop(p):
    i = p.pick("fi")
    n, inner = p.rng.randint(1, 5), body(p, [p.values[i], array((), "int32")])
    return lambda x: lax.fori_loop(0, n, lambda k, c: as_type(inner(c, k), x), x), [i]


def while_loop(p):
    i = p.pick("f")
    inner = body(p, [p.values[i]])
    return lambda x: lax.while_loop(lambda c: jnp.sum(c[0].astype("float32")) < 9.0 - c[1].astype("float32"),
                                    lambda c: (as_type(inner(c[0]), x), c[1] + 1), (x, jnp.int32(0)))[0], [i]


def scan(p):
    i = p.pick("fi", rank=(1, 3))
    v = p.values[i]
    inner = body(p, [array(v.shape[1:], v.dtype)] * 2)
    options = p.rng.choice([{}, {"reverse": True}, {"unroll": 2}])

    def step(carry, x):
        made = inner(carry, x)
        return as_type(made, carry), made

    return lambda x: jax.tree.leaves(lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x, **options)), [i]


def condition(p):
    i, j = p.pick("f"), p.new((), "bool")
    one, two = body(p, [p.values[i]]), body(p, [p.values[i]])
    return lambda x, q: lax.cond(q, lambda c: as_type(one(c), c), lambda c: as_type(two(c), c), x), [i, j]


def switch(p):
    i, j = p.pick("f"), p.new((), "int32")
    bodies = [body(p, [p.values[i]], 2) for _ in range(3)]
    return lambda x, k: lax.switch(k, [lambda c, b=b: as_type(b(c), c) for b in bodies], x), [i, j]


def fourier(p):
    i = p.pick("f", rank=(1, 3), where=lambda v: str(v.dtype) in ("float32", "float64"))
    return p.rng.choice([jnp.fft.fft, jnp.fft.rfft, jnp.fft.ifft, lambda x: jnp.fft.irfft(jnp.fft.rfft(x)),
                         lambda x: jnp.abs(jnp.fft.fft2(x)) if len(x.shape) > 1 else jnp.fft.fft(x)]), [i]


def linear_algebra(p):
    n = p.rng.randint(2, 4)
    i = p.new([*[2] * p.rng.randint(0, 1), n, n], p.rng.choice(["float32", "float32", "float64", "complex64"]))
    functions = [jnp.linalg.cholesky, jnp.linalg.qr, jnp.linalg.svd, jnp.linalg.eigh, jnp.linalg.inv, jnp.linalg.det,
                 jnp.linalg.slogdet, lambda x: jax.scipy.linalg.lu(x[..., :, :]), lambda x: jnp.linalg.solve(x, x),
                 lambda x: jax.scipy.linalg.solve_triangular(x, x, lower=True, unit_diagonal=True),
                 lambda x: lax.linalg.triangular_solve(x, x, left_side=False, transpose_a=True), jnp.linalg.norm,
                 lambda x: jnp.linalg.matrix_power(x, 3)]
    function = p.rng.choice(functions)
    return lambda x: jax.tree.leaves(function(x)), [i]


def random_bits(p):
    shape = [p.rng.randint(1, 4) for _ in range(p.rng.randint(0, 3))]
    implementation = p.rng.choice(["threefry2x32", "threefry2x32", "rbg", "unsafe_rbg"])
    j = p.new((), "uint32")
    draw = p.rng.choice([lambda k: jax.random.uniform(k, shape), lambda k: jax.random.normal(k, shape, "bfloat16"),
                         lambda k: jax.random.bits(k, shape, "uint8"), lambda k: jax.random.randint(k, shape, 0, 7),
                         lambda k: jax.random.bernoulli(k, 0.3, shape), lambda k: jax.random.permutation(k, 7),
                         lambda k: jax.random.categorical(k, jnp.zeros((3, 4))), lambda k: jax.random.gumbel(k, shape),
                         lambda k: jax.random.truncated_normal(k, -1.0, 1.0, shape), lambda k: jax.random.key_data(jax.random.split(k))])
    return lambda seed: draw(jax.random.key(seed, impl=implementation)), [j]


def gradient(p):
    i = p.pick("f", where=lambda v: str(v.dtype) == "float32")
    inner = body(p, [p.values[i]], 4)
    wrap = p.rng.choice([lambda f: f, jax.checkpoint, jax.jit])
    loss = wrap(lambda x: sum(jnp.sum(widen(v).astype("float32")) for v in inner(x) if kind(v) == "f") + jnp.sum(x))
    return jax.grad(loss), [i]


def tangent(p):
    i = p.pick("f", where=lambda v: str(v.dtype) in ("float32", "float64"))
    inner = body(p, [p.values[i]])
    return lambda x: as_type(jax.tree.leaves(jax.jvp(lambda y: as_type(inner(y), y), (x,), (x,))), x), [i]


def mapped(p):
    i = p.pick("fi", rank=(1, 3))
    inner = body(p, [array(p.values[i].shape[1:], p.values[i].dtype)], 4)
    return lambda x: list(jax.vmap(inner)(x)), [i]


def inner_jit(p):
    i = p.pick("fi")
    inner = body(p, [p.values[i]])
    return lambda x: list(jax.jit(inner)(x)), [i]


@jax.custom_jvp
def bent(x):
    return jnp.log1p(jnp.exp(x))


bent.defjvp(lambda primals, tangents: (bent(primals[0]), tangents[0] * jax.nn.sigmoid(primals[0])))


@jax.custom_vjp
def straight(x):
    return jnp.round(x)


straight.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


def custom_rule(p):
    i = p.pick("f")
    f = p.rng.choice([bent, straight, jax.grad(lambda x: jnp.sum(bent(x))), jax.grad(lambda x: jnp.sum(straight(x) ** 2))])
    return f, [i]


def barrier(p):
    i = p.pick()
    return p.rng.choice([lambda x: lax.optimization_barrier(x), lambda x: lax.optimization_barrier((x, x))]), [i]


def composite(p):
    i = p.pick("f")
    version = p.rng.randint(0, 2)
    inner = body(p, [p.values[i]])

    def bound(x, *, scale):
        return as_type(inner(x), x) * jnp.asarray(scale, x.dtype)

    return lambda x: lax.composite(bound, "test.bound", version=version)(x, scale=numpy.float32(2.0)), [i]


def platform(p):
    i = p.pick("f")
    return lambda x: lax.platform_dependent(x, cpu=lambda y: y + 1, default=lambda y: y * 2), [i]


def complex_parts(p):
    i = p.pick("f", where=lambda v: str(v.dtype) in ("float32", "float64"))
    return lambda x: lax.complex(x, -x), [i]


STEPS = {f.__name__: f for f in (
    unary, binary, broadcast_binary, literal, constant, special_constant, choose, clamp, convert, bitcast,
    reduce_precision, reduce, reduce_bool, reduce_many, softmax, argument_of, cumulative, associative_scan, dot_general,
    dot_algorithm, einsum, ragged_dot, convolution, conv_transpose, pool, pool_grad, take, take_along, gather_batched,
    scatter, scatter_batched, dynamic_slice, dynamic_update_slice, strided_slice, pad, transpose, reshape, broadcast,
    concatenate, rearrange, split, iota, triangle, sort, sort_many, top_k, searching, bounded_loop, while_loop, scan,
    condition, switch, fourier, linear_algebra, random_bits, gradient, tangent, mapped, inner_jit, custom_rule, barrier,
    composite, platform, complex_parts)}


# ---- categories ---------------------------------------------------------------------------------------------------------

def random_arguments(rng):
    mix = rng.choice(MIXES)
    for _ in range(rng.randint(1, 3)):
        yield array([rng.randint(1, 6) for _ in range(rng.randint(0, 3))], rng.choice(mix))


def graphs(rng):
    """Whole programs of random steps."""
    for number in range(150):
        own = random.Random(rng.getrandbits(64))
        with jax.enable_x64(True):
            program = Program(own, random_arguments(own)).grow(own.randint(2, 14))
        options = {"donate_argnums": 0} if number % 10 == 9 else {}
        yield Case("", f"{number}", program, tuple(program.arguments), True, options, is_random=True)


def steps(rng):
    """Every step by itself, so that each occurs in every round."""
    for name, step in STEPS.items():
        own = random.Random(rng.getrandbits(64))
        with jax.enable_x64(True):
            for _ in range(50):
                program = Program(own, [array((3, 4)), array((2, 3, 4)), array((5,), "int32"), array((4, 2), "bool")])
                program.try_step(step)
                if program.steps:
                    break
            else:
                continue
        yield Case("", name, program, tuple(program.arguments), True)


CATEGORIES = [graphs, steps]
