"""Transposes, reshapes, slices and products of matrices."""

import numpy

from graphs import (F32, I64, ONNX, ONNXSIM, OPTIMIZER, ORT, ORT_PULL, Graph, add,
                    different_interface, invalid, proved, refuted)


def identity_transpose(random, rows, flag):
    """MatMul of a transposition that changes nothing, and Add; AFTER a Gemm."""
    weight, bias = random.uniform(4, 5), random.uniform(5)
    g, f = Graph(), Graph()
    x = g.input("x", [rows, 4])
    y = g.MatMul(g.Transpose(x, perm=[0, 1]), g.constant("w", weight))
    g.output(g.Add(y, g.constant("b", bias)), [rows, 5])
    x = f.input("x", [rows, 4])
    f.output(f.Gemm(x, f.constant("w", weight), f.constant("b", bias), transA=flag), [rows, 5])
    return g, f, None


add("ort_32228_identity_transpose", ORT + "32228",
    "A Transpose with perm = [0,1] before MatMul and Add becomes transA = 1 of a Gemm; square "
    "operands hide it.",
    refuted("the matrix is transposed"), lambda random: identity_transpose(random, 4, 1))
add("ort_32228_identity_dropped", ORT + "32228",
    "The same fusion with the Transpose dropped.",
    proved("bit_exact", "the Transpose changes nothing"),
    lambda random: identity_transpose(random, 4, 0), counterpart=True)
add("ort_32417_wrong_sizes", ORT + "32417",
    "The same fusion where the matrix is not square: running fails with a mismatch of dimensions.",
    invalid("the Gemm multiplies 4x3 by 4x5"), lambda random: identity_transpose(random, 3, 1))


def two_transposes(random, perm):
    g, f = Graph(), Graph()
    x = g.input("x", [3, 3, 3])
    y = g.Transpose(g.Transpose(x, perm=[1, 0, 2]), perm=[0, 2, 1])
    g.output(y, [3, 3, 3])
    x = f.input("x", [3, 3, 3])
    f.output(f.Transpose(x, perm=perm), [3, 3, 3])
    return g, f, None


add("onnx_2446_transposes_swapped", ONNX + "2446",
    "fuse_consecutive_transposes composes [1,0,2] and [0,2,1] in the wrong order.",
    refuted("the fused permutation is the composition in the other order"),
    lambda random: two_transposes(random, [2, 0, 1]))
add("onnx_2446_transposes", ONNX + "2446",
    "The same fusion as the thread wants it.",
    proved("bit_exact", "the fused permutation is the composition"),
    lambda random: two_transposes(random, [1, 2, 0]))


def two_squeezes(random, axes, shape):
    g, f = Graph(), Graph()
    x = g.input("x", [1, 5, 1, 1])
    y = g.Squeeze(x, g.ints("last", [-1]))
    g.output(g.Squeeze(y, "last"), [1, 5])
    x = f.input("x", [1, 5, 1, 1])
    f.output(f.Squeeze(x, f.ints("axes", axes)), shape)
    return g, f, None


add("optimizer_35_negative_axes", OPTIMIZER + "35",
    "fuse_consecutive_squeezes turns the axes -1 and -1 into -1 and 0.",
    different_interface("the output has the shape [5,1] in place of [1,5]"),
    lambda random: two_squeezes(random, [-1, 0], [5, 1]))
add("optimizer_35_right_axes", OPTIMIZER + "35",
    "The fused axes that the thread expects.",
    proved("bit_exact", "the same two axes are dropped"),
    lambda random: two_squeezes(random, [2, 3], [1, 5]))


def product_and_sum(random, case):
    weight = random.uniform(3, 1) if case == "outer" else random.uniform(3, 3)
    bias = random.uniform(3)
    g, f = Graph(), Graph()
    x = g.input("x", [3, 3])
    if case == "outer":  # 3x1 plus 1x4
        row = g.input("row", [1, 4])
        g.output(g.Add(g.MatMul(x, g.constant("w", weight)), row), [3, 4])
        x, row = f.input("x", [3, 3]), f.input("row", [1, 4])
        f.output(f.Gemm(x, f.constant("w", weight), row), [3, 4])
        return g, f, None
    g.output(g.Add(g.MatMul(x, g.constant("w", weight)), g.constant("b", bias)), [3, 3])
    x = f.input("x", [3, 3])
    shaped = bias.reshape(3, 1) if case == "column" else bias
    f.output(f.Gemm(x, f.constant("w", weight), f.constant("b", shaped)), [3, 3])
    return g, f, None


