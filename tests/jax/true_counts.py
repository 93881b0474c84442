"""Floating operations of a jaxpr, counted without StableHLO: what `true` counts must be for programs made of plain
primitives. `count(jaxpr)` gives {"matrix", "vector", "function"}; a value is None when something in the program has no
simple closed form (a loop of unknown length, a primitive that JAX expands while lowering)."""
import math

import numpy

MOVES = """reshape transpose broadcast_in_dim slice squeeze concatenate pad iota rev stop_gradient copy copy_p split
dynamic_slice dynamic_update_slice expand_dims optimization_barrier real imag complex empty bitcast_convert_type
pvary name random_wrap random_unwrap""".split()
ONE_VECTOR = "add sub mul neg max min abs floor ceil round sign add_any square is_finite reduce_precision".split()
ONE_FUNCTION = "exp log log1p expm1 tanh sin cos sqrt rsqrt cbrt erf div pow rem atan2".split()
COMPARES = "eq ne lt le gt ge".split()
CALLS = {"pjit": "jaxpr", "jit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
         "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "checkpoint": "jaxpr", "remat": "jaxpr",
         "remat2": "jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "composite": "jaxpr",
         "shard_map": "jaxpr"}  # shard_map: of one device
REDUCTIONS = "reduce_sum reduce_max reduce_min reduce_prod".split()


class Unknown(Exception):
    """Something has no simple closed form."""


def is_float(variable):
    return str(variable.aval.dtype).startswith(("float", "bfloat"))


def size(variable):
    return math.prod(variable.aval.shape)


def inner(parameter):
    return getattr(parameter, "jaxpr", parameter)


def dot_flops(equation):
    """An algorithm such as BF16_BF16_F32_X3 multiplies so many times."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    lhs = equation.invars[0].aval.shape
    _, _, times = str(equation.params.get("precision")).rpartition("_X")
    return 2 * size(equation.outvars[0]) * math.prod(lhs[i] for i in contracted) * (int(times) if times.isdigit() else 1)


def conv_hits(length, kernel, out, stride, low, lhs_dilation, rhs_dilation):
    """Pairs of an output and a kernel position that read an element, by trying all of them."""
    at = (numpy.arange(out)[:, None] * stride + numpy.arange(kernel)[None, :] * rhs_dilation) - low
    return int(numpy.sum((at >= 0) & (at <= (length - 1) * lhs_dilation) & (at % lhs_dilation == 0)))


def conv_flops(equation):
    p = equation.params
    lhs, rhs, out = (v.aval.shape for v in (*equation.invars, *equation.outvars))
    numbers = p["dimension_numbers"]
    hits = math.prod(
        conv_hits(lhs[i], rhs[k], out[o], stride, low, ld, rd)
        for i, k, o, stride, (low, _), ld, rd in zip(numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:],
                                                     p["window_strides"], p["padding"], p["lhs_dilation"], p["rhs_dilation"]))
    batch = lhs[numbers.lhs_spec[0]] // p["batch_group_count"]
    return 2 * hits * batch * rhs[numbers.rhs_spec[1]] * out[numbers.out_spec[1]]


def add(total, other, times=1):
    for key, value in other.items():
        total[key] = None if value is None or total[key] is None else total[key] + times * value


def sub_counts(equation):
    """(counts, times) of what a primitive with programs inside runs, or None."""
    name, p = equation.primitive.name, equation.params
    if name == "scan":
        return count(inner(p["jaxpr"])), p["length"]
    if name == "cond":
        branches = [count(inner(b)) for b in p["branches"]]
        if all(b == branches[0] for b in branches):
            return branches[0], 1
        raise Unknown
    if name in CALLS:
        return count(inner(p[CALLS[name]])), 1
    if name == "while":
        raise Unknown
    return None


def simple_counts(equation):
    name = equation.primitive.name
    if not equation.outvars:
        raise Unknown  # a callback
    out = equation.outvars[0]
    operands = [v for v in equation.invars if hasattr(v, "aval")]
    if name in ("dot_general", "conv_general_dilated"):
        if not (is_float(operands[0]) and is_float(out)):
            raise Unknown
        return {"matrix": dot_flops(equation) if name == "dot_general" else conv_flops(equation)}
    if name in MOVES:
        return {}
    if any(str(v.aval.dtype).startswith("complex") for v in operands):
        raise Unknown
    if not any(is_float(v) for v in (*operands, *equation.outvars)):
        return {}
    if name in ONE_VECTOR or name == "select_n" and is_float(out):
        return {"vector": size(out)}
    if name in COMPARES:
        return {"vector": size(out)}
    if name == "convert_element_type":
        return {"vector": size(out) if operands[0].aval.dtype != out.aval.dtype else 0}
    if name == "clamp":
        return {"vector": 2 * size(out)}
    if name == "logistic":  # 1 / (1 + exp(-x))
        return {"vector": 2 * size(out), "function": 2 * size(out)}
    if name in ONE_FUNCTION:
        return {"function": size(out)}
    if name in REDUCTIONS:
        return {"vector": size(operands[0]) - size(out)}
    return {"matrix": None if "dot" in name else 0, "vector": None, "function": None}


def count(jaxpr):
    total = {"matrix": 0, "vector": 0, "function": 0}
    for equation in jaxpr.eqns:
        try:
            nested = sub_counts(equation)
            add(total, *nested) if nested else add(total, simple_counts(equation))
        except Unknown:
            return dict.fromkeys(total)
    return total
