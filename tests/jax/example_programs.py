"""The models of examples/export at reduced size, as programs that compare_runs.py runs: every kind of layer and step that the
examples have, with few and narrow layers, in f32 where the example is in bf16."""
import dataclasses
import pathlib
import sys

import jax
import jax.numpy as jnp

from programs import Case, array

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "export"))

LENGTH = 6


def reduced():
    """(name, function, arguments, options of jax.jit)"""
    import dit
    import gpt2
    import llama3
    import mixtral
    import parallel
    import resnet50
    import vit

    tokens, token, scalar = array((2, LENGTH), "int32"), array((2,), "int32"), array(())
    position = array((), "int32")
    config = gpt2.Config(vocabulary=17, context=9, width=8, layers=2, heads=2)
    parameters = gpt2.parameter_shapes(config, "float32")
    yield "gpt2 prefill", gpt2.make_prefill(config), (parameters, tokens), {}
    yield ("gpt2 decode", gpt2.make_decode_step(config), (parameters, gpt2.cache_shapes(config, 2), token, position), {})

    config = vit.Config(image=8, patch=4, width=8, layers=2, heads=2, hidden=12, classes=5, compute=jnp.float32)
    yield "vit", vit.make_inference(config), (vit.parameter_shapes(config, "float32"), array((2, 8, 8, 3))), {}

    config = dit.Config(latent=4, width=8, layers=2, heads=2, classes=7, frequencies=6, compute=jnp.float32)
    yield ("dit step", dit.make_step(config),
           (dit.parameter_shapes(config, "float32"), array((2, 4, 4, 4)), position, token, scalar, scalar, scalar), {})

    config = mixtral.Config(vocabulary=11, width=8, layers=2, heads=4, kv_heads=2, head_size=4, hidden=6, experts=4,
                            compute=jnp.float32)
    yield "mixtral prefill", mixtral.make_prefill(config), (mixtral.parameter_shapes(config), tokens), {}

    config = llama3.Config(vocabulary=11, width=8, layers=2, heads=4, kv_heads=2, head_size=4, hidden=6, compute=jnp.float32)
    parameters = llama3.parameter_shapes(config, "float32")
    stacked = llama3.stack_layers(parameters)
    yield "llama3 prefill", llama3.make_prefill(config), (parameters, tokens), {}
    yield ("llama3 decode", llama3.make_decode_step(config),
           (parameters, llama3.cache_shapes(config, 2, 8), token, position), {})
    yield ("llama3 train unrolled", llama3.make_train_step(config, llama3.unrolled),
           (llama3.state_shapes(parameters), tokens, tokens, scalar), {})
    yield ("llama3 train scan", llama3.make_train_step(config, llama3.scanned),
           (llama3.state_shapes(stacked), tokens, tokens, scalar), {})

    config = dataclasses.replace(config, vocabulary=16, width=16, heads=8, kv_heads=8, head_size=2, hidden=8)
    for kind in parallel.BATCHES:
        arguments = (llama3.state_shapes(llama3.stack_layers(llama3.parameter_shapes(config, "float32"))),
                     array((8, 3), "int32"), array((8, 3), "int32"), scalar)
        function, options = parallel.step_and_shardings(config, kind, arguments)
        yield f"llama3 {kind}", function, arguments, options

    config = resnet50.Config(image=8, classes=3, width=2, blocks=(1, 1, 1, 1), compute=jnp.float32)
    images, classes = array((2, 8, 8, 3)), array((2,), "int32")
    yield ("resnet50 inference", resnet50.make_inference(config),
           (resnet50.parameter_shapes(config, "float32"), resnet50.statistics_shapes(config), images), {})
    yield ("resnet50 train", resnet50.make_train_step(config), (resnet50.state_shapes(config), images, classes, scalar), {})


def examples(rng):
    for name, function, arguments, options in reduced():
        yield Case("", name, function, arguments, False, options)


CATEGORIES = [examples]
