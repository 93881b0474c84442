"""Cases for compare_ops.py: operators with their inputs and attributes."""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

R = np.random.default_rng(7)
F32, I64, I32, I8, U8, B = np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_


@dataclasses.dataclass
class Case:
    name: str
    kind: str
    inputs: dict
    attributes: dict
    opset: int
    outputs: int
    domain: str
    constants: tuple  # inputs that are initializers
    order: list  # input names of the node when they differ ("" = left out)
    reference: bool  # compare with onnx.reference
    nodes: list
    functions: list
    imports: list


CASES = []


def case(kind, *values, opset=17, outputs=1, domain="", const=(), order=None, reference=False, nodes=(), functions=(),
         imports=(), note="", **attributes):
    inputs = {f"x{i}": np.asarray(v) for i, v in enumerate(values)}
    label = "x".join(str(d) for d in inputs["x0"].shape) if inputs else "none"
    name = f"{kind}.{opset}.{note or label}.{len(CASES)}"
    CASES.append(Case(name, kind, inputs, attributes, opset, outputs, domain, tuple(f"x{i}" for i in const), order,
                      reference, list(nodes), list(functions), list(imports)))


def f(*shape, low=-2.0, high=2.0, dtype=F32):
    return R.uniform(low, high, shape).astype(dtype)


def i(*shape, low=-9, high=10, dtype=I64):
    return R.integers(low, high, shape).astype(dtype)


def b(*shape):
    return R.integers(0, 2, shape).astype(B)


def ints(*values):
    return np.array(values, I64)


# ---- elementwise ----
for kind in "Abs Ceil Cos Erf Exp Floor Neg Round Sigmoid Sign Sin Tan Tanh Softsign Softplus Relu Elu Selu Celu LeakyRelu " \
            "HardSigmoid HardSwish ThresholdedRelu Mish Asinh Atan Sinh Cosh Identity".split():
    case(kind, f(3, 4, 5), opset=18)
    case(kind, np.float32(0.5), opset=18)
for kind in "Log Sqrt Reciprocal".split():
    case(kind, f(3, 4, low=0.1, high=9))
for kind in "Acos Asin Atanh".split():
    case(kind, f(3, 4, low=-0.9, high=0.9))
case("Acosh", f(3, 4, low=1.1, high=9))
case("Gelu", f(3, 4), opset=20)
case("Gelu", f(3, 4), opset=20, approximate="tanh")
case("LeakyRelu", f(3, 4), alpha=0.2)
case("Elu", f(3, 4), alpha=0.7)
case("Celu", f(3, 4), alpha=1.7)
case("HardSigmoid", f(30), alpha=0.4, beta=0.3)
case("Not", b(3, 4))
case("BitwiseNot", i(3, 4), opset=18)
case("Abs", i(3, 4)), case("Abs", i(3, low=0, dtype=U8)), case("Sign", i(3, 4, dtype=I32)), case("Neg", i(3, 4))
case("Sign", i(5, low=0, dtype=U8), reference=True)
PAIRS = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((1, 5), (4, 1)), ((0, 3), (3,))]
for kind in "Add Sub Mul Div".split():
    for p, q in PAIRS:
        case(kind, f(*p), f(*q, low=0.5, high=2))
    case(kind, i(3, 4), i(3, 4, low=1, high=5)), case(kind, i(3, 4, dtype=I32), i(4, low=1, high=5, dtype=I32))
    case(kind, i(6, low=5, high=90, dtype=U8), i(6, low=1, high=5, dtype=U8), reference=True)
case("Div", ints(-7, 7, -8, 8), ints(2, -2, 3, -3))
for kind in "And Or Xor".split():
    case(kind, b(3, 4), b(4))
for kind in "BitwiseAnd BitwiseOr BitwiseXor".split():
    case(kind, i(3, 4, dtype=I32), i(4, dtype=I32), opset=18)
