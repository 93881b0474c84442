"""How far two right evaluations of a program may differ: a jaxpr is evaluated with every float result of every primitive moved
by as much as its definition leaves open (Monte Carlo arithmetic: D. Parker, UCLA CSD-970002, 1997). The spread over some
samples is the tolerance of an output; integers, booleans and whatever else must be exact is not moved, and what does not depend
on a moved value has no spread.

What is left open, in units of the last place of the result's type (u = 2^-p, p = bits of the significand):

  elementwise           2 ulp; exact ones (neg, abs, max, select, conversions that widen, ...) nothing
  sums of K terms       K u times the sum of the magnitudes of the terms: any order, any grouping, fused or not
  factorizations, FFT   the operand moves by 4 n u of its largest magnitude (backward error), the result by 2 ulp
"""
import functools
import math

import jax
import jax.numpy as jnp
import numpy
from jax import lax
from jax.extend import core

ULPS = 2
NUMBERS = 1 << 15
# The compiler is not to spend time on what runs a few times.
FAST_COMPILE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

# Primitives whose float results are exact: they move, choose or compare.
EXACT = set("""
neg abs max min sign floor ceil round is_finite eq ne lt le gt ge eq_to lt_to le_to select_n clamp real imag complex
conj copy copy_p reshape transpose broadcast_in_dim squeeze expand_dims slice dynamic_slice dynamic_update_slice
gather concatenate pad rev sort iota scatter reduce_max reduce_min reduce_and reduce_or reduce_xor argmax argmin
cummax cummin split tile select_and_gather_add reduce_window_max reduce_window_min bitcast_convert_type
reduce_precision stop_gradient nextafter optimization_barrier random_bits random_seed random_wrap random_unwrap
random_split random_fold_in threefry2x32 rng_bit_generator top_k approx_top_k scatter_min scatter_max
select_and_scatter and or not xor shift_left shift_right_logical shift_right_arithmetic population_count clz empty
create_token axis_index ppermute all_gather all_to_all pmax pmin pvary device_put sharding_constraint
ragged_all_to_all all_gather_invariant psum_invariant pbroadcast reshard
""".split())

CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr",
         "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_lin": "jaxpr",
         "custom_vjp_call_jaxpr": "fun_jaxpr", "remat": "jaxpr", "composite": "jaxpr", "custom_jvp_call_jaxpr": "fun_jaxpr"}

LINEAR_ALGEBRA = set("""
cholesky lu qr geqrf householder_product svd eigh eig schur triangular_solve tridiagonal tridiagonal_solve
lu_pivots_to_permutation hessenberg fft custom_linear_solve symmetric_product""".split())


# Algorithms of many steps behind one name: ulp of each result.
STEPS = {"random_gamma": 16, "random_gamma_grad": 64, "igamma_grad_a": 64}

# Near their zeros only the absolute error of XLA's approximations is small: ulp of the larger of the result and 1.
ABSOLUTE = {"lgamma": 8, "digamma": 8}


def is_float(value):
    return jnp.issubdtype(value.dtype, jnp.inexact)


def real_type(dtype):
    return {"complex64": jnp.dtype("float32"), "complex128": jnp.dtype("float64")}.get(str(dtype), jnp.dtype(dtype))


def unit(dtype):
    """Relative size of one ulp at most: 2^(1-p)."""
    return float(jnp.finfo(real_type(dtype)).eps)


