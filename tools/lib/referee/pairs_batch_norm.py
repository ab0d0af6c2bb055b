"""Batch normalizations folded into the convolution before them, rightly and wrongly."""

import numpy
from onnx import numpy_helper

from graphs import (F32, ONNX, ONNXSIM, OPTIMIZER, ORT_PULL, Graph, add, different_interface,
                    invalid, proved, refuted)


class Weights:
    """A convolution's weight and bias and the batch normalization behind it."""

    def __init__(self, random, outputs=4, inputs=3, kernel=3, transposed=False, groups=1,
                 epsilon=1e-5, variance=(0.5, 1.5)):
        channels = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
        self.weight = random.uniform(*channels, kernel, kernel)
        self.bias = random.uniform(outputs)
        self.scale = random.uniform(outputs, low=0.5, high=1.5)
        self.shift = random.uniform(outputs)
        self.mean = random.uniform(outputs)
        self.variance = random.uniform(outputs, low=variance[0], high=variance[1])
        self.epsilon = epsilon
        self.outputs, self.groups, self.transposed = outputs, groups, transposed

    def factor(self, epsilon=None):
        return self.scale / numpy.sqrt(self.variance + F32(self.epsilon if epsilon is None else
                                                           epsilon))

    def folded_bias(self, epsilon=None):
        return (self.bias - self.mean) * self.factor(epsilon) + self.shift


def unfolded(w, height=5, prefix="", graph=None, x=None, constant=None):
    """x -> Conv or ConvTranspose -> BatchNormalization; the output is left to the caller."""
    g = graph or Graph()
    x = x or g.input("x", [1, w.weight.shape[0] if w.transposed else
                           w.weight.shape[1] * w.groups, height, height])
    make = constant or g.constant
    names = [make(prefix + name, value) for name, value in (
        ("w", w.weight), ("b", w.bias), ("scale", w.scale), ("shift", w.shift), ("mean", w.mean),
        ("variance", w.variance))]
    op = "ConvTranspose" if w.transposed else "Conv"
    y = g.node(op, x, names[0], names[1], group=w.groups)
    return g, g.BatchNormalization(y, *names[2:], epsilon=w.epsilon)


def before(w, height=5):
    g, y = unfolded(w, height)
    size = height + 2 if w.transposed else height - 2
    g.output(y, [1, w.outputs, size, size])
    return g


def after(w, weight, bias, height=5):
    g = Graph()
    channels = weight.shape[0] if w.transposed else weight.shape[1] * w.groups
    x = g.input("x", [1, channels, height, height])
    op = "ConvTranspose" if w.transposed else "Conv"
    size = height + 2 if w.transposed else height - 2
    y = g.node(op, x, g.constant("w_folded", weight), *(
        [] if bias is None else [g.constant("b_folded", bias)]), group=w.groups)
    g.output(y, [1, w.outputs, size, size])
    return g


def columns(factor, rank=4, axis=0):
    shape = [1] * rank
    shape[axis] = -1
    return factor.reshape(shape)


def folded(random, **options):
    w = Weights(random, **options)
    return before(w), after(w, w.weight * columns(w.factor()), w.folded_bias()), None


add("optimizer_255_fold", OPTIMIZER + "255",
    "fuse_bn_into_conv was reported as a bug because outputs moved by 3.8e-6 (2.8e-7 relative).",
    proved("reassociates", "the weights are folded rightly: what moved is rounding"), folded)


def folded_in_graph(random, as_nodes):
    """AFTER computes the folded weight by nodes, as the pass writes it since version 0.3.9."""
    w = Weights(random)
    g = Graph()
    constant = (lambda name, value: constant_node(g, value)) if as_nodes else g.constant
    _, y = unfolded(w, graph=g, constant=constant)
    g.output(y, [1, w.outputs, 3, 3])
    f = Graph()
    constant = (lambda name, value: constant_node(f, value)) if as_nodes else f.constant
    x = f.input("x", [1, 3, 5, 5])
    weight, bias, scale, shift, mean, variance, epsilon = [
        constant(name, value) for name, value in (
            ("w", w.weight), ("b", w.bias), ("scale", w.scale), ("shift", w.shift),
            ("mean", w.mean), ("variance", w.variance), ("epsilon", F32(w.epsilon)))]
    factor = f.Div(scale, f.Sqrt(f.Add(variance, epsilon)))
    new_bias = f.Add(f.Mul(f.Sub(bias, mean), factor), shift)
    new_weight = f.Mul(weight, f.Unsqueeze(factor, f.ints("axes", [1, 2, 3])))
    f.output(f.Conv(x, new_weight, new_bias), [1, w.outputs, 3, 3])
    return g, f, None


def constant_node(graph, value):
    return graph.Constant(value=numpy_helper.from_array(numpy.asarray(value, F32)))


