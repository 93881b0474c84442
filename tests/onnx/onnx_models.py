"""Five whole models made with onnx.helper, small, with random weights: the structures of exporters' ResNet-50, BERT, GPT-2,
ViT and Llama. Each builder gives (model, inputs by name, binds, FLOPs of matrix products and convolutions by closed form).
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """Nodes and initializers of a graph that is being written."""

    def __init__(self, seed):
        self.nodes, self.weights, self.count, self.flops = [], [], 0, 0
        self.random = np.random.default_rng(seed)

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        self.count += 1
        names = [f"{kind}_{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"/{kind}_{self.count}", domain=domain,
                                           **attributes))
        return names[0] if outputs == 1 else names

    def const(self, value, dtype=np.float32):
        self.count += 1
        name = f"w_{self.count}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape, scale=None):
        scale = scale if scale is not None else 1 / np.sqrt(shape[0] if len(shape) > 1 else 1)
        return self.const(self.random.standard_normal(shape) * scale)

    def ints(self, *values):
        return self.const(values, np.int64)

    def model(self, inputs, outputs, opset, extra=()):
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in extra]
        return helper.make_model(graph, opset_imports=imports, ir_version=9)


def info(name, dtype, *shape):
    return helper.make_tensor_value_info(name, dtype, shape)


# ---- ResNet-50 ------------------------------------------------------------------------------------------------------

def resnet50(width=8, size=64, classes=10):
    """The 53 convolutions of ResNet-50 with all widths divided by 64 / `width`."""
    g = Graph(1)

    def conv(x, cin, cout, k, stride, side, relu=True):
        out = (side + stride - 1) // stride
        w = g.const(g.random.standard_normal((cout, cin, k, k)) / np.sqrt(cin * k * k))
        p = k // 2
        x = g.op("Conv", x, w, kernel_shape=[k, k], strides=[stride, stride], pads=[p, p, p, p])
        # taps that lie in the padding are no work: per axis, the pairs of (output, tap) that read an element
        hits = sum(1 for o in range(out) for t in range(k) if 0 <= o * stride - p + t < side)
        g.flops += 2 * cin * cout * hits * hits
        ones = np.ones(cout)
        x = g.op("BatchNormalization", x, g.const(ones + 0.1 * g.random.standard_normal(cout)),
                 g.const(0.1 * g.random.standard_normal(cout)), g.const(0.1 * g.random.standard_normal(cout)),
                 g.const(ones + 0.2 * g.random.random(cout)), epsilon=1e-5)
        return (g.op("Relu", x) if relu else x), out

    x, side = conv("image", 3, width, 7, 2, size)
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    side = (side + 1) // 2
    cin = width
    for stage, blocks in enumerate([3, 4, 6, 3]):
        mid = width << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y, _ = conv(x, cin, mid, 1, 1, side)
            y, out = conv(y, mid, mid, 3, stride, side)
            y, _ = conv(y, mid, 4 * mid, 1, 1, out, relu=False)
            if block == 0:
                x, _ = conv(x, cin, 4 * mid, 1, stride, side, relu=False)
            x, cin, side = g.op("Relu", g.op("Add", y, x)), 4 * mid, out
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    x = g.op("Gemm", x, g.weight(classes, cin, scale=0.1), g.weight(classes), transB=1)
    g.flops += 2 * cin * classes
    model = g.model([info("image", F, "batch", 3, size, size)], [info(x, F, "batch", classes)], 13)
    return model, {"image": g.random.standard_normal((1, 3, size, size)).astype(np.float32)}, ["batch=1"], g.flops


# ---- transformers ---------------------------------------------------------------------------------------------------

def layer_norm_parts(g, x, width):
    """LayerNormalization as exporters wrote it before operator set 17."""
    mean = g.op("ReduceMean", x, axes=[-1], keepdims=1)
    d = g.op("Sub", x, mean)
    variance = g.op("ReduceMean", g.op("Pow", d, g.const(2.0)), axes=[-1], keepdims=1)
    y = g.op("Div", d, g.op("Sqrt", g.op("Add", variance, g.const(1e-5))))
    return g.op("Add", g.op("Mul", y, g.weight(width)), g.weight(width, scale=0.1))


def layer_norm(g, x, width):
    return g.op("LayerNormalization", x, g.weight(width), g.weight(width, scale=0.1), axis=-1, epsilon=1e-5)


def linear(g, x, rows, cin, cout, bias=True):
    g.flops += 2 * rows * cin * cout
    y = g.op("MatMul", x, g.weight(cin, cout))
    return g.op("Add", y, g.weight(cout, scale=0.1)) if bias else y


def dims(g, x):
    """Batch and positions of x as [1] tensors, computed in the graph as exporters do."""
    shape = g.op("Shape", x)
    part = [g.op("Unsqueeze", g.op("Gather", shape, g.const(i, np.int64), axis=0), g.ints(0)) for i in (0, 1)]
    return part


def heads_of(g, x, like, heads, depth):
    batch, positions = dims(g, like)
    shape = g.op("Concat", batch, positions, g.ints(heads), g.ints(depth), axis=0)
    return g.op("Transpose", g.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def attend(g, q, k, v, mask, rows, columns, heads, depth):
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    g.flops += 4 * rows * columns * heads * depth
    scores = g.op("Div", scores, g.const(np.sqrt(depth)))
    scores = g.op("Add", scores, mask) if mask else scores
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def joined(g, y, like, width):
    batch, positions = dims(g, like)
    y = g.op("Transpose", y, perm=[0, 2, 1, 3])
    return g.op("Reshape", y, g.op("Concat", batch, positions, g.ints(width), axis=0))


def gelu_erf(g, x):
    e = g.op("Erf", g.op("Div", x, g.const(np.sqrt(2))))
    return g.op("Mul", g.op("Mul", x, g.op("Add", e, g.const(1.0))), g.const(0.5))


def gelu_tanh(g, x):
    cube = g.op("Mul", g.op("Pow", x, g.const(3.0)), g.const(0.044715))
    t = g.op("Tanh", g.op("Mul", g.op("Add", x, cube), g.const(np.sqrt(2 / np.pi))))
    return g.op("Mul", g.op("Mul", x, g.const(0.5)), g.op("Add", t, g.const(1.0)))


def bert(batch=2, seq=16, width=32, heads=4, layers=3, vocab=100):
    g, depth, rows = Graph(2), width // heads, batch * seq
    x = g.op("Gather", g.weight(vocab, width, scale=1), "input_ids", axis=0)
    shape = g.op("Shape", "input_ids")
    length = g.op("Gather", shape, g.const(1, np.int64), axis=0)
    positions = g.op("Slice", g.const(np.arange(64)[None], np.int64), g.ints(0), g.op("Unsqueeze", length, g.ints(0)), g.ints(1))
    x = g.op("Add", x, g.op("Gather", g.weight(64, width, scale=1), positions, axis=0))
    x = g.op("Add", x, g.op("Gather", g.weight(2, width, scale=1), "token_type_ids", axis=0))
    x = layer_norm_parts(g, x, width)
    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.ints(1, 2)), to=F)
    mask = g.op("Mul", g.op("Sub", g.const(1.0), mask), g.const(-10000.0))
    for _ in range(layers):
        q, k, v = (heads_of(g, linear(g, x, rows, width, width), x, heads, depth) for _ in range(3))
        y = joined(g, attend(g, q, k, v, mask, rows, seq, heads, depth), x, width)
        x = layer_norm_parts(g, g.op("Add", linear(g, y, rows, width, width), x), width)
        y = linear(g, gelu_erf(g, linear(g, x, rows, width, 4 * width)), rows, 4 * width, width)
        x = layer_norm_parts(g, g.op("Add", y, x), width)
    first = g.op("Gather", x, g.const(0, np.int64), axis=1)
    pooled = g.op("Tanh", g.op("Gemm", first, g.weight(width, width), g.weight(width), transB=1))
    g.flops += 2 * batch * width * width
    names = ["input_ids", "attention_mask", "token_type_ids"]
    model = g.model([info(n, I, "batch", "seq") for n in names],
                    [info(x, F, "batch", "seq", width), info(pooled, F, "batch", width)], 13)
    mask = np.ones((batch, seq), np.int64)
    mask[0, seq // 2:] = 0
    data = {"input_ids": g.random.integers(0, vocab, (batch, seq)), "attention_mask": mask,
            "token_type_ids": g.random.integers(0, 2, (batch, seq))}
    return model, data, [f"batch={batch}", f"seq={seq}"], g.flops


def gpt2(batch=1, seq=12, past=8, width=32, heads=4, layers=3, vocab=64):
    """Blocks with a causal mask that is cut out of a constant triangle, and with keys and values of the past."""
    g, depth, rows, total = Graph(3), width // heads, batch * seq, past + seq
    inputs = [info("input_ids", I, "batch", "seq")]
    data = {"input_ids": g.random.integers(0, vocab, (batch, seq))}
    outputs = []
    shape = g.op("Shape", "input_ids")
    length = g.op("Gather", shape, g.const(1, np.int64), axis=0)
    before = g.op("Gather", g.op("Shape", "past_0_k"), g.const(2, np.int64), axis=0)
    end = g.op("Add", before, length)
    positions = g.op("Range", before, end, g.const(1, np.int64))
    positions = g.op("Reshape", positions, g.op("Concat", g.ints(1), g.op("Unsqueeze", length, g.ints(0)), axis=0))
    table = g.weight(vocab, width, scale=1)
    x = g.op("Add", g.op("Gather", table, "input_ids"), g.op("Gather", g.weight(64, width, scale=1), positions))
    triangle = g.const(np.tril(np.ones((64, 64)))[None, None], np.bool_)
    at, to = (g.op("Unsqueeze", v, g.ints(0)) for v in (before, end))
    seen = g.op("Slice", g.op("Slice", triangle, at, to, g.ints(2)), g.ints(0), to, g.ints(3))
    for layer in range(layers):
        y = layer_norm(g, x, width)
        packed = g.op("Reshape", y, g.ints(-1, width))
        packed = g.op("Gemm", packed, g.weight(width, 3 * width), g.weight(3 * width, scale=0.1))
        g.flops += 2 * rows * width * 3 * width
        batch_of, length_of = dims(g, y)
        packed = g.op("Reshape", packed, g.op("Concat", batch_of, length_of, g.ints(3 * width), axis=0))
        q, k, v = g.op("Split", packed, g.ints(width, width, width), outputs=3, axis=2)
        q, k, v = (heads_of(g, t, y, heads, depth) for t in (q, k, v))
        for kind in "kv":
            name = f"past_{layer}_{kind}"
            inputs.append(info(name, F, "batch", heads, "past", depth))
            data[name] = g.random.standard_normal((batch, heads, past, depth)).astype(np.float32)
        k = g.op("Concat", f"past_{layer}_k", k, axis=2)
        v = g.op("Concat", f"past_{layer}_v", v, axis=2)
        outputs += [info(k, F, "batch", heads, "total", depth), info(v, F, "batch", heads, "total", depth)]
        scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = g.op("Where", seen, g.op("Div", scores, g.const(np.sqrt(depth))), g.const(np.finfo(np.float32).min))
        y = joined(g, g.op("MatMul", g.op("Softmax", scores, axis=-1), v), y, width)
        g.flops += 4 * rows * total * width
        x = g.op("Add", x, linear(g, y, rows, width, width))
        y = linear(g, gelu_tanh(g, linear(g, layer_norm(g, x, width), rows, width, 4 * width)), rows, 4 * width, width)
        x = g.op("Add", x, y)
    logits = g.op("MatMul", layer_norm(g, x, width), g.op("Transpose", table, perm=[1, 0]))
    g.flops += 2 * rows * width * vocab
    model = g.model(inputs, [info(logits, F, "batch", "seq", vocab)] + outputs, 17)
    return model, data, [f"batch={batch}", f"seq={seq}", f"past={past}"], g.flops


def vit(batch=2, size=32, patch=8, width=32, heads=4, layers=2, classes=10):
    g, depth, count = Graph(4), width // heads, (size // patch) ** 2
    rows = batch * (count + 1)
    x = g.op("Conv", "pixels", g.const(g.random.standard_normal((width, 3, patch, patch)) / 14), g.weight(width, scale=0.1),
             kernel_shape=[patch, patch], strides=[patch, patch])
    g.flops += 2 * batch * count * 3 * patch * patch * width
    batch_of = g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(1))
    x = g.op("Transpose", g.op("Reshape", x, g.ints(0, width, -1)), perm=[0, 2, 1])
    token = g.op("Expand", g.weight(1, 1, width), g.op("Concat", batch_of, g.ints(1, width), axis=0))
    x = g.op("Add", g.op("Concat", token, x, axis=1), g.weight(1, count + 1, width))
    for _ in range(layers):
        y = layer_norm(g, x, width)
        q, k, v = (heads_of(g, linear(g, y, rows, width, width), y, heads, depth) for _ in range(3))
        y = joined(g, attend(g, q, k, v, None, rows, count + 1, heads, depth), y, width)
        x = g.op("Add", x, linear(g, y, rows, width, width))
        y = linear(g, layer_norm(g, x, width), rows, width, 4 * width)
        x = g.op("Add", x, linear(g, g.op("Gelu", y), rows, 4 * width, width))
    first = g.op("Gather", layer_norm(g, x, width), g.const(0, np.int64), axis=1)
    logits = g.op("Gemm", first, g.weight(classes, width, scale=0.1), g.weight(classes), transB=1)
    g.flops += 2 * batch * width * classes
    model = g.model([info("pixels", F, "batch", 3, size, size)], [info(logits, F, "batch", classes)], 20)
    return model, {"pixels": g.random.standard_normal((batch, 3, size, size)).astype(np.float32)}, [f"batch={batch}"], g.flops


def rms_norm(g, x, width):
    """RMSNorm as exporters write it."""
    mean = g.op("ReduceMean", g.op("Pow", x, g.const(2.0)), g.ints(-1), keepdims=1)
    factor = g.op("Reciprocal", g.op("Sqrt", g.op("Add", mean, g.const(1e-6))))
    return g.op("Mul", g.op("Mul", x, factor), g.weight(width))


def rotated(g, x, cosine, sine, depth):
    half = depth // 2
    low = g.op("Slice", x, g.ints(0), g.ints(half), g.ints(-1))
    high = g.op("Slice", x, g.ints(half), g.ints(2 ** 63 - 1), g.ints(-1))
    turned = g.op("Concat", g.op("Neg", high), low, axis=-1)
    return g.op("Add", g.op("Mul", x, cosine), g.op("Mul", turned, sine))


def llama(batch=2, seq=10, width=32, heads=4, kv_heads=2, layers=3, hidden=48, vocab=64):
    """RMSNorm, rotary positions computed in the graph, grouped keys and values repeated by Expand, gated MLP."""
    g, depth, rows, group = Graph(5), width // heads, batch * seq, heads // kv_heads
    x = g.op("Gather", g.weight(vocab, width, scale=1), "input_ids")
    frequencies = g.const(1 / 10000 ** (np.arange(0, depth, 2) / depth).reshape(1, -1, 1))
    angles = g.op("MatMul", frequencies, g.op("Cast", g.op("Unsqueeze", "position_ids", g.ints(1)), to=F))
    angles = g.op("Transpose", angles, perm=[0, 2, 1])
    g.flops += 2 * batch * seq * (depth // 2)
    angles = g.op("Unsqueeze", g.op("Concat", angles, angles, axis=-1), g.ints(1))
    cosine, sine = g.op("Cos", angles), g.op("Sin", angles)
    length = g.op("Gather", g.op("Shape", "input_ids"), g.const(1, np.int64))
    square = g.op("Unsqueeze", length, g.ints(0))
    square = g.op("Concat", square, square, axis=0)
    lowest = numpy_helper.from_array(np.array([np.finfo(np.float32).min], np.float32))
    mask = g.op("Trilu", g.op("ConstantOfShape", square, value=lowest), g.const(1, np.int64), upper=1)
    for _ in range(layers):
        y = rms_norm(g, x, width)
        q = heads_of(g, linear(g, y, rows, width, width, False), y, heads, depth)
        k, v = (heads_of(g, linear(g, y, rows, width, kv_heads * depth, False), y, kv_heads, depth) for _ in range(2))
        q, k = rotated(g, q, cosine, sine, depth), rotated(g, k, cosine, sine, depth)
        b, s = dims(g, y)
        wide = g.op("Concat", b, g.ints(kv_heads), g.ints(group), s, g.ints(depth), axis=0)
        flat = g.op("Concat", b, g.ints(heads), s, g.ints(depth), axis=0)
        k, v = (g.op("Reshape", g.op("Expand", g.op("Unsqueeze", t, g.ints(2)), wide), flat) for t in (k, v))
        y = joined(g, attend(g, q, k, v, mask, rows, seq, heads, depth), y, width)
        x = g.op("Add", x, linear(g, y, rows, width, width, False))
        y = rms_norm(g, x, width)
        gate = linear(g, y, rows, width, hidden, False)
        gate = g.op("Mul", gate, g.op("Sigmoid", gate))
        y = linear(g, g.op("Mul", gate, linear(g, y, rows, width, hidden, False)), rows, hidden, width, False)
        x = g.op("Add", x, y)
    logits = linear(g, rms_norm(g, x, width), rows, width, vocab, False)
    model = g.model([info("input_ids", I, "batch", "seq"), info("position_ids", I, "batch", "seq")],
                    [info(logits, F, "batch", "seq", vocab)], 18)
    data = {"input_ids": g.random.integers(0, vocab, (batch, seq)), "position_ids": np.tile(np.arange(seq), (batch, 1))}
    return model, data, [f"batch={batch}", f"seq={seq}"], g.flops


MODELS = {"resnet50": resnet50, "bert": bert, "gpt2": gpt2, "vit": vit, "llama": llama}