add("ort_3764_sum_grows", ORT + "3764",
    "MatMul (3x1) plus a row of four is fused into a Gemm, whose C may not enlarge the product.",
    invalid("C of the Gemm is 1x4, the product is 3x1"),
    lambda random: product_and_sum(random, "outer"))
XLA = "https://github.com/openxla/xla/issues/46897"
add("xla_46897_bias_axis", XLA,
    "A bias folded into a matrix product is added along the wrong axis where the result is square.",
    refuted("the bias is added per row in place of per column"),
    lambda random: product_and_sum(random, "column"))
add("xla_46897_bias_row", XLA,
    "The same fusion along the right axis.",
    proved("bit_exact", "the bias is added per column"),
    lambda random: product_and_sum(random, "row"), counterpart=True)


def scaled_product(random, alpha):
    weight = random.uniform(4, 3)
    g, f = Graph(), Graph()
    x = g.input("x", [4, 2])
    y = g.MatMul(g.Transpose(x, perm=[1, 0]), g.constant("w", weight))
    g.output(g.Mul(y, g.constant("factor", F32(0.25))), [2, 3])
    x = f.input("x", [4, 2])
    f.output(f.Gemm(x, f.constant("w", weight), transA=1, alpha=alpha), [2, 3])
    return g, f, None


add("ort_4728_lost_factor", ORT_PULL + "4728",
    "Fusing a Transpose into a scaled product did not handle the factor that it already had.",
    refuted("the factor 0.25 is lost"), lambda random: scaled_product(random, 1.0))
add("ort_4728_factor_kept", ORT_PULL + "4728",
    "The same fusion with the factor.",
    proved("bit_exact", "the factor multiplies the product on both sides"),
    lambda random: scaled_product(random, 0.25), counterpart=True)


def leading_scale(random):
    weight = random.uniform(3, 4)
    g, f = Graph(), Graph()
    x = g.input("x", [2, 3])
    y = g.Mul(g.MatMul(x, g.constant("w", weight)), g.constant("s", F32([[[0.5]]])))
    g.output(y, [1, 2, 4])
    x = f.input("x", [2, 3])
    f.output(f.Gemm(x, f.constant("w", weight), alpha=0.5), [2, 4])
    return g, f, None


add("ort_24492_leading_dimensions", ORT_PULL + "24492",
    "MatMulScaleFusion accepts a factor of shape [1,1,1], which adds a dimension to the product.",
    different_interface("the output has the shape [2,4] in place of [1,2,4]"), leading_scale)


def two_reshapes(random, shape, result):
    g, f = Graph(), Graph()
    x = g.input("x", [2, 6])
    y = g.Reshape(x, g.ints("first", [3, 4]))
    g.output(g.Reshape(y, g.ints("second", [0, -1])), [3, 4])
    x = f.input("x", [2, 6])
    f.output(f.Reshape(x, f.ints("shape", shape)), result)
    return g, f, None


RESHAPES = "https://github.com/onnxsim/onnxsim/pull/1030"
add("onnxsim_1030_zero_copies", RESHAPES,
    "Two reshapes must not become the second one where its shape has a 0, which copies the size "
    "of its own input.",
    different_interface("the output has the shape [2,6] in place of [3,4]"),
    lambda random: two_reshapes(random, [0, -1], [2, 6]))
add("onnxsim_1030_sizes_written", RESHAPES,
    "The same fusion with the size written out.",
    proved("bit_exact", "the same shape"), lambda random: two_reshapes(random, [3, 4], [3, 4]),
    counterpart=True)


def allow_zero(random):
    g, f = Graph(14), Graph(14)
    x = g.input("x", [0, 6, 2])
    y = g.Reshape(x, g.ints("first", [3, 2, -1]))
    g.output(g.Reshape(y, g.ints("second", [0, 0, 3]), allowzero=1), [0, 0, 3])
    x = f.input("x", [0, 6, 2])
    f.output(f.Reshape(x, f.ints("shape", [0, 0, 3])), [0, 6, 3])
    return g, f, None


add("ort_28348_allowzero", ORT + "28348",
    "ReshapeFusion drops allowzero: a size that was zero is copied from another tensor.",
    different_interface("the output has the shape [0,6,3] in place of [0,0,3]"), allow_zero)


def gathers(random, squeeze):
    g, f = Graph(), Graph()
    x = g.input("x", [3, 4])
    for i in range(3):
        g.output(g.Gather(x, g.constant(f"i{i}", i, I64), axis=0), [4])
    x = f.input("x", [3, 4])
    for part in f.Split(x, f.ints("sizes", [1, 1, 1]), axis=0, outputs=3):
        if squeeze:
            part = f.Squeeze(part, f.ints(f"axes_{part}", [0]))
        f.output(part, [4] if squeeze else [1, 4])
    return g, f, None