for kind in "Equal Less LessOrEqual Greater GreaterOrEqual".split():
    case(kind, i(3, 4, low=0, high=3), i(4, low=0, high=3)), case(kind, f(2, 3), f(2, 1))
case("Equal", b(3, 4), b(4))
case("Pow", f(3, 4, low=0.1, high=3), f(4)), case("Pow", f(3, 4), np.float32(2), const=(1,)), case("Pow", f(3, 4), np.float32(3), const=(1,))
case("Pow", f(3, low=0.1), np.float32(0.5), const=(1,)), case("Pow", f(3, 4), ints(2), const=(1,)), case("Pow", i(3, 4, low=0, high=5), ints(3))
case("Mod", i(20), i(20, low=1, high=5)), case("Mod", i(20), -i(20, low=1, high=5)), case("Mod", f(20), f(20, low=0.5), fmod=1), case("Mod", i(20), i(20, low=1, high=5), fmod=1)
case("BitShift", i(8, low=0, high=200, dtype=U8), i(8, low=0, high=7, dtype=U8), direction="LEFT"), case("BitShift", i(8, low=0, high=200, dtype=U8), i(8, low=0, high=7, dtype=U8), direction="RIGHT")
for kind in "Max Min Sum Mean".split():
    case(kind, f(3, 4), f(4), f(1, 4)), case(kind, f(3, 4))
case("Max", i(3, 4), i(4)), case("Where", b(3, 1), f(3, 4), f(4)), case("Where", b(2, 3), i(2, 3), ints(5))
case("IsNaN", np.array([1, np.nan, np.inf], F32))
for up, down in ((1, 1), (1, 0), (0, 1)):
    case("IsInf", np.array([1, np.nan, np.inf, -np.inf], F32), detect_positive=up, detect_negative=down)
for to in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.UINT8):
    case("Cast", f(3, 4, low=0, high=5), to=to), case("Cast", i(3, 4, low=0), to=to)
case("Cast", f(30, low=-600, high=600), to=TensorProto.FLOAT8E4M3FN, opset=19, note="fp8") if False else None
case("CastLike", f(3, 4), ints(1))
case("Clip", f(3, 4), np.float32(-0.5), np.float32(0.5)), case("Clip", f(3, 4), np.float32(0), const=(1,)), case("Clip", f(3, 4), np.float32(0.3), order=["x0", "", "x1"])
case("Clip", f(3, 4), opset=6, min=-0.5, max=0.5), case("Clip", i(3, 4), np.int64(-2), np.int64(3))
case("PRelu", f(2, 3, 4), f(3, 1)), case("Dropout", f(3, 4), outputs=2), case("Dropout", f(3, 4))

# ---- shapes ----
case("Reshape", f(2, 3, 4), ints(6, 4), const=(1,)), case("Reshape", f(2, 3, 4), ints(0, -1), const=(1,)), case("Reshape", f(2, 3, 4), ints(-1), const=(1,)), case("Reshape", f(0, 3), ints(3, 0), const=(1,), allowzero=1)
for axis in (0, 1, 2, -1, 3):
    case("Flatten", f(2, 3, 4), axis=axis)