add("optimizer_178_constant_nodes", OPTIMIZER + "178",
    "fuse_bn_into_conv leaves redundant nodes, with weights as Constant nodes too; scores of a "
    "detector are reported to change by up to 5.5 %. In the pair the nodes compute the folded "
    "weight.",
    proved("reassociates", "the nodes compute the right weight, but they are not folded"),
    lambda random: folded_in_graph(random, True))
add("optimizer_133_initializers", OPTIMIZER + "133",
    "fuse_bn_into_conv is called broken since version 0.3.9 for weights that are initializers; "
    "what it writes is only in pictures. In the pair, nodes compute the folded weight.",
    proved("reassociates", "the nodes compute the right weight, but they are not folded"),
    lambda random: folded_in_graph(random, False))


def shared(random, case):
    """One kernel in two convolutions with batch normalizations of their own, as in RetinaNet."""
    first, second = Weights(random, kernel=1), Weights(random, kernel=1)
    second.weight, second.bias = first.weight, first.bias
    g = Graph()
    x = g.input("x", [1, 3, 2, 2])
    w, b = g.constant("w", first.weight), g.constant("b", first.bias)
    for i, norm in enumerate((first, second)):
        parts = [g.constant(f"{name}{i}", value) for name, value in (
            ("scale", norm.scale), ("shift", norm.shift), ("mean", norm.mean),
            ("variance", norm.variance))]
        g.output(g.BatchNormalization(g.Conv(x, w, b), *parts), [1, 4, 2, 2])
    f = Graph()
    x = f.input("x", [1, 3, 2, 2])
    for i, norm in enumerate((first, second)):
        weight = norm.weight * columns(norm.factor())
        if case == "twice":  # both under one name
            name = f.constant("w", weight)
        elif case == "first" and i == 1:
            name = "w0"
        else:
            name = f.constant(f"w{i}", weight)
        f.output(f.Conv(x, name, f.constant(f"b{i}", norm.folded_bias())), [1, 4, 2, 2])
    return g, f, None


add("optimizer_174_name_twice", OPTIMIZER + "174",
    "RetinaNet after fuse_bn_into_conv fails the checker: '1133 initializer name is not unique'.",
    invalid("two initializers have the name w"), lambda random: shared(random, "twice"))
add("optimizer_174_first_kernel", OPTIMIZER + "174",
    "The same clash of names, repaired by keeping one of the two initializers.",
    refuted("the second convolution gets the weight that was folded for the first"),
    lambda random: shared(random, "first"), counterpart=True)
add("optimizer_174_own_kernels", OPTIMIZER + "174",
    "The same clash of names, repaired by a name for each folded weight.",
    proved("reassociates", "each convolution has its own folded weight"),
    lambda random: shared(random, "own"), counterpart=True)


def wrong_weight(random):
    w = Weights(random)
    return before(w), after(w, random.uniform(*w.weight.shape), w.folded_bias()), None


add("onnx_2677_wrong_weight", ONNX + "2677",
    "fuse_bn_into_conv of the binary wheels for Linux writes a totally wrong folded tensor; built "
    "from source it writes the right one.",
    refuted("the folded weight has nothing to do with the weight"), wrong_weight)
add("onnx_2677_right_weight", ONNX + "2677",
    "The same pass, built from source.",
    proved("reassociates", "the weight is folded rightly"), folded)


def detector(random, right):
    """Conv, BatchNormalization, Relu, Conv, Softmax over channels."""
    w = Weights(random)
    head, head_bias = random.uniform(3, 4, 1, 1), random.uniform(3)
    def finish(g, y):
        y = g.Conv(g.Relu(y), g.constant("head", head), g.constant("head_bias", head_bias))
        g.output(g.Softmax(y, axis=1), [1, 3, 3, 3])
        return g
    b = finish(*unfolded(w))
    f = Graph()
    x = f.input("x", [1, 3, 5, 5])
    weight = w.weight * columns(w.factor()) if right else random.uniform(*w.weight.shape)
    return b, finish(f, f.Conv(x, f.constant("w_folded", weight),
                               f.constant("b_folded", w.folded_bias()))), None


add("onnxsim_50_scores", ONNXSIM + "50",
    "The simplified detector's scores change by up to 0.37; the cause is onnx #2677.",
    refuted("the folded weight has nothing to do with the weight"),
    lambda random: detector(random, False))
add("onnxsim_50_scores_right", ONNXSIM + "50",
    "The same simplification with a rightly folded weight.",
    proved("reassociates", "the weight is folded rightly"),
    lambda random: detector(random, True), counterpart=True)


def other_shape(random):
    w = Weights(random)
    f = Graph()
    x = f.input("x", [1, 3, 5, 5])
    y = f.Conv(x, f.constant("w_folded", w.weight * columns(w.factor())),
               f.constant("b_folded", w.folded_bias()))
    f.output(f.Reshape(y, f.ints("shape", [1, 4, 9])), [1, 4, 9])
    return before(w), f, None


