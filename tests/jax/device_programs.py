"""Functions for several devices and functions that leave the process: collectives under shard_map and pmap, shardings
under jit, and jax.export with dimensions that are not known. Needs 8 devices, which may be threads."""
import jax
import jax.export
import jax.numpy as jnp
import numpy
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from programs import Case, array

DEVICES = 8


def mesh(shape=(DEVICES,), names=("x",)):
    return Mesh(numpy.array(jax.devices()[:DEVICES]).reshape(shape), names)


def sharded(function, *specs, out=None, over=None, **options):
    """`function` on the shards of its arguments."""
    return jax.shard_map(function, mesh=over or mesh(), in_specs=specs, out_specs=P("x") if out is None else out,
                         check_vma=False, **options)


GROUPS = [[0, 1, 2, 3], [4, 5, 6, 7]]
RING = [(i, (i + 1) % DEVICES) for i in range(DEVICES)]


def collectives(rng):
    n, m = rng.randint(1, 4), rng.randint(1, 5)
    x = (array((DEVICES * n, m), rng.choice(["float32", "bfloat16", "int32"])),)
    wide = (array((DEVICES * DEVICES * n, m)),)
    one_value = {
        "psum": lambda a: lax.psum(a, "x"), "pmean": lambda a: lax.pmean(a.astype("float32"), "x"),
        "pmax": lambda a: lax.pmax(a, "x"), "pmin": lambda a: lax.pmin(a, "x"),
        "psum pair": lambda a: lax.psum((a, a * 2), "x")[0], "psum groups": lambda a: lax.psum(a, "x", axis_index_groups=GROUPS),
        "all_gather": lambda a: lax.all_gather(a, "x")[0], "all_gather tiled": lambda a: lax.all_gather(a, "x", tiled=True)[:1],
        "all_gather groups": lambda a: lax.all_gather(a, "x", axis_index_groups=GROUPS)[0],
        "ppermute": lambda a: lax.ppermute(a, "x", RING), "ppermute part": lambda a: lax.ppermute(a, "x", [(0, 1), (3, 2)]),
        "axis_index": lambda a: a + lax.axis_index("x").astype(a.dtype), "axis_size": lambda a: a * lax.axis_size("x"),
        "pshuffle": lambda a: lax.pshuffle(a, "x", list(reversed(range(DEVICES)))),
        "ring": lambda a: lax.fori_loop(0, DEVICES, lambda _, c: lax.ppermute(c, "x", RING) + a, a),
        "psum in scan": lambda a: lax.scan(lambda c, _: (lax.psum(c, "x"), None), a, None, length=3)[0],
    }
    for name, function in one_value.items():
        yield name, sharded(function, P("x")), x
    yield "psum_scatter", sharded(lambda a: lax.psum_scatter(a, "x"), P("x")), (array((DEVICES * DEVICES, m)),)
    yield "psum_scatter tiled", sharded(lambda a: lax.psum_scatter(a, "x", tiled=True), P("x")), wide
    yield "all_to_all", sharded(lambda a: lax.all_to_all(a, "x", 0, 0, tiled=True), P("x")), wide
    yield "all_to_all new axis", sharded(lambda a: lax.all_to_all(a.reshape(DEVICES, n, m), "x", 0, 1), P("x")), wide
    two = mesh((4, 2), ("x", "y"))
    grid = (array((4 * n, 2 * m)),)
    yield "two axes", sharded(lambda a: lax.psum(a, ("x", "y")), P("x", "y"), out=P("x", "y"), over=two), grid
    yield "one of two axes", sharded(lambda a: lax.psum(a, "y"), P("x", "y"), out=P("x", "y"), over=two), grid
    yield ("part manual", jax.jit(sharded(lambda a: lax.psum(a, "x"), P("x"), out=P("x"), over=two, axis_names={"x"})), grid)
    yield ("gradient of psum", jax.grad(lambda a: jnp.sum(sharded(lambda b: lax.psum(b ** 2, "x"), P("x"), out=P())(a))),
           (array((DEVICES * n, m)),))
    yield ("matmul by columns", sharded(lambda a, w: lax.psum(a @ w, "x"), P(None, "x"), P("x", None), out=P()),
           (array((n, DEVICES * m)), array((DEVICES * m, 3))))
    yield ("softmax over devices",
           sharded(lambda a: jnp.exp(a - lax.pmax(jnp.max(a), "x")) / lax.psum(jnp.sum(jnp.exp(a)), "x"), P("x")),
           (array((DEVICES * n, m)),))


