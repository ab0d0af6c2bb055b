"""Puts faults into what ONNX Runtime made of models, and lets the referee judge them."""

import collections
import json
import random
import subprocess
import tempfile

import numpy
import onnx
from onnx import numpy_helper


def initializers(model, least_rank=1):
    """Returns the float weights that some node reads, with more than one element."""
    read = {name for node in model.graph.node for name in node.input}
    return [tensor for tensor in model.graph.initializer
            if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name in read
            and len(tensor.dims) >= least_rank and numpy.prod(tensor.dims) > 1]


def change(tensor, function):
    values = numpy_helper.to_array(tensor).copy()
    before = values.copy()
    values = function(values)
    tensor.CopyFrom(numpy_helper.from_array(values.astype(numpy.float32), tensor.name))
    return tensor.name if (values != before).any() else None


def one_element(factor):
    def fault(model, draw):
        def scaled(values):
            flat = values.reshape(-1)
            flat[draw.choice(numpy.flatnonzero(flat))] *= factor
            return values
        return change(draw.choice(initializers(model, 2)), scaled)
    return fault


def swap_rows(model, draw):
    def swapped(values):
        i, j = draw.sample(range(values.shape[0]), 2)
        values[[i, j]] = values[[j, i]]
        return values
    choices = [t for t in initializers(model, 2) if t.dims[0] > 1]
    return change(draw.choice(choices), swapped)


def shift_vector(model, draw):
    vectors = [t for t in initializers(model) if len(t.dims) == 1]
    return vectors and change(draw.choice(vectors), lambda values: numpy.roll(values, 1))


def drop_vector(model, draw):
    vectors = [t for t in initializers(model) if len(t.dims) == 1]
    return vectors and change(draw.choice(vectors), numpy.zeros_like)


def attribute(name, function):
    """A fault in an attribute of some node that has it."""
    def fault(model, draw):
        found = [(node, a) for node in model.graph.node for a in node.attribute if a.name == name]
        if not found:
            return None
        node, old = draw.choice(found)
        value = function(onnx.helper.get_attribute_value(old))
        if value is None:
            return None
        node.attribute.remove(old)
        node.attribute.append(onnx.helper.make_attribute(name, value))
        return node.output[0]
    return fault


def swap_operands(model, draw):
    nodes = [n for n in model.graph.node
             if n.op_type in ("Sub", "Div", "MatMul", "Concat") and n.input[0] != n.input[1]]
    if not nodes:
        return None
    node = draw.choice(nodes)
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return node.output[0]


def repeat_operand(model, draw):
    nodes = [n for n in model.graph.node
             if n.op_type in ("Add", "Mul", "Concat") and n.input[0] != n.input[1]]
    if not nodes:
        return None
    node = draw.choice(nodes)
    node.input[1] = node.input[0]
    return node.output[0]


FAULTS = {
    "element x 1.5": one_element(1.5),
    "element just outside": one_element(1 + 2.0**-18),
    "rows swapped": swap_rows,
    "vector shifted": shift_vector,
    "vector zero": drop_vector,
    "epsilon": attribute("epsilon", lambda e: e + 0.01),
    "pads": attribute("pads", lambda p: p[::-1] if p != p[::-1] else
                      [p[0] + 1, p[1], p[2] - 1, p[3]] if len(p) == 4 and p[2] else None),
    "activation": attribute("activation", lambda a: b"Tanh" if a == b"Relu" else b"Sigmoid"),
    "alpha": attribute("alpha", lambda a: a * 1.05),
    "operands swapped": swap_operands,
    "operand repeated": repeat_operand,
}


def inject(flags, pairs, count, seed=1):
    """Returns a row for each of `count` faults: the model, the fault, its place, the verdict."""
    draw = random.Random(seed)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        while len(rows) < count:
            kind = list(FAULTS)[len(rows) % len(FAULTS)]
            before, after = draw.choice(pairs)
            model = onnx.load(str(after))
            place = FAULTS[kind](model, draw)
            if not place:
                place = FAULTS[kind := "element x 1.5"](model, draw)
            path = f"{folder}/fault.onnx"
            onnx.save(model, path)
            command = [flags.lemma, "referee", str(before), path, "--json", "--time-limit",
                       str(flags.seconds)]
            done = subprocess.run(command, capture_output=True, text=True)
            verdict = json.loads(done.stdout)["verdict"] if done.stdout else "refused"
            rows.append({"model": after.stem, "fault": kind, "place": place, "verdict": verdict})
            print("|", " | ".join(rows[-1].values()), "|", flush=True)
    counts = collections.Counter(row["verdict"] for row in rows)
    print(dict(counts))
    return rows
