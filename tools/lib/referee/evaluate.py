"""Evaluates a small ONNX model with NumPy, operator by operator, as ONNX defines them."""

import math

import numpy
import onnx
from onnx import numpy_helper

from windows import average_pool, conv, conv_transpose, max_pool, pad
from quantized import QUANTIZED


def axes_of(values, rank):
    return tuple(int(axis) % rank for axis in values)


def reduce(function):
    def run(node, x, axes=None):
        chosen = node.get("axes") if axes is None else axes
        chosen = tuple(range(x.ndim)) if chosen is None else axes_of(chosen, x.ndim)
        return function(x, axis=chosen, keepdims=bool(node.get("keepdims", 1))).astype(x.dtype)
    return run


def squeeze(node, x, axes=None):
    return numpy.squeeze(x, None if axes is None else axes_of(axes, x.ndim))


def unsqueeze(node, x, axes):
    for axis in sorted(axes_of(axes, x.ndim + len(axes))):
        x = numpy.expand_dims(x, axis)
    return x


def reshape(node, x, shape):
    sizes = [int(s) for s in shape]
    if not node.get("allowzero", 0):
        sizes = [x.shape[i] if s == 0 else s for i, s in enumerate(sizes)]
    return x.reshape(sizes)


def flatten(node, x):
    axis = node.get("axis", 1)
    return x.reshape(math.prod(x.shape[:axis]), -1)