def shardings(rng):
    n, m = 8 * rng.randint(1, 3), 4 * rng.randint(1, 3)
    grid = mesh((4, 2), ("data", "model"))

    def place(*names):
        return NamedSharding(grid, P(*names))

    def constrained(x, w):
        y = lax.with_sharding_constraint(jnp.tanh(x @ w), place("data", "model"))
        return lax.with_sharding_constraint(y @ w.T, place("data"))

    arguments = (array((n, m)), array((m, m)))
    for name, inner, outer in [("rows", (place("data"), place()), place("data")),
                               ("columns", (place(None, "model"), place("model")), place()),
                               ("both", (place("data", "model"), place(None, "model")), place(("data", "model")))]:
        yield Case("", f"jit {name}", lambda x, w: jnp.dot(x, w), arguments, False,
                   {"in_shardings": inner, "out_shardings": outer})
    yield "constraint", constrained, arguments
    yield "constraint gradient", jax.grad(lambda x, w: jnp.sum(constrained(x, w)), (0, 1)), arguments
    yield Case("", "donated", lambda p, g: (p - 0.1 * g, jnp.sum(g)), (array((n, m)),) * 2, False, {"donate_argnums": 0})
    yield Case("", "donated sharded", lambda p, g: p - 0.1 * g, (array((n, m)),) * 2, False,
               {"donate_argnums": 0, "in_shardings": (place("data"), place("data")), "out_shardings": place("data")})
    yield Case("", "static argument", lambda x, k: x * k, (array((n, m)), 3), False, {"static_argnums": 1})
    yield Case("", "kept argument", lambda x, y: x + 1, (array((n,)), array((m,))), False, {"keep_unused": True})
    yield Case("", "inlined", lambda x: jax.jit(lambda y: y + 1, inline=True)(x), (array((n,)),), False)
    for name, function in {"pmap psum": lambda x: lax.psum(x, "i"), "pmap gather": lambda x: lax.all_gather(x, "i"),
                           "pmap index": lambda x: x + lax.axis_index("i"),
                           "pmap scan": lambda x: lax.scan(lambda c, _: (lax.pmean(c, "i"), c), x, None, length=2)[1]
                           }.items():
        yield Case("", name, function, (array((DEVICES, m)),), False, {"axis_name": "i"}, wrap=jax.pmap)


def exported(rng):
    """jax.export: the artifact of JAX's own target version, symbolic dimensions, several platforms."""
    a, b = jax.export.symbolic_shape("a, b")
    (c,) = jax.export.symbolic_shape("c", constraints=["c >= 2"])
    m = rng.randint(2, 5)
    symbolic = {
        "matmul": (lambda x, y: x @ y, (shape((a, m)), shape((m, b)))),
        "reshape": (lambda x: x.reshape(-1, m) * 2, (shape((a, b, m)),)),
        "softmax": (jax.nn.softmax, (shape((a, b)),)),
        "mean": (lambda x: jnp.mean(x, axis=0), (shape((a, m)),)),
        "arange": (lambda x: x + jnp.arange(x.shape[0], dtype=x.dtype), (shape((a,)),)),
        "concatenate": (lambda x, y: jnp.concatenate([x, y, x]), (shape((a, m)), shape((b, m)))),
        "slice": (lambda x: x[1:, ::2], (shape((a, m)),)),
        "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 1))), (shape((a, m)),)),
        "gather": (lambda x, i: x[i], (shape((a, m)), shape((b,), "int32"))),
        "scatter": (lambda x, i: x.at[i].add(1), (shape((a, m)), shape((b,), "int32"))),
        "sort": (lambda x: jnp.sort(x, axis=0), (shape((a, m)),)),
        "cumsum": (lambda x: jnp.cumsum(x, axis=1), (shape((m, b)),)),
        "where": (lambda x: jnp.where(x > 0, x, 0), (shape((a, b), "int32"),)),
        "transpose": (lambda x: x.T, (shape((a, b), "bfloat16"),)),
        "scan": (lambda x: lax.scan(lambda c, y: (c + y, c), jnp.zeros(m), x)[1], (shape((a, m)),)),
        "conv": (lambda x, w: lax.conv(x, w, (1, 1), "SAME"), (shape((a, 2, 6, 6)), shape((3, 2, 3, 3)))),
        "dynamic slice": (lambda x, i: lax.dynamic_slice_in_dim(x, i, 2), (shape((c, m)), shape((), "int32"))),
        "random": (lambda k, x: x + jax.random.normal(jax.random.key(k), x.shape), (shape((), "uint32"), shape((a,)))),
        "attention": (lambda q: jax.nn.dot_product_attention(q, q, q), (shape((a, b, 2, m)),)),
        "size arithmetic": (lambda x: x / (x.shape[0] * x.shape[1] - 1), (shape((a, b)),)),
        "gradient": (jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)), (shape((a, b)),)),
    }
    for name, (function, arguments) in symbolic.items():
        yield Case("", name, function, arguments, False, export={})
    static = (array((4, m)), array((m, 3)))
    yield Case("", "static", lambda x, y: jnp.exp(x @ y), static, False, export={})
    yield Case("", "platforms", lambda x, y: lax.platform_dependent(x @ y, cpu=jnp.sin, default=jnp.cos), static, False,
               export={"platforms": ("cpu", "tpu", "cuda")})
    yield Case("", "sharded", sharded(lambda x: lax.psum(x, "x"), P("x")), (array((16, m)),), False, export={})
    yield Case("", "error function", lambda x, y: jax.scipy.special.erf(x @ y), static, False, export={})
    yield Case("", "top_k", lambda x, y: lax.top_k(x @ y, 2), static, False, export={})
    yield Case("", "custom call", lambda x, y: jnp.linalg.qr(x @ y), static, False, export={})
    yield Case("", "tokens", lambda x: (jax.debug.callback(print, x, ordered=False), x)[1], (array((3,)),), False)
    yield Case("", "callback", lambda x: jax.pure_callback(numpy.sin, x, x), (array((3,)),), False)


def shape(dims, dtype="float32"):
    return jax.ShapeDtypeStruct(dims, jnp.dtype(dtype))


CATEGORIES = [collectives, shardings, exported]
