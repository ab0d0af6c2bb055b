"""Builds small ONNX models node by node, and the pairs that consist of two."""

import zlib

import numpy
import onnx
from onnx import helper, numpy_helper

F32 = numpy.float32
I64 = numpy.int64
I32 = numpy.int32
I8 = numpy.int8
U8 = numpy.uint8

_TYPES = {
    numpy.dtype(kind): onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(kind)]
    for kind in (F32, numpy.float64, numpy.float16, I64, I32, I8, U8, numpy.bool_)
}


class Graph:
    """A model under construction. graph.Relu(x) adds a node and returns the name of its output."""

    def __init__(self, opset=13):
        self.opset = opset
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []
        self.domains = {""}

    def input(self, name, shape, dtype=F32):
        self.inputs.append((name, list(shape), numpy.dtype(dtype)))
        return name

    def constant(self, name, value, dtype=F32):
        """An initializer. A name that is in use is not checked: one pair is about just this."""
        self.constants.append((name, numpy.asarray(value, dtype)))
        return name

    def ints(self, name, values):
        return self.constant(name, values, I64)

    def node(self, op, *inputs, domain="", outputs=1, **attributes):
        self.domains.add(domain)
        names = [f"{op.lower()}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [i or "" for i in inputs], names, name=names[0],
                                           domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def __getattr__(self, op):
        if not op[:1].isupper():
            raise AttributeError(op)
        return lambda *inputs, **attributes: self.node(op, *inputs, **attributes)

    def output(self, value, shape, dtype=F32, name=None):
        """The value, under the name that callers see: the node that makes it is renamed."""
        name = name or f"y{len(self.outputs)}"
        for node in self.nodes:
            for field in (node.input, node.output):
                for i, text in enumerate(field):
                    if text == value:
                        field[i] = name
        self.outputs.append((name, list(shape), numpy.dtype(dtype)))
        return name

    def model(self):
        info = lambda entry: helper.make_tensor_value_info(entry[0], _TYPES[entry[2]], entry[1])
        graph = helper.make_graph(
            self.nodes, "pair", [info(i) for i in self.inputs], [info(o) for o in self.outputs],
            [numpy_helper.from_array(value, name) for name, value in self.constants])
        versions = [helper.make_opsetid(domain, 1 if domain else self.opset)
                    for domain in sorted(self.domains)]
        return helper.make_model(graph, ir_version=8, opset_imports=versions,
                                 producer_name="lemma")


class Random:
    """Numbers that depend only on a text: NumPy keeps this generator's stream fixed."""

    def __init__(self, text):
        self.state = numpy.random.RandomState(zlib.crc32(text.encode()))

    def uniform(self, *shape, low=-1.0, high=1.0, dtype=F32):
        return (low + (high - low) * self.state.random_sample(shape)).astype(dtype)

    def integers(self, low, high, *shape, dtype=I64):
        """From low to high, both included."""
        return self.state.randint(low, high + 1, shape).astype(dtype)


PAIRS = []


class Verdict:
    def __init__(self, verdict, contract, difference, steps=0):
        self.verdict, self.contract, self.difference = verdict, contract, difference
        self.steps = steps  # quantization steps that rounding explains


def refuted(difference):
    return Verdict("refuted", None, difference)


def proved(contract, difference, steps=0):
    return Verdict("proved", contract, difference, steps)


def different_interface(difference):
    return Verdict("different_interface", None, difference)


def invalid(difference):
    """AFTER is no valid model: it has to be refused."""
    return Verdict("invalid", None, difference)


def add(name, thread, happened, verdict, build, counterpart=False, quantized=False):
    """build(random) returns BEFORE, AFTER and the inputs; None: random ones from -1 to 1.

    counterpart: the thread speaks of the wrong rewrite only; this is the right version of it.
    """
    PAIRS.append({
        "name": name, "thread": thread, "happened": happened, "verdict": verdict, "build": build,
        "counterpart": counterpart, "quantized": quantized,
    })


def build(pair):
    """BEFORE and AFTER as models, and the inputs in their order."""
    random = Random(pair["name"])
    before, after, inputs = pair["build"](random)
    if inputs is None:
        inputs = [random.uniform(*shape) for _, shape, _ in before.inputs]
    inputs = [numpy.asarray(value, entry[2]) for value, entry in zip(inputs, before.inputs)]
    return before.model(), after.model(), inputs


ORT = "https://github.com/microsoft/onnxruntime/issues/"
ORT_PULL = "https://github.com/microsoft/onnxruntime/pull/"
OPTIMIZER = "https://github.com/onnx/optimizer/issues/"
ONNX = "https://github.com/onnx/onnx/issues/"
ONNXSIM = "https://github.com/onnxsim/onnxsim/issues/"