add("ort_19600_gather_to_split", ORT_PULL + "19600",
    "Gathers by a number become a Split, which keeps the axis that a Gather by a number drops.",
    different_interface("the outputs have the shape [1,4] in place of [4]"),
    lambda random: gathers(random, False))
add("ort_19600_split_and_squeeze", ORT_PULL + "19600",
    "The corrected fusion adds a Squeeze behind each part.",
    proved("bit_exact", "each part is one row"), lambda random: gathers(random, True))


def two_slices(random, start, end):
    g, f = Graph(), Graph()
    x = g.input("x", [6, 2])
    zero = g.ints("axes", [0])
    y = g.Slice(x, g.ints("start", [1]), g.ints("end", [5]), zero)
    g.output(g.Slice(y, "start", g.ints("end2", [3]), zero), [2, 2])
    x = f.input("x", [6, 2])
    f.output(f.Slice(x, f.ints("start", [start]), f.ints("end", [end]), f.ints("axes", [0])),
             [2, 2])
    return g, f, None


SLIM = "https://github.com/inisis/OnnxSlim/issues/277"
add("onnxslim_277_slices", SLIM,
    "A model's accuracy drops by EliminationSlice, which merges slices; the text that we found "
    "does not say how. The pair merges two by taking the second one's limits.",
    refuted("the second slice's limits count from the start of the first"),
    lambda random: two_slices(random, 1, 3))
add("onnxslim_277_slices_right", SLIM,
    "The same merge with limits counted from the start of the whole.",
    proved("bit_exact", "the same rows"), lambda random: two_slices(random, 2, 4),
    counterpart=True)


def shared_kernel(random, right):
    """Two convolutions of one square kernel whose transposition is folded, once or twice."""
    kernel = random.uniform(2, 2, 3, 3)
    turned = numpy.ascontiguousarray(kernel.transpose(0, 1, 3, 2))
    g, f = Graph(), Graph()
    x = g.input("x", [1, 2, 4, 4])
    w = g.Transpose(g.constant("kernel", kernel), perm=[0, 1, 3, 2])
    g.output(g.Conv(g.Relu(g.Conv(x, w, pads=[1, 1, 1, 1])), w), [1, 2, 2, 2])
    x = f.input("x", [1, 2, 4, 4])
    y = f.Relu(f.Conv(x, f.constant("turned", turned), pads=[1, 1, 1, 1]))
    last = "turned" if right else f.constant("turned_twice", kernel)
    f.output(f.Conv(y, last), [1, 2, 2, 2])
    return g, f, None


TF2ONNX = "https://github.com/onnx/tensorflow-onnx/"
add("tf2onnx_356_shared_kernel", TF2ONNX + "issues/356",
    "The transposition of a kernel is folded once per convolution that shares it: the last one "
    "gets a wrong value.",
    refuted("the second convolution's kernel is transposed twice"),
    lambda random: shared_kernel(random, False))
add("tf2onnx_356_shared_kernel_right", TF2ONNX + "issues/356",
    "The same fold, once for both.",
    proved("bit_exact", "both convolutions have the transposed kernel"),
    lambda random: shared_kernel(random, True), counterpart=True)


def shared_axes(random, right):
    """A Transpose moved behind a Slice, whose axes another Slice uses too."""
    g, f = Graph(), Graph()
    for graph in (g, f):
        graph.input("x", [4, 4, 4])
        graph.ints("start", [1])
        graph.ints("end", [3])
    axes = g.ints("axes", [2])
    g.output(g.Slice(g.Transpose("x", perm=[2, 0, 1]), "start", "end", axes), [4, 4, 2])
    g.output(g.Slice("x", "start", "end", axes), [4, 4, 2])
    axes = f.ints("axes", [1])
    f.output(f.Transpose(f.Slice("x", "start", "end", axes), perm=[2, 0, 1]), [4, 4, 2])
    other = f.ints("other_axes", [2]) if right else axes
    f.output(f.Slice("x", "start", "end", other), [4, 4, 2] if right else [4, 2, 4])
    return g, f, None


add("tf2onnx_934_shared_axes", TF2ONNX + "pull/934",
    "Swapping Transpose and Slice changes the constant of the axes although other nodes use it.",
    different_interface("the second output is sliced along axis 1: its shape is [4,2,4]"),
    lambda random: shared_axes(random, False))
