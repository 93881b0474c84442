"""Programs for eight devices that compare_hlo.py lowers: every collective that JAX has, by hand (shard_map) and as the
partitioner of XLA finds them. `cases()` yields (name, jitted function, arguments)."""
import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def mesh(*shape):
    import numpy
    return Mesh(numpy.array(jax.devices()[:8]).reshape(shape), ("x", "y", "z")[: len(shape)])


def mapped(function, shape, *specs, out=P("x")):
    return jax.jit(jax.shard_map(function, mesh=mesh(*shape), in_specs=specs, out_specs=out, check_vma=False))


def array(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))


def by_hand():
    x = P("x")
    ring = [(i, (i + 1) % 8) for i in range(8)]
    yield "psum", mapped(lambda a: lax.psum(a, "x"), (8,), x, out=P()), (array(16, 4),)
    yield "psum of a tuple", mapped(lambda a, b: lax.psum((a, b), "x"), (8,), x, x, out=P()), (array(16, 4), array(8, 2, dtype="int32"))
    yield "pmax", mapped(lambda a: lax.pmax(a, "x"), (8,), x, out=P()), (array(16, 4),)
    yield "pmean of an axis", mapped(lambda a: lax.pmean(a, "y"), (4, 2), P("x", "y")), (array(16, 4),)
    yield "psum groups", mapped(lambda a: lax.psum(a, "x", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), (8,), x), (array(16, 4),)
    yield "all_gather", mapped(lambda a: lax.all_gather(a, "x"), (8,), x, out=P()), (array(16, 4),)
    yield "all_gather tiled", mapped(lambda a: lax.all_gather(a, "x", axis=1, tiled=True), (8,), x), (array(16, 4),)
    yield "psum_scatter", mapped(lambda a: lax.psum_scatter(a, "x", tiled=True), (8,), P()), (array(16, 4),)
    yield "all_to_all", mapped(lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), (8,), x), (array(16, 8),)
    yield "all_to_all untiled", mapped(lambda a: lax.all_to_all(a, "x", 1, 0), (8,), x), (array(8, 8, 4),)
    yield "ppermute", mapped(lambda a: lax.ppermute(a, "x", ring), (8,), x), (array(16, 4),)
    yield "axis_index", mapped(lambda a: a + lax.axis_index("x"), (8,), x), (array(16, 4),)
    yield "three axes", mapped(lambda a: lax.psum(lax.all_gather(a, "z"), ("x", "z")), (2, 2, 2), P("x", "z"), out=P(None, "z")), (array(4, 4),)
    yield "loop of ppermute", mapped(lambda a: lax.fori_loop(0, 8, lambda i, c: lax.ppermute(c, "x", ring) + 1.0, a), (8,), x), (array(16, 4),)
    yield "bfloat16 psum", mapped(lambda a: lax.psum(a, "x"), (8,), x, out=P()), (array(16, 4, dtype="bfloat16"),)
    offsets = array(8, dtype="int32")
    yield ("ragged_all_to_all", mapped(lambda a, o, i, s, p, r: lax.ragged_all_to_all(a, o, i, s, p, r, axis_name="x"), (8,), x, x, P(), P(), P(), P()),
           (array(64, 4), array(64, 4), offsets, offsets, offsets, offsets))


def placed(function, shape, specs, out):
    m = mesh(*shape)
    return jax.jit(function, in_shardings=[NamedSharding(m, s) for s in specs], out_shardings=NamedSharding(m, out))


def partitioned():
    yield "matmul, rows", placed(jnp.matmul, (8,), [P("x"), P()], P("x")), (array(16, 8), array(8, 24))
    yield "matmul, contracted", placed(jnp.matmul, (8,), [P(None, "x"), P("x")], P()), (array(16, 8), array(8, 24))
    yield "matmul, two axes", placed(jnp.matmul, (4, 2), [P("x", "y"), P("y")], P("x")), (array(16, 8), array(8, 24))
    yield "reshard", placed(lambda a: a + 1, (8,), [P("x")], P(None, "x")), (array(16, 8),)
    yield "transpose", placed(jnp.transpose, (4, 2), [P("x", "y")], P("x", "y")), (array(16, 8),)
    yield "softmax", placed(jax.nn.softmax, (2, 4), [P("x", "y")], P("x", "y")), (array(16, 8),)
    yield "sort", placed(jnp.sort, (8,), [P(None, "x")], P(None, "x")), (array(16, 16),)
    yield "gather", placed(lambda t, i: t[i], (8,), [P("x"), P()], P()), (array(64, 4), array(6, dtype="int32"))
    yield "uneven", placed(lambda a: jnp.cumsum(a), (8,), [P()], P("x")), (array(16),)
    yield "convolution", placed(lambda a, k: lax.conv(a, k, (1, 1), "SAME"), (8,), [P(None, None, "x"), P()], P(None, None, "x")), (
        array(2, 3, 16, 16), array(4, 3, 3, 3))

    def loss(w, x):
        return jnp.sum(jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]) ** 2)

    m = mesh(4, 2)
    shardings = ((NamedSharding(m, P(None, "y")), NamedSharding(m, P("y"))), NamedSharding(m, P("x")))
    yield ("gradient", jax.jit(jax.grad(loss), in_shardings=shardings, out_shardings=shardings[0]),
           ((array(8, 16), array(16, 8)), array(16, 8)))
    yield ("donation", jax.jit(lambda a, b: (a * 2, b + 1), donate_argnums=0, in_shardings=NamedSharding(m, P("x"))),
           (array(16, 8), array(16)))


def cases():
    yield from by_hand()
    yield from partitioned()