case("Squeeze", f(1, 3, 1), ints(0), const=(1,)), case("Squeeze", f(1, 3, 1)), case("Squeeze", f(1, 3, 1), ints(-1, 0), const=(1,)), case("Squeeze", f(1, 3, 1), opset=11, axes=[2])
case("Unsqueeze", f(2, 3), ints(0, -1), const=(1,)), case("Unsqueeze", f(2, 3), ints(1), const=(1,)), case("Unsqueeze", f(2, 3), opset=11, axes=[0, 3])
case("Transpose", f(2, 3, 4)), case("Transpose", f(2, 3, 4), perm=[1, 2, 0])
case("Expand", f(3, 1), ints(2, 3, 4), const=(1,)), case("Expand", f(3, 4), ints(1), const=(1,)), case("Tile", f(2, 3), ints(2, 3), const=(1,)), case("Tile", i(2, 1), ints(1, 4), const=(1,))
case("Concat", f(2, 3), f(2, 4), f(2, 1), axis=1), case("Concat", f(2, 3), f(1, 3), axis=-2), case("Concat", i(3), i(0), axis=0)
case("Split", f(2, 6), outputs=3, axis=1), case("Split", f(2, 6), ints(1, 5), const=(1,), outputs=2, axis=-1), case("Split", f(7, 2), outputs=3, opset=18, num_outputs=3), case("Split", f(6), opset=11, outputs=2, split=[4, 2])
SLICES = [((0, 1), (5, 3), (0, 1), (1, 1)), ((-3,), (2 ** 63 - 1,), (1,), (1,)), ((4,), (0,), (0,), (-1,)), ((-1,), (-(2 ** 63),), (1,), (-2,)), ((1, 0), (100, 5), (1, 0), (2, 3)), ((3,), (1,), (0,), (1,)), ((100,), (-100,), (-1,), (-1,))]
for s, e, a, t in SLICES:
    case("Slice", f(5, 6), ints(*s), ints(*e), ints(*a), ints(*t), const=(1, 2, 3, 4))
case("Slice", f(5, 6), ints(1, 2), ints(3, 5), const=(1, 2)), case("Slice", f(5, 6), opset=9, starts=[1], ends=[-1], axes=[1])
case("Pad", f(2, 3), ints(1, 0, 0, 2), np.float32(7), const=(1, 2)), case("Pad", f(2, 3), ints(1, 0, 0, 2), const=(1,)), case("Pad", f(4, 3), ints(-1, 1, -1, 0), const=(1,)), case("Pad", f(3, 4), ints(1, 2), order=["x0", "x1", "", "x2"], opset=18, const=(1, 2)) if False else None
for mode in ("reflect", "edge"):
    case("Pad", f(3, 4), ints(1, 2, 2, 1), const=(1,), mode=mode)
case("Pad", f(3, 4), ints(1, 2, 2, 1), const=(1,), mode="wrap", opset=19)
case("Pad", f(3, 4), opset=2, pads=[1, 0, 0, 1], value=3.0)
case("Shape", f(2, 3, 4)), case("Shape", f(2, 3, 4), start=1, end=-1, opset=15), case("Size", f(2, 3))
case("ConstantOfShape", ints(2, 3), const=(0,)), case("ConstantOfShape", ints(2), const=(0,), value=numpy_helper.from_array(np.array([5], I64)))
case("Range", np.int64(2), np.int64(11), np.int64(3), const=(0, 1, 2)), case("Range", np.float32(0), np.float32(1), np.float32(0.25), const=(0, 1, 2)), case("Range", np.int64(5), np.int64(0), np.int64(-2), const=(0, 1, 2))
for upper in (0, 1):
    case("Trilu", f(4, 5), upper=upper), case("Trilu", f(2, 4, 4), np.int64(1), const=(1,), upper=upper), case("Trilu", i(4, 4), np.int64(-2), const=(1,), upper=upper)
case("EyeLike", f(4, 5)), case("EyeLike", i(4, 4), k=1, dtype=TensorProto.FLOAT)
for mode in ("DCR", "CRD"):
    case("DepthToSpace", f(1, 8, 2, 3), blocksize=2, mode=mode)
case("SpaceToDepth", f(1, 2, 4, 6), blocksize=2)

