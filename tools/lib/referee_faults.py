"""Puts faults into what ONNX Runtime made of models, and lets the referee judge them."""

import collections
import json
import pathlib
import random
import subprocess
import tempfile
import time

import numpy
import onnx
from onnx import numpy_helper

from bench import inference as bench_inference

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def initializers(model, least_rank=1):
    """Returns the float weights that some node reads, with more than one element."""
    read = {name for node in model.graph.node for name in node.input}
    return [tensor for tensor in model.graph.initializer
            if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name in read
            and len(tensor.dims) >= least_rank and numpy.prod(tensor.dims) > 1]


def change(tensor, function):
    """Returns the tensor's name if `function` changes it."""
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


def vectors(model):
    return [tensor for tensor in initializers(model) if len(tensor.dims) == 1]


def shift_vector(model, draw):
    found = vectors(model)
    return found and change(draw.choice(found), lambda values: numpy.roll(values, 1))


def scale_vector(model, draw):
    found = vectors(model)
    return found and change(draw.choice(found), lambda values: values * 1.01)


def drop_vector(model, draw):
    found = vectors(model)
    return found and change(draw.choice(found), numpy.zeros_like)


def two_operands(node):
    return len(node.input) > 1 and node.input[0] != node.input[1]


def some_node(model, draw, wanted):
    found = [node for node in model.graph.node if wanted(node)]
    return draw.choice(found) if found else None


def drop_bias(model, draw):
    node = some_node(model, draw, lambda n: n.op_type in ("Conv", "Gemm", "FusedConv", "FusedGemm")
                     and len(n.input) == 3 and n.input[2])
    if node is None:
        return None
    del node.input[2]
    return node.output[0]


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


def drop_attribute(model, draw):
    """The attribute's default in the place of its value."""
    found = [(node, a) for node in model.graph.node for a in node.attribute
             if a.name in ("epsilon", "alpha", "pads", "dilations", "axis", "count_include_pad",
                           "ceil_mode", "strides", "activation_params")]
    if not found:
        return None
    node, old = draw.choice(found)
    node.attribute.remove(old)
    return node.output[0]


def swap_pads(pads):
    half = len(pads) // 2
    swapped = pads[half:] + pads[:half]
    if swapped != pads:
        return swapped
    return [pads[0] + 1, *pads[1:half], pads[half] - 1, *pads[half + 1:]] if pads[half] else None


def swap_axes(order):
    order = list(order)
    if len(order) < 2:
        return None
    order[-1], order[-2] = order[-2], order[-1]
    return order


def swap_operands(model, draw):
    node = some_node(model, draw, lambda n: n.op_type in ("Sub", "Div", "MatMul", "Concat")
                     and two_operands(n))
    if node is None:
        return None
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return node.output[0]


def repeat_operand(model, draw):
    node = some_node(model, draw, lambda n: n.op_type in ("Add", "Mul", "Concat") and two_operands(n))
    if node is None:
        return None
    node.input[1] = node.input[0]
    return node.output[0]


def other_order(model, draw):
    """Relu(a + b) becomes Relu(a) + b."""
    sums = {node.output[0]: node for node in model.graph.node if node.op_type == "Add"}
    uses = collections.Counter(name for node in model.graph.node for name in node.input)
    node = some_node(model, draw, lambda n: n.op_type == "Relu" and n.input[0] in sums
                     and uses[n.input[0]] == 1)
    if node is None:
        return None
    add = sums[node.input[0]]
    result, middle = node.output[0], add.output[0]
    a, b = add.input
    nodes = list(model.graph.node)
    at = nodes.index(node)
    nodes[at] = onnx.helper.make_node("Add", [middle, b], [result], name=node.name)
    nodes[nodes.index(add)] = onnx.helper.make_node("Relu", [a], [middle], name=add.name)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return middle