def slices(node, x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes_of(axes, x.ndim)
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        index[axis] = slice(int(start), int(end), int(step))
    return x[tuple(index)]


def split(node, x, sizes=None):
    axis = node.get("axis", 0)
    if sizes is None:
        return numpy.split(x, node.output_count, axis)
    return numpy.split(x, numpy.cumsum(sizes)[:-1], axis)


def expand(node, x, shape):
    return x * numpy.ones([int(s) for s in shape], x.dtype)


def softmax(node, x):
    axis = node.get("axis", -1)
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def batch_norm(node, x, scale, bias, mean, variance):
    shape = [1, -1] + [1] * (x.ndim - 2)
    scale, bias, mean, variance = (v.reshape(shape) for v in (scale, bias, mean, variance))
    epsilon = x.dtype.type(node.get("epsilon", 1e-5))
    return (x - mean) / numpy.sqrt(variance + epsilon) * scale + bias


def layer_norm(node, x, scale, bias=None):
    axes = tuple(range(node.get("axis", -1) % x.ndim, x.ndim))
    centered = x - x.mean(axes, keepdims=True)
    spread = numpy.sqrt((centered * centered).mean(axes, keepdims=True) +
                        x.dtype.type(node.get("epsilon", 1e-5)))
    y = centered / spread * scale
    return y if bias is None else y + bias


def skip_layer_norm(node, x, skip, scale, bias=None):
    return layer_norm(node, x + skip, scale, bias)


def gemm(node, a, b, c=None):
    a = a.T if node.get("transA", 0) else a
    b = b.T if node.get("transB", 0) else b
    y = a.dtype.type(node.get("alpha", 1.0)) * (a @ b)
    # C may be enlarged to the product, not the product to C.
    return y if c is None else y + a.dtype.type(node.get("beta", 1.0)) * numpy.broadcast_to(
        c, y.shape)


def cast(node, x):
    target = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[node.get("to")]
    if x.dtype.kind == "f" and target.kind in "iu":
        return numpy.trunc(x).astype(numpy.int64).astype(target)
    return x.astype(target)


def clip(node, x, low=None, high=None):
    x = x if low is None else numpy.maximum(x, low)
    return x if high is None else numpy.minimum(x, high)


def arg_max(node, x):
    return numpy.expand_dims(numpy.argmax(x, node.get("axis", 0)), node.get("axis", 0)) if (
        node.get("keepdims", 1)) else numpy.argmax(x, node.get("axis", 0))


def resize(node, x, _region, scales, sizes=None):
    """Linear, half_pixel, along the last axis: what the pairs use."""
    length = int(sizes[-1]) if sizes is not None else int(x.shape[-1] * scales[-1])
    at = (numpy.arange(length) + 0.5) * x.shape[-1] / length - 0.5
    low = numpy.floor(at).astype(int)
    share = (at - low).astype(x.dtype)
    pick = lambda i: x[..., numpy.clip(i, 0, x.shape[-1] - 1)]
    return pick(low) * (1 - share) + pick(low + 1) * share


def quick_gelu(node, x):
    alpha = x.dtype.type(node.get("alpha", 1.702))
    return x / (1 + numpy.exp(-alpha * x))


def erf(node, x):
    return numpy.vectorize(math.erf)(x).astype(x.dtype)


def divide(node, a, b):
    if a.dtype.kind == "f":
        return a / b
    return (numpy.sign(a) * numpy.sign(b) * (abs(a) // abs(b))).astype(a.dtype)


OPERATORS = {
    "Add": lambda node, a, b: a + b,
    "And": lambda node, a, b: a & b,
    "ArgMax": arg_max,
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Ceil": lambda node, x: numpy.ceil(x),
    "Clip": clip,
    "Concat": lambda node, *xs: numpy.concatenate(xs, node.get("axis")),
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Cos": lambda node, x: numpy.cos(x),
    "Div": divide,
    "Dropout": lambda node, x, *_: x,
    "Erf": erf,
    "Exp": lambda node, x: numpy.exp(x),
    "Expand": expand,
    "Flatten": flatten,
    "Floor": lambda node, x: numpy.floor(x),
    "Gather": lambda node, x, i: numpy.take(x, i, node.get("axis", 0)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda node, x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    "Greater": lambda node, a, b: a > b,
    "Identity": lambda node, x: x,
    "LayerNormalization": layer_norm,
    "MatMul": lambda node, a, b: a @ b,
    "MaxPool": max_pool,
    "Mul": lambda node, a, b: a * b,
    "Neg": lambda node, x: -x,
    "Not": lambda node, x: ~x,
    "Pad": pad,
    "Pow": lambda node, a, b: numpy.power(a, b.astype(a.dtype)),
    "QuickGelu": quick_gelu,
    "ReduceMean": reduce(numpy.mean),
    "ReduceSum": reduce(numpy.sum),
    "Relu": lambda node, x: numpy.maximum(x, x.dtype.type(0)),
    "Reshape": reshape,
    "Resize": resize,
    "Round": lambda node, x: numpy.rint(x),
    "Shape": lambda node, x: numpy.array(x.shape, numpy.int64),
    "Sigmoid": lambda node, x: 1 / (1 + numpy.exp(-x)),
    "SkipLayerNormalization": skip_layer_norm,
    "Slice": slices,
    "Softmax": softmax,
    "Split": split,
    "Sqrt": lambda node, x: numpy.sqrt(x),
    "Squeeze": squeeze,
    "Sub": lambda node, a, b: a - b,
    "Tanh": lambda node, x: numpy.tanh(x),
    "Transpose": lambda node, x: numpy.transpose(x, node.get("perm")),
    "Unsqueeze": unsqueeze,
    "Where": lambda node, c, a, b: numpy.where(c, a, b),
    **QUANTIZED,
}


class Node:
    """The attributes of a node, by name."""

    def __init__(self, proto):
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.output_count = len(proto.output)

    def get(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value


def constant_of(node):
    return numpy_helper.to_array(node.get("value"))


def evaluate(model, inputs):
    """The outputs for these inputs. An operator that is not listed above is a KeyError."""
    values = {"": None}
    values.update({t.name: numpy_helper.to_array(t) for t in model.graph.initializer})
    values.update({entry.name: value for entry, value in zip(model.graph.input, inputs)})
    with numpy.errstate(all="ignore"):
        for proto in model.graph.node:
            node = Node(proto)
            if proto.op_type == "Constant":
                values[proto.output[0]] = constant_of(node)
                continue
            result = OPERATORS[proto.op_type](node, *[values[name] for name in proto.input])
            results = result if isinstance(result, (list, tuple)) else [result]
            values.update(zip(proto.output, results))
    return [numpy.asarray(values[output.name]) for output in model.graph.output]
