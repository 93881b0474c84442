"""The programs that compare_functions.py lowers: small jitted functions, the same ones for the same seed. Those of this
file are listed one by one; random_programs.py makes more.

`cases(count)` yields at least `count` cases: rounds of all categories, each round with other sizes. Sizes are small so
that XLA's sums, which are 32-bit floats, are exact. A generator yields (name, function, arguments) or, with 64-bit types,
(name, function, arguments, True); or a Case.
"""
import dataclasses
import functools
import random
import typing

import jax
import jax.export
import jax.scipy
import jax.numpy as jnp
from jax import lax


SIZES = {"a": 6, "b": 4, "c": 3}  # of symbolic dimensions, where sizes are needed


class NotLowered(Exception):
    """JAX itself has no lowering for a program."""


@dataclasses.dataclass
class Built:
    """What JAX makes of a program."""
    text: str
    lowered: typing.Any = None  # jax.stages.Lowered; None where XLA cannot count
    jaxpr: typing.Any = None
    artifact: bytes | None = None  # as jax.export writes it
    binds: tuple = ()  # values for the dimensions that are not known, as the tool takes them


@dataclasses.dataclass
class Case:
    category: str
    name: str
    function: typing.Callable
    arguments: tuple  # of jax.ShapeDtypeStruct
    x64: bool
    options: dict = dataclasses.field(default_factory=dict)  # of `wrap`
    export: dict | None = None  # options of jax.export when it goes through it; then dimensions may be symbolic
    wrap: typing.Callable = jax.jit  # or jax.pmap
    is_random: bool = False  # JAX may refuse it

    def build(self):
        with jax.enable_x64(self.x64):
            try:
                return self.lower()
            except Exception as error:  # whatever JAX raises
                if not self.is_random:
                    raise
                raise NotLowered(f"{type(error).__name__}: {str(error).splitlines()[0][:200]}") from error

    def binds(self):
        """arg0=4x3 for each argument with a symbolic dimension."""
        for number, argument in enumerate(self.arguments):
            if any(jax.export.is_symbolic_dim(d) for d in argument.shape):
                sizes = (str(SIZES[str(d)] if jax.export.is_symbolic_dim(d) else d) for d in argument.shape)
                yield f"arg{number}={'x'.join(sizes)}"

    def lower(self):
        jitted = self.wrap(self.function, **self.options)
        if self.export is not None:
            made = jax.export.export(jitted, **self.export)(*self.arguments)
            return Built(made.mlir_module(), artifact=made.mlir_module_serialized, binds=tuple(self.binds()))
        lowered = jitted.lower(*self.arguments)
        is_plain = self.wrap is jax.jit and "static_argnums" not in self.options
        jaxpr = jax.make_jaxpr(self.function)(*self.arguments) if is_plain else None
        return Built(lowered.as_text(), lowered, jaxpr)


def array(shape, dtype="float32"):
    return jax.ShapeDtypeStruct(tuple(shape), jnp.dtype(dtype))


def shape_of(rng, rank):
    return tuple(rng.randint(2, 7) for _ in range(rank))


FLOATS = ("float32", "bfloat16", "float16", "float64")
INTS = ("int32", "uint8", "int64")

UNARY_FLOAT = """exp exp2 expm1 log log1p tanh logistic sin cos tan asin acos atan sinh cosh asinh acosh atanh sqrt rsqrt
cbrt abs neg sign floor ceil round is_finite square erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e
integer_pow reciprocal""".split()
UNARY_INT = "abs neg sign population_count clz bitwise_not square".split()
UNARY_COMPLEX = "real imag abs neg exp log conj sqrt tanh sin cos expm1 log1p sign".split()
UNARY_NUMPY = """jnp.exp2 jnp.log2 jnp.log10 jnp.sinc jnp.deg2rad jnp.isnan jnp.isinf jnp.positive jnp.rint jnp.trunc
jnp.signbit jnp.i0 jnp.nan_to_num jnp.spacing jnp.frexp jnp.modf jax.nn.relu jax.nn.gelu jax.nn.silu jax.nn.elu
jax.nn.selu jax.nn.softplus jax.nn.hard_tanh jax.nn.hard_swish jax.nn.log_sigmoid jax.nn.softmax jax.nn.log_softmax
jax.nn.standardize jax.nn.glu jax.nn.mish jax.nn.celu jax.nn.leaky_relu jax.nn.squareplus jax.nn.relu6
jax.scipy.special.expit jax.scipy.special.ndtr jax.scipy.special.entr jax.scipy.special.i1 jax.scipy.special.gammaln
jax.scipy.special.log_ndtr jax.scipy.special.logsumexp""".split()
BINARY_FLOAT = """add sub mul div rem max min pow atan2 eq ne lt le gt ge nextafter complex igamma igammac""".split()
BINARY_INT = """add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical
shift_right_arithmetic eq ne lt le gt ge""".split()
BINARY_NUMPY = """jnp.add jnp.subtract jnp.multiply jnp.divide jnp.floor_divide jnp.mod jnp.remainder jnp.fmod jnp.power
jnp.float_power jnp.maximum jnp.minimum jnp.fmax jnp.fmin jnp.hypot jnp.arctan2 jnp.logaddexp jnp.logaddexp2 jnp.copysign
jnp.heaviside jnp.ldexp jnp.divmod jnp.isclose jnp.equal jnp.less jnp.logical_and jnp.logical_xor
jax.scipy.special.xlogy jax.scipy.special.betaln""".split()