def other_activation(model, draw):
    others = {"Relu": "Sigmoid", "Sigmoid": "Tanh", "Tanh": "Sigmoid", "Erf": "Tanh",
              "Gelu": "Sigmoid", "HardSigmoid": "Sigmoid", "MaxPool": "AveragePool"}
    node = some_node(model, draw, lambda n: n.op_type in others)
    if node is None:
        return None
    if node.op_type != "MaxPool":
        del node.attribute[:]
    node.op_type, node.domain = others[node.op_type], ""
    for attribute_ in [a for a in node.attribute if a.name in ("storage_order", "dilations")]:
        node.attribute.remove(attribute_)
    return node.output[0]


def scalar(model, draw):
    """A single number that some node reads, as in a scale, a mask or a bound."""
    read = {name for node in model.graph.node for name in node.input}
    found = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT
             and t.name in read and numpy.prod(t.dims) == 1]
    if not found:
        return None
    return change(draw.choice(found), lambda values: values * 1.02 + 1e-3)


def index(model, draw):
    """An integer that some node reads, as in the start of a Slice, an index or a shape."""
    read = {name for node in model.graph.node if node.op_type in ("Slice", "Gather", "Pad")
            for name in node.input[1:]}
    found = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT64
             and t.name in read and numpy.prod(t.dims) >= 1]
    if not found:
        return None
    tensor = draw.choice(found)
    values = numpy_helper.to_array(tensor).copy()
    values.reshape(-1)[draw.randrange(values.size)] += draw.choice([1, -1])
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return tensor.name


# One weight that is just outside the interval of its formula: outputs change by less than rounding.
JUST_OUTSIDE = {
    "element just outside": one_element(1 + 2.0**-18),
    "element just outside, negative": one_element(1 - 2.0**-19),
}
FAULTS = {
    **JUST_OUTSIDE,
    "element x 1.5": one_element(1.5),
    "rows swapped": swap_rows,
    "vector shifted": shift_vector,
    "vector x 1.01": scale_vector,
    "vector zero": drop_vector,
    "bias dropped": drop_bias,
    "epsilon": attribute("epsilon", lambda e: e * 10),
    "pads": attribute("pads", swap_pads),
    "perm": attribute("perm", swap_axes),
    "axis": attribute("axis", lambda a: a - 1 if a > 0 else a + 1),
    "activation": attribute("activation", lambda a: b"Tanh" if a == b"Relu" else b"Sigmoid"),
    "alpha": attribute("alpha", lambda a: a * 1.05),
    "attribute's default": drop_attribute,
    "other activation": other_activation,
    "operands swapped": swap_operands,
    "operand repeated": repeat_operand,
    "epilogue in another order": other_order,
    "number": scalar,
    "index": index,
}


class OnnxRuntime:
    """Runs models at a level of optimization, many in one process."""

    def __init__(self, level):
        command = [str(ROOT / "tools/ort_run"), "each", "--optimize", level]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.process.stdout.readline()

    def outputs(self, folder, model, inputs):
        """Returns the outputs, or None if the model does not run."""
        folder.mkdir(exist_ok=True)
        for old in [*folder.glob("*_*.pb"), folder / "model.onnx"]:
            old.unlink(missing_ok=True)
        (folder / "model.onnx").symlink_to(model)
        for tensor in inputs:
            (folder / tensor.name).symlink_to(tensor)
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "ended"}')
        if "error" in answer:
            return None
        return [numpy_helper.to_array(onnx.load_tensor(str(folder / f"output_{i}.pb")))
                for i in range(answer["outputs"])]


class Judged:
    """Tells whether a fault counts, by what ONNX Runtime computes with it."""

    def __init__(self, folder):
        self.folder = folder
        self.plain = OnnxRuntime("disabled")
        self.optimized = OnnxRuntime("all")
        self.known = {}

    def right(self, before, after, inputs):
        """Returns the outputs of a right model, and how far others of its roundings are from them:
        those of the model before, and of this model optimized once more."""
        if after not in self.known:
            outputs = self.plain.outputs(self.folder, after, inputs)
            others = [self.plain.outputs(self.folder, before, inputs),
                      self.optimized.outputs(self.folder, after, inputs)]
            rounding = [max([2.0**-24 * numpy.abs(output).max(initial=0)] +
                            [numpy.abs(other[i] - output).max(initial=0)
                             for other in others if other])
                        for i, output in enumerate(outputs)]
            self.known[after] = outputs, rounding
        return self.known[after]

    def counts(self, kind, before, after, path, inputs):
        """Returns None if the model at `path` does not run; otherwise whether the fault counts: the
        outputs differ by more than 4 times the rounding, or, for a weight just outside its
        interval, at all."""
        right, rounding = self.right(before, after, inputs)
        wrong = self.plain.outputs(self.folder, path, inputs)
        if wrong is None:
            return None
        if kind in JUST_OUTSIDE:
            return any(a.tobytes() != b.tobytes() for a, b in zip(right, wrong))
        return any(a.shape != b.shape or not numpy.abs(a - b).max(initial=0) <= 4 * limit
                   for a, b, limit in zip(right, wrong, rounding))