# ---- indices ----
case("Gather", f(5, 3), i(2, 4, low=-5, high=5)), case("Gather", f(3, 5), i(2, low=-5, high=5), axis=1), case("Gather", f(5, 3), np.int64(-1), const=(1,)), case("Gather", f(2, 5, 3), np.int64(2), axis=1), case("Gather", f(5, 3), i(4, low=0, high=5, dtype=I32))
case("GatherElements", f(4, 3), i(2, 3, low=-4, high=4)), case("GatherElements", f(4, 3), i(4, 2, low=0, high=3), axis=1), case("GatherElements", f(2, 3, 4), i(1, 2, 6, low=0, high=4), axis=2)
case("GatherND", f(3, 4, 5), i(2, 2, low=-3, high=3)), case("GatherND", f(3, 4, 5), i(2, 6, 3, low=0, high=3)), case("GatherND", f(3, 4, 5), i(3, 1, low=0, high=4), batch_dims=1), case("GatherND", f(2, 3, 4), i(2, 3, 1, low=0, high=4), batch_dims=2)
case("ScatterElements", f(4, 3), ints(*[[1, 0, 2], [0, 2, 1]]), f(2, 3)), case("ScatterElements", f(3, 5), np.array([[1, 3]]), f(1, 2), axis=1), case("ScatterElements", f(4), ints(1, -1), f(2))
for reduction in ("add", "mul", "max", "min"):
    case("ScatterElements", f(4, 3), i(5, 3, low=0, high=4), f(5, 3), reduction=reduction, opset=18), case("ScatterND", f(4, 3), i(5, 1, low=0, high=4), f(5, 3), reduction=reduction, opset=18)
case("ScatterND", f(4, 3), np.array([[1], [3]]), f(2, 3)), case("ScatterND", f(4, 3, 2), np.array([[[1, 0]], [[3, -1]]]), f(2, 1, 2))
case("OneHot", i(2, 3, low=-4, high=4), np.int64(4), f(2), const=(1,)), case("OneHot", i(3, low=0, high=4), np.int64(5), ints(0, 1), const=(1,), axis=0)
for largest in (0, 1):
    case("TopK", f(3, 6), ints(2), const=(1,), outputs=2, largest=largest), case("TopK", i(5, 3, low=0, high=3), ints(3), const=(1,), outputs=2, axis=0, largest=largest)
for kind in ("ArgMax", "ArgMin"):
    for last in (0, 1):
        case(kind, i(3, 4, low=0, high=3).astype(F32), axis=1, select_last_index=last), case(kind, f(3, 4, 2), axis=-2, keepdims=0, select_last_index=last)
for reverse in (0, 1):
    for exclusive in (0, 1):
        case("CumSum", f(3, 5), np.int64(1), const=(1,), reverse=reverse, exclusive=exclusive), case("CumSum", i(4, 3, 2, dtype=I32), np.int32(-3), const=(1,), reverse=reverse, exclusive=exclusive)
case("NonZero", np.array([[1, 0], [2, 3]], I64), const=(0,))

# ---- products ----
for p, q in [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((3, 4), (2, 4, 5))]:
    case("MatMul", f(*p), f(*q))
for ta in (0, 1):
    for tb in (0, 1):
        x, y = (f(4, 3) if ta else f(3, 4)), (f(5, 4) if tb else f(4, 5))
        case("Gemm", x, y, f(5), transA=ta, transB=tb, alpha=0.5, beta=2.0), case("Gemm", x, y, transA=ta, transB=tb)
        case("FusedMatMul", f(2, 4, 3) if ta else f(2, 3, 4), f(2, 5, 4) if tb else f(2, 4, 5), domain="com.microsoft", transA=ta, transB=tb, alpha=0.3)