class Noise:
    """Evaluates a jaxpr with moved results. `numbers`: NUMBERS of them in [-1, 1], of one sample; zeros move nothing."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.number = 0
        self.is_moved = False  # whether anything was moved at all
        self.moved = {}  # primitive: how often

    def signs(self, shape):
        """Numbers in [-1, 1] that differ by place and element: pieces of one random array."""
        self.number += 1
        count = math.prod(shape)
        if count > NUMBERS // 2:
            return jnp.resize(self.numbers, shape)
        first = self.number * 7919 % (NUMBERS - count)
        return lax.slice(self.numbers, (first,), (first + count,)).reshape(shape)

    def move(self, value, magnitude=None, units=ULPS):
        """value + noise of `units` ulp of the magnitude (its own when there is none)."""
        if not is_float(value) or 0 in value.shape:
            return value
        self.is_moved = True
        real = real_type(value.dtype)
        wide = jnp.float64 if real == jnp.float64 else jnp.float32
        if jnp.issubdtype(value.dtype, jnp.complexfloating) and magnitude is None:
            magnitude = jnp.abs(value)

        def one(part):
            noise = self.signs(part.shape).astype(wide) * (units * unit(value.dtype))
            if magnitude is None:
                return (part.astype(wide) * (1 + noise)).astype(real)
            moved = part.astype(wide) + jnp.real(magnitude).astype(wide) * noise
            return jnp.where(jnp.isfinite(part) & jnp.isfinite(moved), moved.astype(real), part)

        if jnp.issubdtype(value.dtype, jnp.complexfloating):
            return lax.complex(one(jnp.real(value)), one(jnp.imag(value)))
        return one(value)

    # ---- evaluation

    def closed(self, jaxpr, arguments):
        return self.jaxpr(jaxpr.jaxpr, jaxpr.consts, arguments)

    def jaxpr(self, jaxpr, consts, arguments):
        values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments]))

        def read(v):
            return v.val if isinstance(v, core.Literal) else values[v]

        for eqn in jaxpr.eqns:
            out = self.equation(eqn, [read(v) for v in eqn.invars])
            values.update(zip(eqn.outvars, out))
        return [read(v) for v in jaxpr.outvars]

    def equation(self, eqn, operands):
        name = eqn.primitive.name
        if name in CALLS:
            inner = eqn.params[CALLS[name]]
            return self.closed(inner, operands) if hasattr(inner, "consts") else self.jaxpr(inner, (), operands)
        special = getattr(self, f"on_{name}", None)
        if special is not None:
            return special(eqn, operands)
        if name in LINEAR_ALGEBRA:
            operands = [self.backward(v) for v in operands]
        out = self.bind(eqn, operands)
        is_exact = name in EXACT and not (name in ("abs", "sign") and jnp.iscomplexobj(operands[0]))
        if is_exact or not any(is_float(v) for v in out if hasattr(v, "dtype")):
            return out
        self.moved[name] = self.moved.get(name, 0) + 1
        magnitudes = self.magnitudes(eqn, operands)
        own = (None, STEPS.get(name, ULPS))
        return [self.move(v, *(m or own)) for v, m in zip(out, magnitudes or [None] * len(out))]

    @staticmethod
    def bind(eqn, operands):
        parameters = eqn.primitive.get_bind_params(eqn.params)
        functions, parameters = parameters if isinstance(parameters, tuple) else ((), parameters)
        out = eqn.primitive.bind(*functions, *operands, **parameters)
        return list(out) if eqn.primitive.multiple_results else [out]

    def backward(self, value):
        if not is_float(value) or value.ndim == 0:
            return value
        largest = jnp.max(jnp.abs(value), axis=tuple(range(value.ndim))[-2:], keepdims=True)
        n = max(value.shape[-2:])
        return self.move(value, jnp.broadcast_to(largest, value.shape), 4 * n)

    def magnitudes(self, eqn, operands):
        """[(sum of the magnitudes of the terms, number of terms)] per result, of primitives that add up; else None."""
        name = eqn.primitive.name
        if name in ABSOLUTE:
            (operand,) = operands
            return [(jnp.maximum(jnp.abs(self.bind(eqn, [operand])[0]), 1), ABSOLUTE[name])]
        rule = SUMS.get(name)
        if rule is None:
            return None
        terms = rule(eqn, operands)
        absolute = [jnp.abs(v).astype(v.dtype if not jnp.iscomplexobj(v) else real_type(v.dtype)) if is_float(v) else
                    (jnp.abs(v) if jnp.issubdtype(v.dtype, jnp.signedinteger) and name == "dot_general" else v)
                    for v in operands]
        kind = real_type(eqn.outvars[0].aval.dtype)
        parameters = dict(eqn.params)
        if parameters.get("preferred_element_type") is not None and name in ("dot_general", "conv_general_dilated"):
            parameters["preferred_element_type"] = kind
        with jax.numpy_dtype_promotion("standard"):
            functions, parameters = (), eqn.primitive.get_bind_params(parameters)
            if isinstance(parameters, tuple):
                functions, parameters = parameters
            out = eqn.primitive.bind(*functions, *absolute, **parameters)
        out = list(out) if eqn.primitive.multiple_results else [out]
        return [(m, terms) for m in out]

    def on_while(self, eqn, operands):
        p = eqn.params
        first, second = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
        conditions, bodies, carry = operands[:first], operands[first:second], operands[second:]

        def goes_on(carry):
            return self.closed(p["cond_jaxpr"], [*conditions, *carry])[0]

        def step(carry):
            new = self.closed(p["body_jaxpr"], [*bodies, *carry])
            lanes = goes_on(carry)  # of a mapped loop: one condition per lane, over leading dimensions
            if lanes.ndim == 0:
                return tuple(new)
            return tuple(jnp.where(lanes.reshape(lanes.shape + (1,) * (n.ndim - lanes.ndim)), n, c)
                         for n, c in zip(new, carry))

        return list(lax.while_loop(lambda c: jnp.any(goes_on(c)), step, tuple(carry)))

    def on_scan(self, eqn, operands):
        p = eqn.params
        first, second = p["num_consts"], p["num_consts"] + p["num_carry"]
        consts, carry, xs = operands[:first], operands[first:second], operands[second:]

        def step(c, x):
            out = self.closed(p["jaxpr"], [*consts, *c, *x])
            return tuple(out[:p["num_carry"]]), tuple(out[p["num_carry"]:])

        carry, ys = lax.scan(step, tuple(carry), tuple(xs), length=p["length"], reverse=p["reverse"])
        return [*carry, *ys]

    def on_cond(self, eqn, operands):
        branches = [functools.partial(lambda b, *a: tuple(self.closed(b, list(a))), b) for b in eqn.params["branches"]]
        return list(lax.switch(operands[0], branches, *operands[1:]))

    def on_convert_element_type(self, eqn, operands):
        """Exact when it widens."""
        out = self.bind(eqn, operands)
        if not is_float(out[0]) or (is_float(operands[0]) and unit(out[0].dtype) <= unit(operands[0].dtype)):
            return out
        return [self.move(out[0], units=1)]

    def on_sharding_constraint(self, eqn, operands):
        """Where values lie makes no difference here, and costs the compiler a partition."""
        return operands

    def on_shard_map(self, eqn, operands):
        p = eqn.params
        mapped = jax.shard_map(lambda *a: tuple(self.jaxpr(p["jaxpr"], (), list(a))), mesh=p["mesh"],
                               in_specs=tuple(p["in_specs"]), out_specs=tuple(p["out_specs"]), check_vma=False)
        return list(mapped(*operands))


def product(shape, dims):
    return math.prod(shape[d] for d in dims)


def reduced(eqn, operands):
    return 1 + product(operands[0].shape, eqn.params["axes"])


def contracted(eqn, operands):
    (dims, _), _ = eqn.params["dimension_numbers"]
    return 2 * (1 + product(operands[0].shape, dims))


# Sums: how many rounded operations one element takes at most.
SUMS = {
    "reduce_sum": reduced,
    "dot_general": contracted,
    "ragged_dot_general": lambda eqn, operands: 2 * (1 + max(operands[0].shape)),
    "conv_general_dilated": lambda eqn, operands: 2 * (1 + math.prod(operands[1].shape)),
    "cumsum": lambda eqn, operands: operands[0].shape[eqn.params["axis"]],
    "reduce_window_sum": lambda eqn, operands: 1 + math.prod(eqn.params["window_dimensions"]),
    "scatter_add": lambda eqn, operands: 1 + math.prod(operands[2].shape),
    "select_and_scatter_add": lambda eqn, operands: 1 + math.prod(eqn.params["window_dimensions"]),
    "psum": lambda eqn, operands: 9,
}


class Spread:
    """The moved evaluations of one jaxpr."""

    def __init__(self, jaxpr):
        self.moved, self.is_moved = {}, False  # once traced

        def run(numbers, arguments):
            noise = Noise(numbers)
            out = noise.closed(jaxpr, arguments)
            self.moved, self.is_moved = noise.moved, noise.is_moved
            return out

        self.function = jax.jit(run, compiler_options=FAST_COMPILE)
        jax.eval_shape(run, jax.ShapeDtypeStruct((NUMBERS,), jnp.float32), jaxpr.in_avals)

    def is_elementwise(self, names):
        """Whether the program leaves one elementwise operation open."""
        return sum(self.moved.values()) == 1 and not set(self.moved) & (set(SUMS) | LINEAR_ALGEBRA) \
            and not names & ({"while", "scan", "reduce_prod", "reduce", "cumprod", "cumlogsumexp", *STEPS} | LINEAR_ALGEBRA)

    def sample(self, number, arguments):
        """Outputs of sample `number`; of 0: not moved."""
        numbers = numpy.random.default_rng(number).uniform(-1, 1, NUMBERS) * (number > 0)
        return [numpy.asarray(a) for a in self.function(numbers.astype("float32"), arguments)]


WIDE = {"float32": "float64", "bfloat16": "float64", "float16": "float64", "complex64": "complex128"}
# What depends on the format of its operand, not on its value.
OF_FORMAT = {"bitcast_convert_type", "nextafter", "reduce_precision", "random_bits", "threefry2x32", "rng_bit_generator",
             "shard_map"}


def widened(value):
    value = jnp.asarray(value) if not hasattr(value, "dtype") else value
    return value.astype(WIDE[str(value.dtype)]) if str(value.dtype) in WIDE else value


class Wide(Noise):
    """Evaluates a jaxpr in double precision throughout, but for values of formats below 16 bits: the judge where JAX and
    the interpreter differ."""

    def __init__(self):
        super().__init__(None)

    def jaxpr(self, jaxpr, consts, arguments):
        return super().jaxpr(jaxpr, [widened(c) for c in consts], arguments)

    def move(self, value, magnitude=None, units=ULPS):
        return value

    def magnitudes(self, eqn, operands):
        return None

    def backward(self, value):
        return value

    @staticmethod
    def bind(eqn, operands):
        parameters = {k: numpy.dtype(WIDE[str(v)]) if k.endswith(("dtype", "element_type")) and str(v) in WIDE else v
                      for k, v in eqn.params.items()}
        functions, parameters = (), eqn.primitive.get_bind_params(parameters)
        if isinstance(parameters, tuple):
            functions, parameters = parameters
        out = eqn.primitive.bind(*functions, *(widened(v) for v in operands), **parameters)
        return list(out) if eqn.primitive.multiple_results else [out]

    def on_convert_element_type(self, eqn, operands):
        return self.bind(eqn, operands)


def wide_values(jaxpr, arguments):
    """Outputs in double precision; raises where a primitive does not exist there."""
    with jax.enable_x64(True):
        evaluate = jax.jit(lambda a: Wide().closed(jaxpr, a), compiler_options=FAST_COMPILE)
        out = evaluate([widened(numpy.asarray(v)) for v in arguments])
        return [numpy.asarray(v) for v in out]