def named(path):
    head, *rest = path.split(".")
    return functools.reduce(getattr, rest, {"jax": jax, "jnp": jnp}[head])


def lax_unary(name):
    if name == "integer_pow":
        return lambda x: lax.integer_pow(x, 3)
    return getattr(lax, name)


def unary(rng):
    for name in UNARY_FLOAT:
        for dtype in FLOATS if name in ("exp", "tanh", "abs", "neg", "sign") else (rng.choice(FLOATS), "float32"):
            yield f"lax.{name} {dtype}", lax_unary(name), (array(shape_of(rng, rng.randint(0, 3)), dtype),), True
    for name in UNARY_INT:
        for dtype in INTS:
            if not (name in ("neg", "sign", "abs") and dtype == "uint8"):
                yield f"lax.{name} {dtype}", lax_unary(name), (array(shape_of(rng, 2), dtype),), True
    for name in UNARY_COMPLEX:
        yield f"lax.{name} complex64", lax_unary(name), (array(shape_of(rng, 2), "complex64"),)
    for name in UNARY_NUMPY:
        yield name, named(name), (array((rng.randint(1, 4) * 2, rng.randint(1, 4) * 2)),)


def binary(rng):
    for name in BINARY_FLOAT:
        shape = shape_of(rng, rng.randint(0, 3))
        yield f"lax.{name} float32", getattr(lax, name), (array(shape), array(shape))
    for name in BINARY_INT:
        dtype, shape = rng.choice(INTS), shape_of(rng, 2)
        yield f"lax.{name} {dtype}", getattr(lax, name), (array(shape, dtype),) * 2, True
    for name in BINARY_NUMPY:
        m, n = shape_of(rng, 2)
        second = "int32" if name.endswith("ldexp") else "float32"
        yield name, named(name), (array((m, n)), array(rng.choice([(m, n), (1, n), (n,), (m, 1), ()]), second))
    for dtype in ("bfloat16", "complex64", "int32"):
        yield f"jnp.multiply {dtype}", jnp.multiply, (array((4, 1), dtype), array((1, 5), dtype))
    m, n = shape_of(rng, 2)
    yield "clamp", lax.clamp, (array((m, n)),) * 3
    yield "clamp scalar", lambda x: lax.clamp(-1.0, x, 1.0), (array((m, n)),)
    yield "select_n", lambda p, x, y: lax.select_n(p, x, y), (array((m, n), "bool"), array((m, n)), array((m, n)))
    yield "where", lambda x: jnp.where(x > 0, x, 0.1 * x), (array((m, n)),)
    yield "logical", lambda a, b: (a & b) | ~a ^ b, (array((m, n), "bool"),) * 2
    yield "polyval", lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x), (array((m, n)),)


TYPES = "bool int4 uint4 int8 uint16 int32 float16 bfloat16 float32 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz".split()


def conversion(rng):
    for source in TYPES:
        target = rng.choice([t for t in TYPES if t != source])
        yield f"{source} to {target}", lambda x, t=target: x.astype(t), (array(shape_of(rng, 2), source),)
    yield "complex to double", lambda x: x.astype("complex128"), (array((3, 4), "complex64"),), True
    yield "real to complex", lambda x: x.astype("complex64"), (array((3, 4)),)
    yield "bitcast same", lambda x: lax.bitcast_convert_type(x, "int32"), (array((3, 4)),)
    yield "bitcast narrow", lambda x: lax.bitcast_convert_type(x, "uint8"), (array((3, 4)),)
    yield "bitcast wide", lambda x: lax.bitcast_convert_type(x, "uint32"), (array((3, 4), "uint8"),)
    yield "reduce_precision", lambda x: lax.reduce_precision(x, 5, 10), (array((3, 4)),)