for equation, *shapes in [("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (3, 4)), ("ij->i", (3, 4)), ("ij,kj", (3, 4), (5, 4)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)), ("i,j->ij", (3,), (4,)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("bi,bi->b", (3, 4), (3, 4)), ("ij,ik->jk", (3, 4), (3, 2))]:
    case("Einsum", *[f(*s) for s in shapes], equation=equation)
case("MatMulInteger", i(3, 4, low=0, high=200, dtype=U8), i(4, 5, low=0, high=200, dtype=U8)), case("MatMulInteger", i(3, 4, low=0, high=200, dtype=U8), i(4, 5, low=-9, dtype=I8), np.uint8(12), np.int8(3), const=(2, 3)), case("MatMulInteger", i(3, 4, low=0, high=200, dtype=U8), i(4, 5, dtype=I8), np.uint8(12), i(5, dtype=I8), const=(2, 3))
case("ConvInteger", i(1, 2, 5, 5, low=0, high=200, dtype=U8), i(3, 2, 3, 3, low=0, high=90, dtype=U8), np.uint8(12), const=(2,), pads=[1, 1, 1, 1])

# ---- windows ----
CONVS = [dict(), dict(pads=[1, 1, 1, 1]), dict(strides=[2, 2], pads=[1, 0, 2, 1]), dict(dilations=[2, 1]), dict(auto_pad="SAME_UPPER", strides=[2, 2]), dict(auto_pad="SAME_LOWER"), dict(auto_pad="VALID")]
for attributes in CONVS:
    case("Conv", f(2, 4, 8, 7), f(6, 4, 3, 2), f(6), **attributes)
case("Conv", f(2, 4, 8, 7), f(8, 1, 3, 3), group=4), case("Conv", f(2, 4, 8, 7), f(6, 2, 3, 3), group=2, pads=[1, 1, 1, 1]), case("Conv", f(1, 3, 9), f(2, 3, 3), strides=[2]), case("Conv", f(1, 2, 4, 5, 6), f(3, 2, 2, 2, 2))
for attributes in [dict(), dict(strides=[2, 2]), dict(strides=[2, 3], pads=[1, 1, 0, 1]), dict(strides=[2, 2], output_padding=[1, 1]), dict(dilations=[2, 2]), dict(strides=[2, 2], output_shape=[10, 9]), dict(strides=[2, 2], auto_pad="SAME_UPPER")]:
    case("ConvTranspose", f(1, 4, 5, 4), f(4, 3, 3, 3), f(3), **attributes)
case("ConvTranspose", f(1, 4, 5, 4), f(4, 3, 3, 3), group=2, strides=[2, 2]), case("ConvTranspose", f(1, 2, 5), f(2, 3, 4), strides=[3])
POOLS = [dict(kernel_shape=[2, 3]), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), dict(kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=1), dict(kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2])]
for attributes in POOLS:
    case("MaxPool", f(1, 2, 8, 7), **attributes), case("AveragePool", f(1, 2, 8, 7), opset=19, **attributes), case("AveragePool", f(1, 2, 8, 7), opset=19, count_include_pad=1, **attributes)
case("MaxPool", f(1, 2, 9), kernel_shape=[3], dilations=[2]), case("LpPool", f(1, 2, 8, 7), kernel_shape=[2, 2], p=2), case("LpPool", f(1, 2, 8, 7), kernel_shape=[3, 2], p=3, strides=[2, 2], opset=18)
case("GlobalAveragePool", f(2, 3, 4, 5)), case("GlobalMaxPool", f(2, 3, 4, 5)), case("MaxPool", i(1, 1, 5, 5, dtype=I8), kernel_shape=[2, 2])

# ---- reductions, normalisations ----
for kind in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split():
    x = f(3, 4, 2, low=0.2, high=1.5)
    case("Reduce" + kind, x, ints(1), const=(1,), opset=18), case("Reduce" + kind, x, ints(-1, 0), const=(1,), opset=18, keepdims=0), case("Reduce" + kind, x, opset=18)
    if kind != "Sum":
        case("Reduce" + kind, x, opset=13, axes=[1], keepdims=0)
case("ReduceSum", f(3, 4), opset=18, noop_with_empty_axes=1), case("ReduceSum", i(3, 4), ints(0), const=(1,)), case("ReduceMax", i(3, 4, dtype=I32), opset=18), case("ReduceMax", b(3, 4), ints(1), const=(1,), opset=20), case("ReduceProd", i(3, 2), opset=18)
for kind in ("Softmax", "LogSoftmax", "Hardmax"):
    case(kind, f(2, 3, 4)), case(kind, f(2, 3, 4), axis=1)