add("onnxsim_79_output_shape", ONNXSIM + "79",
    "A user reports that the simplified model's output shape changes even without optimization.",
    different_interface("the output y0 has the shape [1,4,9] in place of [1,4,3,3]"), other_shape)


def default_epsilon(random):
    w = Weights(random, epsilon=1e-2, variance=(0.001, 0.01))
    return before(w), after(w, w.weight * columns(w.factor(1e-5)), w.folded_bias(1e-5)), None


add("paddle_lite_9861_epsilon", "https://github.com/PaddlePaddle/Paddle-Lite/pull/9861",
    "A convolution's fusion pass folds with the default epsilon 1e-5 whatever the node says.",
    refuted("the weights are folded with epsilon 1e-5 in place of 1e-2"), default_epsilon)


def transposed(random, axis, groups=1):
    w = Weights(random, outputs=4, inputs=4, transposed=True, groups=groups)
    if axis == 0:
        weight = w.weight * columns(w.factor())
    else:
        # Axis 0 are the inputs, group by group; axis 1 the outputs within a group.
        per_group = w.factor().reshape(groups, 1, -1, 1, 1)
        weight = (w.weight.reshape(groups, 4 // groups, 4 // groups, 3, 3) *
                  per_group).reshape(w.weight.shape)
    return before(w, 3), after(w, weight, w.folded_bias(), 3), None


ULTRALYTICS = "https://github.com/ultralytics/ultralytics/pull/25364"
add("ultralytics_25364_transposed_axis", ULTRALYTICS,
    "The batch normalization behind a ConvTranspose is folded along axis 0 of its weight, which "
    "holds the input channels.",
    refuted("the weight is scaled along the axis of the input channels"),
    lambda random: transposed(random, 0))
add("ultralytics_25364_transposed_right", ULTRALYTICS,
    "The same fold along axis 1, as the change corrects it.",
    proved("reassociates", "the weight is scaled along the axis of the output channels"),
    lambda random: transposed(random, 1))
PYTORCH = "https://github.com/pytorch/pytorch/issues/180995"
add("pytorch_180995_transposed_groups", "https://github.com/pytorch/pytorch/pull/184076",
    "fuse_conv_bn_weights ignores the groups of a ConvTranspose: an error, or silently wrong "
    "weights where shapes happen to broadcast.",
    refuted("the weight is scaled along the axis of the input channels"),
    lambda random: transposed(random, 0, 2))
add("pytorch_180995_transposed_groups_right", PYTORCH,
    "The same fold with factors group by group, as the change corrects it.",
    proved("reassociates", "each group's outputs have their own factors"),
    lambda random: transposed(random, 1, 2))


def skip_epsilon(random, epsilon):
    g, f = Graph(17), Graph(17)
    scale, shift = random.uniform(4), random.uniform(4)
    for graph, value in ((g, 1e-2), (f, epsilon)):
        x, skip = graph.input("x", [2, 4]), graph.input("skip", [2, 4])
        y = graph.LayerNormalization(graph.Add(x, skip), graph.constant("scale", scale),
                                     graph.constant("shift", shift), axis=-1, epsilon=value)
        graph.output(y, [2, 4])
    small = random.uniform(2, 4, low=-0.05, high=0.05)
    return g, f, [small, random.uniform(2, 4, low=-0.05, high=0.05)]


add("ort_3768_default_epsilon", ORT_PULL + "3768",
    "Fusing a skip connection with its layer normalization drops the model's epsilon and takes "
    "the operator's default.",
    refuted("epsilon is 1e-12 in place of 1e-2"), lambda random: skip_epsilon(random, 1e-12))


def taso_model(random, bias):
    """Conv, BatchNormalization, Relu, Conv; AFTER has the first two as one."""
    w = Weights(random)
    last, last_bias = random.uniform(4, 4, 3, 3), random.uniform(4)
    def finish(g, y):
        y = g.Conv(g.Relu(y), g.constant("last", last), g.constant("last_bias", last_bias))
        g.output(y, [1, 4, 1, 1])
        return g
    f = Graph()
    x = f.input("x", [1, 3, 5, 5])
    weight = f.constant("w_folded", w.weight * columns(w.factor()))
    folded_bias = w.folded_bias() if bias else w.folded_bias() - w.bias * w.factor()
    return finish(*unfolded(w)), finish(f, f.Conv(x, weight, f.constant("b", folded_bias))), None


TASO_92 = "https://github.com/jiazhihao/TASO/issues/92"
add("taso_92_lost_bias", TASO_92,
    "Conv, BatchNormalization, Relu, Conv from PyTorch gives other results after TASO. The thread "
    "does not say why; pull request 64 of TASO is about biases that its importer left out.",
    refuted("the first convolution's bias is missing in the folded bias"),
    lambda random: taso_model(random, False))
add("taso_92_with_bias", TASO_92,
    "The same model with the bias folded.",
    proved("reassociates", "weight and bias are folded rightly"),
    lambda random: taso_model(random, True), counterpart=True)