def dot(rng):
    for dtype in ("float32", "bfloat16", "int8", "complex64", "float16"):
        m, k, n = shape_of(rng, 3)
        yield f"matmul {dtype}", jnp.matmul, (array((m, k), dtype), array((k, n), dtype))
    b, c, m, k, n, l = shape_of(rng, 6)
    yield "matmul batched", jnp.matmul, (array((b, m, k)), array((b, k, n)))
    yield "matmul broadcast", jnp.matmul, (array((b, c, m, k)), array((k, n)))
    yield "matmul broadcast 1", jnp.matmul, (array((b, 1, m, k)), array((1, c, k, n)))
    yield "vdot", jnp.vdot, (array((k,)), array((k,)))
    yield "outer", jnp.outer, (array((m,)), array((n,)))
    yield "matvec", jnp.matmul, (array((m, k)), array((k,)))
    yield "vecmat", jnp.matmul, (array((k,)), array((k, n)))
    yield "tensordot", lambda x, y: jnp.tensordot(x, y, axes=2), (array((m, k, l)), array((k, l, n)))
    yield "kron", jnp.kron, (array((m, k)), array((n, l)))
    numbers = [(((1,), (0,)), ((), ())), (((0, 2), (2, 1)), ((), ())), (((2,), (1,)), ((0,), (2,))),
               (((), ()), ((0, 1), (0, 1))), (((0, 1, 2), (0, 1, 2)), ((), ()))]
    for number in numbers:
        (lhs_c, rhs_c), (lhs_b, rhs_b) = number
        lhs, rhs = list(shape_of(rng, 3)), list(shape_of(rng, 3))
        for i, j in zip(lhs_c + lhs_b, rhs_c + rhs_b):
            rhs[j] = lhs[i]
        yield (f"dot_general {number}", lambda x, y, d=number: lax.dot_general(x, y, d), (array(lhs), array(rhs)))
    yield ("preferred type", lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type="float32"),
           (array((m, k), "bfloat16"), array((k, n), "bfloat16")))
    yield "precision", lambda x, y: jnp.matmul(x, y, precision="highest"), (array((m, k)), array((k, n)))
    yield "ragged_dot", lax.ragged_dot, (array((m, k)), array((b, k, n)), array((b,), "int32"))
    for formula in ("ij,jk->ik", "bij,bjk->bik", "bhqd,bhkd->bhqk", "ij->ji", "ii->i", "ij->", "i,j->ij", "ij,jk,kl->il",
                    "abc,cd,bd->ad", "ijk,ijk->k", "bqhd,bkhd->bhqk", "...i,...i->...", "ij,ij->ij"):
        sizes = {letter: rng.randint(2, 6) for letter in "abcdefghijklqrs"}
        terms = [[sizes[x] for x in term.replace("...", "ab")] for term in formula.split("->")[0].split(",")]
        yield f"einsum {formula}", functools.partial(jnp.einsum, formula), tuple(array(t) for t in terms)