case("Softmax", f(2, 3, 4), opset=11, axis=1), case("Softmax", f(2, 3, 4), opset=11), case("LogSoftmax", f(2, 3, 4), opset=9, axis=2)
case("BatchNormalization", f(2, 3, 4, 5), f(3), f(3), f(3), f(3, low=0.5)), case("BatchNormalization", f(2, 3), f(3), f(3), f(3), f(3, low=0.5), epsilon=0.01)
case("LayerNormalization", f(2, 3, 4), f(4), f(4)), case("LayerNormalization", f(2, 3, 4), f(3, 4), axis=1), case("LayerNormalization", f(2, 3, 4), f(4), f(4), outputs=3), case("InstanceNormalization", f(2, 3, 4, 5), f(3), f(3))
case("GroupNormalization", f(2, 6, 4, 5), f(6), f(6), num_groups=3, opset=21, reference=True), case("GroupNormalization", f(2, 6, 4), f(3), f(3), num_groups=3, opset=18, reference=True)
case("RMSNormalization", f(2, 3, 4), f(4), opset=23, reference=True), case("SimplifiedLayerNormalization", f(2, 3, 4), f(4), epsilon=1e-6, axis=-1)
case("LRN", f(2, 6, 3, 3), size=3), case("LRN", f(2, 6, 3, 3), size=5, alpha=0.01, bias=2.0), case("LpNormalization", f(3, 4), p=2), case("LpNormalization", f(3, 4), p=1, axis=0), case("MeanVarianceNormalization", f(2, 3, 4, 4))
M = "com.microsoft"
case("SkipLayerNormalization", f(2, 3, 4), f(2, 3, 4), f(4), f(4), f(4), domain=M), case("SkipLayerNormalization", f(2, 3, 4), f(2, 3, 4), f(4), domain=M), case("SkipSimplifiedLayerNormalization", f(2, 3, 4), f(2, 3, 4), f(4), domain=M, epsilon=1e-5)
case("Gelu", f(3, 4), domain=M), case("FastGelu", f(3, 4), f(4), domain=M), case("BiasGelu", f(3, 4), f(4), domain=M), case("QuickGelu", f(3, 4), domain=M)

# ---- quantisation ----
for zero in (np.uint8(100), np.int8(-5)):
    case("QuantizeLinear", f(3, 4, low=-9, high=9), np.float32(0.05), zero), case("DequantizeLinear", i(3, 4, low=0, high=100, dtype=zero.dtype), np.float32(0.05), zero)
case("QuantizeLinear", f(3, 4), np.float32(0.05)), case("QuantizeLinear", f(3, 4, 2), f(4, low=0.01, high=0.1), i(4, low=0, dtype=I8), axis=1), case("DequantizeLinear", i(3, 4, dtype=I8), f(4, low=0.1), i(4, dtype=I8), axis=-1), case("DequantizeLinear", i(3, 4, dtype=I32), np.float32(0.1))
case("QuantizeLinear", f(3, 4, low=-9, high=9), np.float32(2), opset=21, order=["x0", "x1"], output_dtype=TensorProto.INT8), case("DequantizeLinear", i(4, 6, dtype=I8), f(4, 2, low=0.1), axis=1, block_size=3, opset=21)
case("DynamicQuantizeLinear", f(3, 4), outputs=3), case("DynamicQuantizeLinear", f(30, low=1, high=3), outputs=3)
case("QLinearMatMul", i(3, 4, low=0, high=200, dtype=U8), np.float32(0.02), np.uint8(100), i(4, 5, low=0, high=200, dtype=U8), np.float32(0.03), np.uint8(90), np.float32(0.1), np.uint8(120), const=(1, 2, 4, 5, 6, 7))
case("QLinearConv", i(1, 2, 5, 5, low=0, high=200, dtype=U8), np.float32(0.02), np.uint8(100), i(3, 2, 3, 3, low=0, high=200, dtype=U8), np.float32(0.03), np.uint8(90), np.float32(0.3), np.uint8(120), i(3, dtype=I32), const=(1, 2, 4, 5, 6, 7))

