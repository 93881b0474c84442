"""Programs out of JAX, in every form that it gives them, against JAX's own values."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import ridgeline

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")
jnp = jax.numpy


def model(params: dict[str, Any], x: Any, unused: Any) -> dict[str, Any]:
    h = jnp.tanh(x @ params["w"] + params["b"])
    return {"mean": h.mean(axis=0), "h": h}


def arguments() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((8, 4), "f4"), "b": rng.standard_normal(4, "f4")}
    return params, rng.standard_normal((16, 8), "f4"), np.zeros(3, "f4")


def forms() -> dict[str, Any]:
    jitted, args = jax.jit(model), arguments()
    lowered = jitted.lower(*args)
    return {
        "lowered": lowered,
        "traced": jitted.trace(*args),
        "exported": jax.export.export(jitted)(*args),
        "text": lowered.as_text(),
        "module": lowered.compiler_ir("stablehlo"),
        "artifact": jax.export.export(jitted)(*args).mlir_module_serialized,
    }


@pytest.mark.parametrize("form", ["lowered", "traced", "exported", "text", "module", "artifact"])
def test_every_form_is_the_same_program(form: str) -> None:
    program = forms()[form]
    found = ridgeline.inspect(program)
    assert found.matrix_flops == 2 * 16 * 8 * 4
    prediction = ridgeline.predict(program, on=["h100", "tpu-v5p"])
    assert len(prediction) == 2 and all(e.time_s > 0 for e in prediction)


@pytest.mark.parametrize("form", ["lowered", "exported"])
def test_arguments_as_the_function_takes_them(form: str) -> None:
    want = model(*arguments())
    result = ridgeline.run(forms()[form], *arguments())
    for name, value in result.tree.items():
        np.testing.assert_allclose(value, want[name], rtol=2e-6, atol=1e-6)
    params, x, _ = arguments()
    flat = ridgeline.run(
        forms()[form], params["b"], params["w"], x
    )  # as the program takes them: sorted keys, none unused
    np.testing.assert_array_equal(flat[0], result[0])


def test_functions_with_example_arguments() -> None:
    args = arguments()
    want = ridgeline.predict(jax.jit(model).lower(*args), on="h100")
    assert ridgeline.predict(jax.jit(model), *args, on="h100") == want == ridgeline.predict(model, *args, on="h100")
    shapes = jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), args)
    assert ridgeline.predict(jax.jit(model), *shapes, on="h100") == want
    np.testing.assert_allclose(ridgeline.run(jax.jit(model), *args).tree["h"], model(*args)["h"], rtol=2e-6, atol=1e-6)


def test_compiled_programs_are_hlo() -> None:
    compiled = jax.jit(lambda x: x @ x).lower(np.zeros((32, 32), "f4")).compile()
    assert ridgeline.inspect(compiled).matrix_flops == 2 * 32**3


def test_constants_and_bfloat16() -> None:
    table = np.arange(2000, dtype="f4").reshape(50, 40)
    lowered = jax.jit(lambda i: (jnp.asarray(table)[i] * 2).astype(jnp.bfloat16)).lower(np.zeros(3, "i4"))
    index = np.array([1, 49, 7], "i4")
    (y,) = ridgeline.run(lowered, index)
    assert y.dtype == jnp.bfloat16
    np.testing.assert_array_equal(y, (table[index] * 2).astype(jnp.bfloat16))


def test_random_keys() -> None:
    key = jax.random.key(7)
    lowered = jax.jit(lambda k: jax.random.bits(k, (5,))).lower(key)
    np.testing.assert_array_equal(ridgeline.run(lowered, key)[0], jax.random.bits(key, (5,)))


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/python.md"])
def test_documented_code_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = pathlib.Path(__file__).resolve().parents[2] / page
    if not path.exists():
        pytest.skip("the repository around the package is not there")
    if page == "docs/python.md":
        pytest.importorskip("pandas")
    code = path.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(code, page, "exec"), {})
    table = capsys.readouterr().out.splitlines()
    assert table[0].startswith("jit_layer, roofline") and {"chip", "time", "MFU"} <= set(table[2].split())
    assert {"nvidia_h100_sxm", "amd_mi300x", "google_tpu_v5p"} <= {line.split()[0] for line in table if line}