def conv(rng):
    def one(name, lhs, rhs, dtype="float32", **options):
        options.setdefault("window_strides", (1,) * (len(lhs) - 2))
        options.setdefault("padding", "VALID")
        return (name, lambda x, w: lax.conv_general_dilated(x, w, **options), (array(lhs, dtype), array(rhs, dtype)))

    n, c, o = (rng.randint(1, 4) for _ in range(3))
    h, w = rng.randint(6, 11), rng.randint(6, 11)
    for dtype in ("float32", "bfloat16", "int8", "complex64"):
        yield one(f"2d {dtype}", (n, c, h, w), (o, c, 3, 3), dtype)
    for padding in ("SAME", "SAME_LOWER", [(1, 2), (0, 3)], [(-1, 2), (5, -1)], [(4, 4), (4, 4)]):
        yield one(f"padding {padding}", (n, c, h, w), (o, c, 3, 3), padding=padding)
    for strides in ((2, 2), (3, 1), (4, 5)):
        yield one(f"strides {strides}", (n, c, h, w), (o, c, 3, 2), window_strides=strides, padding="SAME")
    for dilation in ((2, 2), (1, 3)):
        yield one(f"lhs_dilation {dilation}", (n, c, h, w), (o, c, 3, 3), lhs_dilation=dilation, padding=[(1, 1), (2, 2)])
        yield one(f"rhs_dilation {dilation}", (n, c, h, w), (o, c, 3, 3), rhs_dilation=dilation, padding=[(2, 3), (1, 0)])
    yield one("all", (n, c, h, w), (o, c, 4, 3), window_strides=(2, 3), padding=[(5, 1), (2, 4)], lhs_dilation=(3, 2),
              rhs_dilation=(2, 3))
    yield one("feature groups", (n, 6, h, w), (8, 3, 3, 3), feature_group_count=2, padding="SAME")
    yield one("depthwise", (n, 4, h, w), (8, 1, 3, 3), feature_group_count=4)
    yield one("batch groups", (4, c, h, w), (6, c, 3, 3), batch_group_count=2)
    yield one("1x1", (n, c, h, w), (o, c, 1, 1))
    yield one("1d", (n, c, h), (o, c, 5), padding="SAME")
    yield one("3d", (n, c, 5, 6, 7), (o, c, 2, 3, 3), padding="SAME", window_strides=(1, 2, 1))
    yield one("nhwc", (n, h, w, c), (3, 3, c, o), dimension_numbers=("NHWC", "HWIO", "NHWC"), padding="SAME")
    yield one("hwnc", (h, w, n, c), (3, 3, c, o), dimension_numbers=("HWNC", "HWIO", "NHWC"))
    yield one("kernel as large as input", (n, c, h, w), (o, c, h, w), padding=[(2, 2), (2, 2)])
    yield ("conv_transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), (array((n, h, w, c)), array((3, 3, c, o))))
    for strides, padding in (((1, 1), "SAME"), ((2, 2), "SAME"), ((2, 1), "VALID")):
        def loss(x, k, strides=strides, padding=padding):
            return jnp.sum(lax.conv_general_dilated(x, k, strides, padding) ** 2)
        yield f"grad {strides} {padding}", jax.grad(loss, (0, 1)), (array((n, c, h, w)), array((o, c, 3, 3)))
    yield ("vmap over kernels", jax.vmap(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME"), (None, 0)),
           (array((n, c, h, w)), array((3, o, c, 3, 3))))
    yield ("vmap over both", jax.vmap(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME")),
           (array((3, n, c, h, w)), array((3, o, c, 3, 3))))
    yield "jnp.convolve", lambda x, k: jnp.convolve(x, k), (array((h,)), array((3,)))
    yield ("patches", lambda x: lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME"), (array((n, c, h, w)),))


def reduction(rng):
    for name in "sum prod max min mean var std any all argmax argmin ptp median nansum nanmax count_nonzero".split():
        m, k, n = shape_of(rng, 3)
        function = getattr(jnp, name)
        axis = rng.choice([0, 1, 2] if name.startswith("arg") else [None, 0, 1, 2, (0, 2), (0, 1, 2), -1])
        yield f"{name} {axis}", lambda x, f=function, a=axis: f(x, axis=a), (array((m, k, n)),)
    m, k = shape_of(rng, 2)
    for dtype in ("int32", "bfloat16", "complex64", "uint8"):
        yield f"sum {dtype}", lambda x: jnp.sum(x, axis=1), (array((m, k), dtype),)
    yield "norm", jnp.linalg.norm, (array((m, k)),)
    yield "logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1), (array((m, k)),)
    yield "reduce of a pair", lambda x, i: lax.reduce((x, i), (jnp.float32(0), jnp.int32(0)), lambda a, b: (
        jnp.maximum(a[0], b[0]), jnp.where(a[0] > b[0], a[1], b[1])), (1,)), (array((m, k)), array((m, k), "int32"))
    yield ("reduce with exp", lambda x: lax.reduce(x, jnp.float32(0), lambda a, b: jnp.exp(a) + b * 2, (0,)), (array((m, k)),))
    yield "reduce nothing", lambda x: lax.reduce(x, jnp.float32(0), lax.add, ()), (array((m, k)),)
    yield "bitwise", lambda x: lax.reduce(x, jnp.int32(0), lax.bitwise_or, (0,)), (array((m, k), "int32"),)
    yield "trace", jnp.trace, (array((m, m)),)
    yield "layer norm", layer_norm, (array((m, k)), array((k,)), array((k,)))
    yield "batch norm", batch_norm, (array((m, 4, 4, k)), array((k,)), array((k,)))
    yield "average", lambda x, w: jnp.average(x, axis=0, weights=w), (array((m, k)), array((m,)))


def window(rng):
    n, h, w, c = rng.randint(1, 3), rng.randint(5, 9), rng.randint(5, 9), rng.randint(1, 4)
    image = array((n, h, w, c))

    def pool(x, initial, body, size, stride, padding, **options):
        return lax.reduce_window(x, initial, body, (1, *size, 1), (1, *stride, 1), padding, **options)

    for padding in ("SAME", "VALID", [(0, 0), (1, 0), (2, 1), (0, 0)]):
        for stride in ((1, 1), (2, 2), (3, 2)):
            yield (f"max pool {padding} {stride}",
                   lambda x, s=stride, p=padding: pool(x, -jnp.inf, lax.max, (3, 2), s, p), (image,))
    yield "average pool", lambda x: pool(x, 0.0, lax.add, (2, 2), (2, 2), "VALID") / 4, (image,)
    yield ("dilated", lambda x: pool(x, 0.0, lax.add, (2, 2), (1, 1), "VALID", base_dilation=(1, 2, 1, 1),
                                     window_dilation=(1, 1, 2, 1)), (image,))
    yield ("general body", lambda x: lax.reduce_window(x, jnp.float32(1), lambda a, b: a * jnp.sin(b), (1, 2, 2, 1),
                                                       (1, 1, 1, 1), "VALID"), (image,))
    yield "max pool int", lambda x: pool(x, -100, lax.max, (2, 2), (2, 2), "VALID"), (array(image.shape, "int32"),)
    for padding in ("SAME", "VALID"):
        for size, stride in (((2, 2), (2, 2)), ((3, 3), (2, 2)), ((3, 2), (1, 1))):
            def loss(x, s=size, t=stride, p=padding):
                return jnp.sum(pool(x, -jnp.inf, lax.max, s, t, p) ** 2)
            yield f"grad of max pool {padding} {size} {stride}", jax.grad(loss), (image,)
    yield ("grad of average pool", jax.grad(lambda x: jnp.sum(pool(x, 0.0, lax.add, (3, 3), (2, 2), "SAME") ** 2)), (image,))
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for reverse in (False, True):
            yield (f"lax.{name} {reverse}", lambda x, f=getattr(lax, name), r=reverse: f(x, axis=1, reverse=r),
                   (array(shape_of(rng, 3)),))
    yield "jnp.cumsum flat", jnp.cumsum, (array(shape_of(rng, 2), "int32"),)
    yield "cumsum of one", lambda x: jnp.cumsum(x, axis=0), (array((1, 5)),)
    yield "grad of cumsum", jax.grad(lambda x: jnp.sum(jnp.cumsum(x, axis=1) ** 2)), (array(shape_of(rng, 2)),)
    yield "associative_scan", lambda x: lax.associative_scan(jnp.add, x), (array((rng.randint(5, 13), 3)),)


def indexing(rng):
    m, n, k = (rng.randint(4, 9) for _ in range(3))
    x, rows = array((m, n)), array((k,), "int32")
    yield "take", lambda x, i: jnp.take(x, i, axis=0), (x, rows)
    yield "take clip", lambda x, i: jnp.take(x, i, axis=1, mode="clip"), (x, rows)
    yield "take fill", lambda x, i: jnp.take(x, i, axis=0, mode="fill"), (x, rows)
    yield "embedding", lambda x, i: x[i], (x, array((3, k), "int32"))
    yield "pairs", lambda x, i, j: x[i, j], (x, rows, rows)
    yield "scalar index", lambda x, i: x[i], (x, array((), "int32"))
    yield "negative", lambda x: x[-1], (x,)
    yield "strided", lambda x: x[::2, 1:], (x,)
    yield "reversed", lambda x: x[::-1], (x,)
    yield "mixed", lambda x, i: x[:, i, 1:3], (array((m, n, 5)), rows)
    yield "take_along_axis", lambda x, i: jnp.take_along_axis(x, i, axis=1), (x, array((m, k), "int32"))
    yield "one_hot", lambda i: jax.nn.one_hot(i, 7), (rows,)
    yield "diag", jnp.diag, (array((m,)),)
    yield "diagonal", jnp.diagonal, (array((m, m)),)
    for name in ("set", "add", "multiply", "min", "max", "divide", "power"):
        yield f"at rows {name}", lambda x, i, u, f=name: getattr(x.at[i], f)(u), (x, rows, array((k, n)))
        yield f"at scalar {name}", lambda x, f=name: getattr(x.at[1, 2], f)(2.0), (x,)
    yield "at slice set", lambda x, u: x.at[1:3, ::2].set(u), (x, array((2, (n + 1) // 2)))
    yield "at unique", lambda x, i, u: x.at[i].add(u, unique_indices=True, indices_are_sorted=True), (x, rows, array((k, n)))
    yield "grad of take", jax.grad(lambda x, i: jnp.sum(jnp.take(x, i, axis=0) ** 2)), (x, rows)
    yield "scatter apply", lambda x, i: x.at[i].apply(jnp.sin), (array((m,)), rows)
    yield "segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 5), (array((k, n)), rows)
    yield "bincount", lambda i: jnp.bincount(i, length=6), (rows,)
    yield "dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), (x, array((), "int32"))
    yield "dynamic_index", lambda x, i: lax.dynamic_index_in_dim(x, i, 1), (x, array((), "int32"))
    yield "dynamic_update_slice", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)), (x, array((2, 2)), array((), "int32"))
    yield "vmap dynamic_slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))), (x, array((m,), "int32"))
    yield ("vmap dynamic_update", jax.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,))),
           (x, array((m, 2)), array((m,), "int32")))
    yield "nonzero", lambda x: jnp.nonzero(x, size=4), (x,)
    yield "searchsorted", jnp.searchsorted, (array((m,)), array((k,)))
    yield "interp", jnp.interp, (array((k,)), array((m,)), array((m,)))


def shaping(rng):
    m, n, k = shape_of(rng, 3)
    x = array((m, n))
    yield "concatenate", lambda a, b: jnp.concatenate([a, b], 1), (x, array((m, k)))
    yield "concatenate many", lambda a, b: jnp.concatenate([a, b, a, a]), (x, x)
    yield "stack", lambda a, b: jnp.stack([a, b], 1), (x, x)
    yield "split", lambda a: jnp.split(a, 2, axis=0), (array((4, n)),)
    yield "tile", lambda a: jnp.tile(a, (2, 3)), (x,)
    yield "repeat", lambda a: jnp.repeat(a, 3, axis=1), (x,)
    yield "pad", lambda a: jnp.pad(a, ((1, 2), (0, 3))), (x,)
    yield "lax.pad", lambda a: lax.pad(a, 0.0, ((1, -1, 2), (0, 3, 0))), (x,)
    for mode in ("edge", "reflect", "wrap", "mean"):
        yield f"pad {mode}", lambda a, mode=mode: jnp.pad(a, 1, mode=mode), (x,)
    yield "transpose", lambda a: a.T, (x,)
    yield "transpose 3", lambda a: a.transpose(2, 0, 1), (array((m, n, k)),)
    yield "transpose 1", lambda a: a.transpose(1, 0), (array((1, n)),)
    yield "reshape", lambda a: a.reshape(-1), (x,)
    yield "broadcast", lambda a: jnp.broadcast_to(a, (k, m, n)), (x,)
    yield "broadcast 1", lambda a: jnp.broadcast_to(a, (k, m, n)), (array((m, 1)),)
    yield "expand", lambda a: a[:, None, :, None], (x,)
    yield "squeeze", jnp.squeeze, (array((1, m, 1)),)
    yield "iota", lambda a: a + lax.broadcasted_iota("float32", (m, n), 1), (x,)
    yield "arange", lambda a: a * jnp.arange(n), (x,)
    yield "linspace", lambda a: jnp.linspace(a, 1.0, 7), (array(()),)
    yield "eye", lambda a: a @ jnp.eye(n), (x,)
    yield "tril", jnp.tril, (x,)
    yield "triu", jnp.triu, (array((3, m, n)),)
    yield "roll", lambda a: jnp.roll(a, 2, axis=1), (x,)
    yield "roll dynamic", lambda a, s: jnp.roll(a, s, axis=1), (x, array((), "int32"))
    yield "flip", jnp.flip, (x,)
    yield "rot90", jnp.rot90, (x,)
    yield "meshgrid", jnp.meshgrid, (array((m,)), array((n,)))
    yield "vander", jnp.vander, (array((m,)),)
    yield "zeros", lambda a: jnp.zeros_like(a), (x,)
    yield "constants", lambda a: a + jnp.array([[float(i * j) for i in range(n)] for j in range(m)]), (x,)
    yield "packed 4-bit", lambda a: a.astype("int8") + 1, (array((m, n), "int4"),)
    yield "barrier", lambda a, b: lax.optimization_barrier((a, b)), (x, x)
    yield "barrier one", lax.optimization_barrier, (x,)
    yield "empty array", lambda a: a * 2, (array((0, n)),)
    yield "unused argument", lambda a, b: a + 1, (x, x)
    yield "no arguments", lambda: jnp.arange(6) * 2, ()


def sorting(rng):
    m, n = rng.randint(3, 9), rng.randint(3, 17)
    x = array((m, n))
    yield "sort", jnp.sort, (x,)
    yield "sort 0", lambda a: jnp.sort(a, axis=0, descending=True), (x,)
    yield "sort int", jnp.sort, (array((n,), "int32"),)
    yield "sort bfloat16", jnp.sort, (array((n,), "bfloat16"),)
    yield "argsort", jnp.argsort, (x,)
    yield "lexsort", lambda a, b: jnp.lexsort((a, b)), (array((n,)), array((n,)))
    yield "sort keys", lambda a, b: lax.sort((a, b), num_keys=2), (x, x)
    yield "top_k", lambda a: lax.top_k(a, 3), (x,)
    yield "approx_max_k", lambda a: lax.approx_max_k(a, 2), (x,)
    yield "unique", lambda a: jnp.unique(a, size=4), (array((n,), "int32"),)
    yield "quantile", lambda a: jnp.quantile(a, 0.3, axis=1), (x,)
    yield "rank", lambda a: jnp.argsort(jnp.argsort(a)), (array((n,)),)
    yield "grad of sort", jax.grad(lambda a: jnp.sum(jnp.sort(a)[:2] ** 2)), (array((n,)),)
    yield "sort complex", jnp.sort, (array((n,), "complex64"),)


def control(rng):
    m, n = shape_of(rng, 2)
    trips = rng.randint(3, 9)
    x, scalar = array((m, n)), array((), "int32")

    def scan(body, xs=None, length=None):
        return lambda c, *rest: lax.scan(body, c, rest[0] if rest else xs, length)

    yield "fori", lambda a: lax.fori_loop(0, trips, lambda i, a: jnp.sin(a) * i, a), (x,)
    yield "fori dynamic", lambda a, k: lax.fori_loop(0, k, lambda i, a: a * 2, a), (x, scalar)
    yield "while", lambda a: lax.while_loop(lambda a: jnp.sum(a) < 10, lambda a: a + 1, a), (x,)
    yield "while pair", lambda a: lax.while_loop(lambda s: s[0] < trips, lambda s: (s[0] + 1, s[1] @ s[1].T @ s[1]), (0, a)), (x,)
    yield "while capture", lambda a, b: lax.while_loop(lambda a: jnp.sum(a) < jnp.sum(b), lambda a: a + b, a), (x, x)
    yield "scan", scan(lambda c, y: (c + y, c * y)), (array((n,)), array((trips, n)))
    yield "scan carry", scan(lambda c, _: (jnp.tanh(c), None), length=trips), (x,)
    yield "scan reverse", lambda c, y: lax.scan(lambda c, y: (c + y, c), c, y, reverse=True), (array((n,)), array((trips, n)))
    yield "scan unroll", lambda c, y: lax.scan(lambda c, y: (c + y, c), c, y, unroll=2), (array((n,)), array((4, n)))
    yield "scan capture", lambda c, y, w: lax.scan(lambda c, y: (jnp.tanh(c @ w + y), c), c, y), (
        array((n,)), array((trips, n)), array((n, n)))
    yield "scan tuple", lambda c, y: lax.scan(lambda c, y: ((c[0] + y, c[1] * 2), (c[0], c[1])), (c, c), y), (
        array((n,)), array((trips, n)))
    yield "scan in scan", lambda c: lax.scan(lambda c, _: (lax.scan(lambda d, _: (d @ d, None), c, None, 3)[0], None), c, None,
                                             trips), (array((n, n)),)
    yield "grad of scan", jax.grad(lambda c, y: jnp.sum(lax.scan(lambda c, y: (jnp.sin(c * y), c), c, y)[0])), (
        array((n,)), array((trips, n)))
    yield "remat scan", jax.grad(lambda c, w: jnp.sum(lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c @ w), None)), c, None,
                                                               trips)[0])), (x, array((n, n)))
    yield "cond", lambda p, a: lax.cond(p, lambda a: a * 2, lambda a: jnp.exp(a) + 1, a), (array((), "bool"), x)
    yield "cond pair", lambda p, a: lax.cond(p, lambda a: (a, a + 1), lambda a: (a * a, a), a), (array((), "bool"), x)
    yield "cond capture", lambda p, a, b: lax.cond(p, lambda a: a * b + b, lambda a: a - b, a), (array((), "bool"), x, x)
    yield "cond constant", lambda p: lax.cond(p, lambda: 1.0, lambda: 2.0), (array((), "bool"),)
    yield "switch", lambda i, a: lax.switch(i, [jnp.sin, lambda a: a @ a.T @ a, lambda a: a + 1], a), (scalar, x)
    yield "switch captures", lambda i, a, b: lax.switch(i, [lambda: a, lambda: a + b, lambda: b * 2]), (scalar, x, x)
    yield "cond in scan", lambda c, y: lax.scan(lambda c, y: (lax.cond(y[0] > 0, lambda: c + y, lambda: c * 2), None), c, y), (
        array((n,)), array((trips, n)))
    yield "map", lambda a: lax.map(lambda r: jnp.exp(r) / jnp.sum(r), a), (x,)
    yield "vmap of while", jax.vmap(lambda a: lax.while_loop(lambda a: a < 10, lambda a: a * 2, a)), (array((m,)),)
    yield "vmap of cond", jax.vmap(lambda p, a: lax.cond(p, jnp.sin, jnp.cos, a)), (array((m,), "bool"), array((m,)))
    yield "inner jit", lambda a: jax.jit(jnp.tanh)(jax.jit(jnp.tanh)(a)), (x,)
    yield "custom_jvp", jax.grad(lambda a: jnp.sum(jax.nn.relu(a) ** 2)), (x,)
    yield "fori vmap", jax.vmap(lambda a: lax.fori_loop(0, 3, lambda i, a: a * i, a)), (x,)