# ---- resize ----
for coordinates in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
    for mode in ("nearest", "linear"):
        case("Resize", f(1, 2, 4, 5), np.array([1, 1, 2, 1.5], F32), order=["x0", "", "x1"], const=(1,), mode=mode, coordinate_transformation_mode=coordinates)
        case("Resize", f(1, 2, 4, 5), ints(1, 2, 7, 3), order=["x0", "", "", "x1"], const=(1,), mode=mode, coordinate_transformation_mode=coordinates)
for nearest in ("floor", "ceil", "round_prefer_ceil"):
    case("Resize", f(1, 1, 4, 4), np.array([1, 1, 2, 2.5], F32), order=["x0", "", "x1"], const=(1,), mode="nearest", nearest_mode=nearest, coordinate_transformation_mode="asymmetric")
case("Upsample", f(1, 2, 3, 3), np.array([1, 1, 2, 2], F32), const=(1,), opset=9, mode="nearest")

# ---- attention ----
case("Attention", f(2, 3, 4, 8), f(2, 3, 6, 8), f(2, 3, 6, 5), opset=23), case("Attention", f(2, 6, 4, 8), f(2, 2, 4, 8), f(2, 2, 4, 8), opset=23, is_causal=1), case("Attention", f(2, 4, 24), f(2, 6, 24), f(2, 6, 24), f(4, 6), opset=23, q_num_heads=3, kv_num_heads=3)
case("Attention", f(2, 3, 4, 8), f(2, 3, 6, 8), f(2, 3, 6, 8), b(4, 6) | np.eye(4, 6, dtype=B), opset=23, softcap=2.0, scale=0.3)
case("Attention", f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4), order=["x0", "x1", "x2", "", "x3", "x4"], opset=23, outputs=3)
wide_cache = (np.cos(f(16, 8)), np.sin(f(16, 8)))
cache = (np.cos(f(16, 4)), np.sin(f(16, 4)))
case("RotaryEmbedding", f(2, 3, 5, 8), *cache, i(2, 5, low=0, high=16), opset=23, reference=True), case("RotaryEmbedding", f(2, 5, 24), *cache, i(2, 5, low=0, high=16), opset=23, num_heads=3, interleaved=1, reference=True), case("RotaryEmbedding", f(2, 3, 5, 12), *cache, i(2, 5, low=0, high=16), opset=23, rotary_embedding_dim=8, reference=True)
case("RotaryEmbedding", f(2, 5, 24), i(2, 5, low=0, high=16), *cache, domain=M), case("RotaryEmbedding", f(2, 3, 5, 8), ints(3), *cache, domain=M), case("RotaryEmbedding", f(2, 5, 24), i(2, 5, low=0, high=16), *cache, domain=M, interleaved=1)
case("MultiHeadAttention", f(2, 4, 24), f(2, 6, 24), f(2, 6, 24), domain=M, num_heads=3), case("MultiHeadAttention", f(2, 4, 24), f(2, 4, 24), f(2, 4, 24), f(72), domain=M, num_heads=3), case("MultiHeadAttention", f(2, 4, 24), f(2, 4, 24), f(2, 4, 24), domain=M, num_heads=3, unidirectional=1), case("MultiHeadAttention", f(2, 4, 24), f(2, 4, 24), f(2, 4, 24), f(1, 3, 4, 4), order=["x0", "x1", "x2", "", "", "x3"], domain=M, num_heads=3)
case("Attention", f(2, 4, 16), f(16, 48), f(48), domain=M, num_heads=4), case("Attention", f(2, 4, 16), f(16, 48), f(48), domain=M, num_heads=4, unidirectional=1), case("Attention", f(2, 4, 16), f(16, 48), f(48), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], I32), domain=M, num_heads=4)
case("GroupQueryAttention", f(2, 4, 32), f(2, 4, 16), f(2, 4, 16), np.array([3, 3], I32), np.int32(4), order=["x0", "x1", "x2", "", "", "x3", "x4"], domain=M, num_heads=4, kv_num_heads=2, outputs=3)
case("GroupQueryAttention", f(1, 1, 64), f(1, 1, 32), f(1, 1, 32), f(1, 2, 5, 16), f(1, 2, 5, 16), np.array([5], I32), np.int32(6), *wide_cache, domain=M, num_heads=4, kv_num_heads=2, outputs=3, do_rotary=1)
case("EmbedLayerNormalization", i(2, 4, low=0, high=9, dtype=I32), i(2, 4, low=0, high=2, dtype=I32), f(9, 8), f(6, 8), f(2, 8), f(8), f(8), domain=M, outputs=2)

