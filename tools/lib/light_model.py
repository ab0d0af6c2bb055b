"""Removes the weights from an ONNX model, as in the models of data/models/light.

Usage: light_model.py MODEL.onnx OUT.onnx
       light_model.py --sound FOLDER

Every f32 initializer of more than 4096 elements becomes a ConstantOfShape of the same name: a shape
and one value, which `lemma run --reseed-weights` replaces by random values. With --sound, checks
that the tensors FOLDER/*.pb, computed with such weights, are finite and not constant; exit status 1
if not.
"""

import pathlib
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

LARGE = 4096
VALUE = 0.02


def lighten(model):
    """Replaces the large initializers of `model`, in place; returns how many."""
    graph = model.graph
    kept, shapes, nodes = [], [], []
    for tensor in graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or numpy.prod(tensor.dims) <= LARGE:
            kept.append(tensor)
            continue
        shape = f"{tensor.name}__SHAPE"
        shapes.append(numpy_helper.from_array(numpy.array(tensor.dims, numpy.int64), shape))
        value = helper.make_tensor("", onnx.TensorProto.FLOAT, [1], [VALUE])
        nodes.append(helper.make_node("ConstantOfShape", [shape], [tensor.name], value=value))
    made = {node.output[0] for node in nodes}
    # Old models list initializers among the inputs too.
    inputs = [value for value in graph.input if value.name not in made]
    nodes.extend(graph.node)
    for field, values in ((graph.initializer, kept + shapes), (graph.input, inputs),
                          (graph.node, nodes)):
        copies = [type(value).FromString(value.SerializeToString()) for value in values]
        del field[:]
        field.extend(copies)
    return len(made)


def sound(folder):
    for path in sorted(folder.glob("*.pb")):
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        values = numpy_helper.to_array(tensor)
        if not numpy.isfinite(values).all() or values.size > 1 and values.min() == values.max():
            return False
    return True


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--sound":
        return 0 if sound(pathlib.Path(arguments[1])) else 1
    if len(arguments) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    model = onnx.load(arguments[0])
    lighten(model)
    pathlib.Path(arguments[1]).write_bytes(model.SerializeToString())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