def linalg(rng):
    n, b, k = rng.randint(3, 6), rng.randint(2, 4), rng.randint(2, 4)
    square = array((n, n))
    for name in ("cholesky", "qr", "svd", "eigh", "inv", "det", "slogdet", "pinv", "lu"):
        function = jax.scipy.linalg.lu if name == "lu" else getattr(jnp.linalg, name)
        yield name, function, (square,)
    yield "cholesky batched", jnp.linalg.cholesky, (array((b, n, n)),)
    yield "lax cholesky", lambda a: lax.linalg.cholesky(a, symmetrize_input=False), (square,)
    for left in (True, False):
        shape = (n, k) if left else (k, n)
        yield (f"triangular_solve {left}", lambda a, y, s=left: lax.linalg.triangular_solve(a, y, left_side=s, lower=True),
               (square, array(shape)))
    yield ("triangular_solve batched", lambda a, y: lax.linalg.triangular_solve(a, y, left_side=True, transpose_a=True),
           (array((b, n, n)), array((b, n, k))))
    yield "solve", jnp.linalg.solve, (square, array((n, k)))
    yield "lstsq", lambda a, y: jnp.linalg.lstsq(a, y)[0], (array((n + 2, n)), array((n + 2,)))
    yield "grad of cholesky", jax.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a))), (square,)
    yield "matrix_power", lambda a: jnp.linalg.matrix_power(a, 5), (square,)
    yield "expm", jax.scipy.linalg.expm, (square,)
    yield "cholesky complex", jnp.linalg.cholesky, (array((n, n), "complex64"),)