# ---- control flow, functions ----
T = TensorProto


def vi(name, dtype, *shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def graph(nodes, inputs, outputs, weights=()):
    return helper.make_graph(nodes, "sub", inputs, outputs, list(weights))


def value(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


then = graph([helper.make_node("Add", ["x1", "x1"], ["t"])], [], [vi("t", T.FLOAT, 3)])
other = graph([helper.make_node("Neg", ["x1"], ["e"])], [], [vi("e", T.FLOAT, 3)])
for constant in ((), (0,)):
    for truth in (True, False):
        case("If", np.array(truth), f(3), const=constant, nodes=[helper.make_node("If", ["x0"], ["y0"], then_branch=then, else_branch=other)])
body = graph([helper.make_node("Add", ["s", "x2"], ["s2"]), helper.make_node("Mul", ["s2", "s2"], ["o"]), helper.make_node("Identity", ["c"], ["c2"])],
             [vi("n", T.INT64), vi("c", T.BOOL), vi("s", T.FLOAT, 3)], [vi("c2", T.BOOL), vi("s2", T.FLOAT, 3), vi("o", T.FLOAT, 3)])
loop = [helper.make_node("Loop", ["x0", "", "x1"], ["y0", "y1"], body=body)]
case("Loop", np.int64(4), f(3), f(3), const=(0,), outputs=2, nodes=loop)
case("Loop", np.int64(0), f(3), f(3), const=(0,), outputs=2, nodes=loop)
until = graph([helper.make_node("Add", ["s", "x2"], ["s2"]), helper.make_node("ReduceSum", ["s2"], ["sum"], keepdims=0), helper.make_node("Less", ["sum", "lim"], ["c2"])],
              [vi("n", T.INT64), vi("c", T.BOOL), vi("s", T.FLOAT, 3)], [vi("c2", T.BOOL), vi("s2", T.FLOAT, 3)], [value("lim", np.float32(20))])
case("Loop", np.int64(100), np.zeros(3, F32), np.array([1, 2, 0.5], F32), const=(0,), nodes=[helper.make_node("Loop", ["x0", "", "x1"], ["y0"], body=until)])
step = graph([helper.make_node("Add", ["s", "e"], ["s2"]), helper.make_node("Mul", ["s2", "e"], ["o"])],
             [vi("s", T.FLOAT, 3), vi("e", T.FLOAT, 3)], [vi("s2", T.FLOAT, 3), vi("o", T.FLOAT, 3)])
case("Scan", f(3), f(5, 3), outputs=2, nodes=[helper.make_node("Scan", ["x0", "x1"], ["y0", "y1"], body=step, num_scan_inputs=1)])
case("Scan", f(3), f(3, 5), outputs=2, nodes=[helper.make_node("Scan", ["x0", "x1"], ["y0", "y1"], body=step, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1], scan_output_directions=[1])])
scaled = helper.make_node("LeakyRelu", ["a"], ["r"])
reference = scaled.attribute.add()
reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", 1
function = helper.make_function("my", "ScaledSum", ["a", "b"], ["out"], [scaled, helper.make_node("Add", ["r", "b"], ["out"])], [helper.make_opsetid("", 17)], ["slope"])
case("Function", f(4), f(4), nodes=[helper.make_node("ScaledSum", ["x0", "x1"], ["y0"], domain="my", slope=0.25)], functions=[function], imports=[helper.make_opsetid("my", 1)])
CASES[:] = [c for c in CASES if c is not None]