add("tf2onnx_934_own_axes", TF2ONNX + "pull/934",
    "The same swap with a constant of its own.",
    proved("bit_exact", "both slices take the same elements"),
    lambda random: shared_axes(random, True), counterpart=True)


def shape_of_another(random, right):
    """x plus its own width; AFTER takes the width of another input."""
    g, f = Graph(), Graph()
    for graph, source in ((g, "x"), (f, "state")):
        x, state = graph.input("x", [2, 3]), graph.input("state", [2, 4])
        if graph is f and right:
            width = graph.constant("width", 3, I64)
        else:
            width = graph.Gather(graph.Shape(source), graph.constant("one", 1, I64), axis=0)
        wider = graph.Add(x, graph.Cast(width, to=1))
        graph.output(graph.Concat(state, wider, axis=1), [2, 7])
    return g, f, None


add("ort_20951_shape_of_another", ORT + "20951",
    "After extended optimization a shape is taken from another input of the model.",
    refuted("the width of state is added in place of the width of x"),
    lambda random: shape_of_another(random, False))
add("ort_20951_shape_folded", ORT + "20951",
    "The same shape folded to its value.",
    proved("bit_exact", "the width of x is 3"),
    lambda random: shape_of_another(random, True), counterpart=True)


def lost_output(random):
    weight = random.uniform(3, 3)
    g, f = Graph(), Graph()
    x = g.input("x", [2, 3])
    y = g.MatMul(x, g.constant("w", weight))
    z = g.Relu(y)
    g.output(z, [2, 3])
    g.output(y, [2, 3])
    x = f.input("x", [2, 3])
    f.output(f.Relu(f.MatMul(x, f.constant("w", weight))), [2, 3])
    return g, f, None


add("ort_4110_lost_output", ORT + "4110",
    "A value in the middle of a fused pattern was an output of the model and is gone.",
    different_interface("the output y1 is missing"), lost_output)


def lost_head(random):
    """Three heads on one value; AFTER two."""
    heads = [random.uniform(2, 4, 1, 1) for _ in range(3)]
    g, f = Graph(), Graph()
    for graph, count in ((g, 3), (f, 2)):
        x = graph.Relu(graph.input("x", [1, 4, 2, 2]))
        for i in range(count):
            graph.output(graph.Conv(x, graph.constant(f"w{i}", heads[i])), [1, 2, 2, 2])
    return g, f, None


add("onnxsim_227_lost_output", ONNXSIM + "227",
    "One of the outputs of a simplified YOLACT is gone.",
    different_interface("the output y2 is missing"), lost_head)


def folded_constant(random, right):
    g, f = Graph(), Graph()
    x = g.input("x", [3, 3])
    ones = g.constant("w", numpy.ones((3, 3)))
    g.output(g.Add(x, g.MatMul(ones, ones)), [3, 3])
    x = f.input("x", [3, 3])
    value = numpy.full((3, 3), 3.0) if right else random.uniform(3, 3)
    f.output(f.Add(x, f.constant("folded", value)), [3, 3])
    return g, f, None


add("ort_8422_folded_wrongly", ORT + "8422",
    "A constant part of a model with external data is folded to wrong values.",
    refuted("the folded product of two matrices of ones is not 3 everywhere"),
    lambda random: folded_constant(random, False))
add("ort_8422_folded_rightly", ORT + "8422",
    "The same constant folded to the product.",
    proved("bit_exact", "1 + 1 + 1 = 3"), lambda random: folded_constant(random, True),
    counterpart=True)


def lost_axes(random):
    g, f = Graph(), Graph()
    x = g.input("x", [2, 1, 3])
    g.output(g.Squeeze(x, g.ints("axes", [1])), [2, 3])
    x = f.input("x", [2, 1, 3])
    f.output(f.Squeeze(x, "axes"), [2, 3])
    return g, f, None


add("onnxscript_2810_lost_axes", "https://github.com/microsoft/onnxscript/issues/2810",
    "The constant folder removes an initializer that a Squeeze still names.",
    invalid("the Squeeze's axes are not defined"), lost_axes)


def dangling(random):
    g, f = Graph(), Graph()
    x = g.input("x", [3])
    one = g.Div(g.constant("a", F32([1, 1, 1])), g.constant("b", F32([2, 4, 8])))
    g.output(g.Mul(one, g.Cast(x, to=1)), [3])
    x = f.input("x", [3])
    f.output(f.Div("mid", f.constant("b", F32([2, 4, 8]))), [3])
    return g, f, None


add("ort_32416_dangling", ORT + "32416",
    "DivMulFusion behind a removed Cast leaves a node whose input nothing computes.",
    invalid("the input mid of the Div is not defined"), dangling)