def numeric(rng):
    n = rng.choice([8, 12, 16])
    key = array((2,), "uint32")
    for name in ("fft", "ifft", "rfft"):
        dtype = "float32" if name == "rfft" else "complex64"
        yield f"{name} {n}", getattr(jnp.fft, name), (array((3, n), dtype),)
    yield "irfft", lambda a: jnp.fft.irfft(a, n), (array((3, n // 2 + 1), "complex64"),)
    yield "fft2", jnp.fft.fft2, (array((2, 8, 6), "complex64"),)
    yield "fftn", jnp.fft.fftn, (array((4, 8, 4), "complex64"),)
    yield "rfftn", jnp.fft.rfftn, (array((4, 8, 4)),)
    yield "fftshift", jnp.fft.fftshift, (array((n,)),)
    yield "random bits", lambda k: jax.random.bits(k, (n, 3)), (key,)
    for name in ("uniform", "normal", "bernoulli", "gumbel", "exponential", "laplace", "cauchy", "truncated_normal"):
        extra = {"bernoulli": (0.3, (n, 3)), "truncated_normal": (-1.0, 1.0, (n, 3))}.get(name, ((n, 3),))
        yield f"random.{name}", lambda k, f=getattr(jax.random, name), e=extra: f(k, *e), (key,)
    yield "random.randint", lambda k: jax.random.randint(k, (n,), 0, 10), (key,)
    yield "random.split", lambda k: jax.random.split(k, 3), (key,)
    yield "random.permutation", lambda k: jax.random.permutation(k, n), (key,)
    yield "random.categorical", jax.random.categorical, (key, array((4, 5)))
    yield "random.gamma", lambda k: jax.random.gamma(k, 2.0, (n,)), (key,)
    yield "random uniform bfloat16", lambda k: jax.random.uniform(k, (n,), "bfloat16"), (key,)
    yield "random uniform double", lambda k: jax.random.uniform(k, (n,), "float64"), (key,), True
    for algorithm in ("RNG_DEFAULT", "RNG_PHILOX", "RNG_THREE_FRY"):
        generator = getattr(lax.RandomAlgorithm, algorithm)
        yield (f"rng_bit_generator {algorithm}", lambda k, g=generator: lax.rng_bit_generator(k, (n, 3), "uint32", g),
               (array((4,), "uint32"),))
    yield "rng_uniform", lambda a, b: lax.rng_uniform(a, b, (n, 2)), (array(()), array(()))


def layer_norm(x, gain, bias):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias


def batch_norm(x, gain, bias):
    return (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5) * gain + bias


def attention(q, k, v, mask=True):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if mask:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)


def mlp(parameters, x):
    for w, b in parameters:
        x = jax.nn.gelu(x @ w + b)
    return x


def convnet(kernels, x):
    for kernel in kernels:
        x = jax.nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))