def near(model, place):
    """Returns the names of the place and of what is computed from it in a few steps."""
    names = {place}
    for _ in range(4):
        names |= {out for node in model.graph.node if names & set(node.input)
                  for out in node.output}
    return names


def judge(flags, inputs, before, path):
    command = [flags.lemma, "referee", str(before), path, "--json", "--time-limit",
               str(flags.seconds), "--inputs", str(inputs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.stdout else {"verdict": "refused"}


def verdict(report, place, model):
    """Returns the part of a row that the referee's report on a model with a fault decides."""
    row = {"verdict": report["verdict"], "seconds": 0}
    refutation = report.get("refutation")
    if refutation:
        found = {refutation.get("first", {}).get("after")}
        found |= {weight["after"] for weight in report["weights"] if "outside" in weight}
        row["right_place"] = bool(found & near(model, place))
        row["found"] = sorted(name for name in found if name)[:3]
    else:
        row["reason"] = report.get("reason", "")[:200]
    return row


def save(flags, rows, neutral):
    """Writes what is known so far, so that an interruption loses nothing."""
    report = {"machine": bench_inference.machine(flags.lemma), "seed": flags.seed,
              "neutral": neutral, "rows": rows}
    flags.out.write_text(json.dumps(report, indent=1) + "\n")


def inject(flags, pairs, count):
    """Returns a row for each of `count` faults that count, and the number of those that do not."""
    draw = random.Random(flags.seed)
    rows, neutral = [], 0
    known = json.loads(flags.out.read_text())["rows"] if flags.resume and flags.out.exists() else []
    kinds = flags.kinds or [*FAULTS, *JUST_OUTSIDE]  # these twice as often
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "fault.onnx"
        judged = Judged(pathlib.Path(temporary) / "run")
        attempts = 0
        while len(rows) < count and attempts < 20 * count:
            kind = kinds[attempts % len(kinds)]
            attempts += 1
            exported, before, after = draw.choice(pairs)
            folder_of_inputs = exported.with_suffix(".io")
            inputs = sorted(folder_of_inputs.glob("input_*.pb"))
            model = onnx.load(str(after))
            place = FAULTS[kind](model, draw)
            if not place:
                continue
            onnx.save(model, str(path))
            counts = judged.counts(kind, before, after, path, inputs)
            if not counts:
                neutral += counts is not None
                continue
            about = {"model": after.stem, "fault": kind, "place": place}
            old = known[len(rows)] if len(rows) < len(known) else {}
            if about.items() <= old.items():
                row = old
            else:
                known = []
                start = time.monotonic()
                row = {**about, **verdict(judge(flags, folder_of_inputs, before, str(path)), place,
                                          model)}
                row["seconds"] = round(time.monotonic() - start, 1)
            rows.append(row)
            if flags.out:
                save(flags, rows, neutral)
            print("|", " | ".join(str(value) for value in row.values()), "|", flush=True)
            if flags.keep and row["verdict"] != "refuted":
                flags.keep.mkdir(parents=True, exist_ok=True)
                onnx.save(model, str(flags.keep / f"{len(rows)}_{after.stem}.onnx"))
    counts = collections.Counter(row["verdict"] for row in rows)
    placed = sum(row.get("right_place", False) for row in rows)
    print(f"{len(rows)} faults: {dict(counts)}; {placed} at the right place; {neutral} changed "
          "no more than rounding and do not count")
    return rows, neutral