def models(rng):
    b, i, h, o = shape_of(rng, 4)
    parameters = [(array((i, h)), array((h,))), (array((h, o)), array((o,)))]
    labels = array((b,), "int32")

    def loss(p, x, y):
        return cross_entropy(mlp(p, x), y)

    yield "mlp", mlp, (parameters, array((b, i)))
    yield "mlp loss", loss, (parameters, array((b, i)), labels)
    yield "mlp grad", jax.grad(loss), (parameters, array((b, i)), labels)
    yield "mlp value and grad", jax.value_and_grad(loss), (parameters, array((b, i)), labels)
    yield "mlp vmap", jax.vmap(mlp, (None, 0)), (parameters, array((3, b, i)))
    yield "mlp per-example grad", jax.vmap(jax.grad(loss), (None, 0, 0)), (parameters, array((3, b, i)), array((3, b), "int32"))
    yield ("mlp sgd", lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y)),
           (parameters, array((b, i)), labels))
    yield "mlp hessian", jax.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 2)), (array((i,)),)
    yield "mlp jacobian", jax.jacrev(lambda w, x: jnp.tanh(x @ w)), (array((i, o)), array((b, i)))
    yield "mlp jvp", lambda w, x: jax.jvp(lambda w: jnp.tanh(x @ w), (w,), (w,)), (array((i, o)), array((b, i)))
    q = array((2, 5, 2, 4))
    for dtype in ("float32", "bfloat16"):
        qq = array(q.shape, dtype)
        yield f"attention {dtype}", attention, (qq, qq, qq)
        yield f"attention grad {dtype}", jax.grad(lambda *a: jnp.sum(attention(*a)), (0, 1, 2)), (qq, qq, qq)
    yield "attention plain", functools.partial(attention, mask=False), (q, q, q)
    yield "jax.nn.dot_product_attention", jax.nn.dot_product_attention, (q, q, q)
    kernels = [array((3, 3, 3, 4)), array((3, 3, 4, 2))]
    image = array((b, 8, 8, 3))
    yield "convnet", convnet, (kernels, image)
    yield "convnet grad", jax.grad(lambda k, x: jnp.sum(convnet(k, x))), (kernels, image)
    yield "layer norm grad", jax.grad(lambda *a: jnp.sum(layer_norm(*a) ** 2), (0, 1, 2)), (array((b, h)), array((h,)), array((h,)))
    yield "softmax grad", jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) ** 2)), (array((b, h)),)
    yield "remat", jax.grad(lambda p, x: jnp.sum(jax.checkpoint(mlp)(p, x))), (parameters, array((b, i)))
    yield ("adam", lambda p, m, v, g: (p - 1e-3 * (0.9 * m + 0.1 * g) / (jnp.sqrt(0.999 * v + 0.001 * g * g) + 1e-8)),
           (array((b, i)),) * 4)
    yield ("rnn", lambda w, u, c, x: lax.scan(lambda c, x: (jnp.tanh(c @ w + x @ u), c), c, x),
           (array((h, h)), array((i, h)), array((b, h)), array((4, b, i))))
    yield ("stacked layers grad", jax.grad(lambda w, x: jnp.sum(lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0])),
           (array((3, h, h)), array((b, h))))
    yield "quantised matmul", lambda x, w, s: (x.astype("bfloat16") @ w.astype("bfloat16")) * s, (
        array((b, i)), array((i, o), "int8"), array((o,), "bfloat16"))


CATEGORIES = [unary, binary, conversion, dot, conv, reduction, window, indexing, shaping, sorting, control, linalg, numeric,
              models]


def all_cases(count, categories):
    """Rounds of the categories until there are `count` cases; at least one round."""
    number = 0
    seed = 0
    while number < max(count, 1):
        for generator in categories:
            for made in generator(random.Random(f"{generator.__name__} {seed}")):
                suffix = f" #{seed}" if seed else ""
                if isinstance(made, Case):
                    yield dataclasses.replace(made, category=generator.__name__, name=made.name + suffix)
                else:
                    name, function, arguments, *rest = made
                    yield Case(generator.__name__, name + suffix, function, tuple(arguments), bool(rest))
                number += 1
        seed += 1


def cases(count):
    """The programs of this file."""
    return all_cases(count, CATEGORIES)
