"""Padding moved into convolutions and pools, and convolutions rearranged."""

import numpy

from graphs import F32, ONNXSIM, ORT, ORT_PULL, Graph, add, invalid, proved, refuted

AROUND = [0, 0, 1, 1, 0, 0, 1, 1]


def padded_pool(random, op, value, attributes, before_attributes=None, positive=False):
    """Pad, then a pool without padding; AFTER a pool with pads = 1."""
    g = Graph()
    x = g.input("x", [1, 2, 4, 4])
    y = g.Pad(x, g.ints("pads", AROUND), g.constant("value", F32(value)))
    g.output(g.node(op, y, kernel_shape=[3, 3], strides=[3, 3], **(before_attributes or {})),
             [1, 2, 2, 2])
    f = Graph()
    x = f.input("x", [1, 2, 4, 4])
    f.output(f.node(op, x, kernel_shape=[3, 3], strides=[3, 3], pads=[1, 1, 1, 1], **attributes),
             [1, 2, 2, 2])
    low, high = (0.5, 1.0) if positive else (-1.0, -0.1)
    return g, f, [random.uniform(1, 2, 4, 4, low=low, high=high)]


def padded_line(random):
    """The same in one dimension, padded at the end only."""
    g, f = Graph(), Graph()
    x = g.input("x", [2, 3, 5])
    y = g.Pad(x, g.ints("pads", [0, 0, 0, 0, 0, 1]), g.constant("value", F32(0)))
    g.output(g.AveragePool(y, kernel_shape=[2], strides=[2]), [2, 3, 3])
    x = f.input("x", [2, 3, 5])
    f.output(f.AveragePool(x, kernel_shape=[2], strides=[2], pads=[0, 1]), [2, 3, 3])
    return g, f, [random.uniform(2, 3, 5, low=0.5, high=1.0)]


add("onnxsim_290_zeros_into_max_pool", ONNXSIM + "290",
    "Padding with zeros is folded into a MaxPool, whose own padding counts as minus infinity.",
    refuted("where all values of a window are negative, the zeros were the maximum"),
    lambda random: padded_pool(random, "MaxPool", 0.0, {}))
add("onnxsim_290_minus_infinity", "https://github.com/onnx/optimizer/pull/318",
    "The correction folds only padding with minus infinity into a MaxPool.",
    proved("bit_exact", "the pool's own padding is minus infinity"),
    lambda random: padded_pool(random, "MaxPool", -numpy.inf, {}))
add("onnxsim_244_zeros_into_average_pool", ONNXSIM + "244",
    "Padding with zeros is folded into an AveragePool that does not count its padding.",
    refuted("windows at the border are divided by fewer elements"),
    lambda random: padded_pool(random, "AveragePool", 0.0, {}, positive=True))
add("ort_22177_pad_average_pool", ORT + "22177",
    "Pad followed by AveragePool differs with optimizations on: the fused pool lacks "
    "count_include_pad.",
    refuted("windows at the border are divided by fewer elements"),
    padded_line)
add("ort_23190_count_include_pad", ORT_PULL + "23190",
    "The correction fuses Pad into AveragePool with count_include_pad = 1.",
    proved("bit_exact", "the zeros of the padding are counted on both sides"),
    lambda random: padded_pool(random, "AveragePool", 0.0, {"count_include_pad": 1},
                               positive=True))


def padded_twice(random):
    """The pool had padding of its own, not counted; the fused one counts all of it."""
    g, f = Graph(), Graph()
    x = g.input("x", [1, 2, 4, 4])
    y = g.Pad(x, g.ints("pads", AROUND), g.constant("value", F32(0)))
    g.output(g.AveragePool(y, kernel_shape=[4, 4], strides=[4, 4], pads=[1, 1, 1, 1]),
             [1, 2, 2, 2])
    x = f.input("x", [1, 2, 4, 4])
    f.output(f.AveragePool(x, kernel_shape=[4, 4], strides=[4, 4], pads=[2, 2, 2, 2],
                           count_include_pad=1), [1, 2, 2, 2])
    return g, f, [random.uniform(1, 2, 4, 4, low=0.5, high=1.0)]


add("ort_23190_pool_already_padded", ORT_PULL + "23190",
    "If the pool already has padding that it does not count, Pad cannot be fused into it.",
    refuted("the pool's own padding is counted as well"), padded_twice)


def uneven_pads(random):
    g, f = Graph(), Graph()
    x = g.input("x", [1, 1, 2, 2])
    g.output(g.AveragePool(x, kernel_shape=[2, 2], pads=[0, 0, 1, 1], count_include_pad=1),
             [1, 1, 2, 2])
    x = f.input("x", [1, 1, 2, 2])
    y = f.Pad(x, f.ints("pads", [0, 0, 0, 0, 0, 0, 1, 1]), f.constant("value", F32(0)))
    f.output(f.AveragePool(y, kernel_shape=[2, 2]), [1, 1, 2, 2])
    return g, f, [numpy.ones((1, 1, 2, 2))]


add("ort_27375_uneven_pads", ORT_PULL + "27375",
    "ONNX Runtime's AveragePool divided by a wrong number where only the bottom and the right are "
    "padded and counted.",
    proved("bit_exact", "the complaint is about a kernel; as models the two are equal"),
    uneven_pads)


def padded_conv(random, value, case):
    weight, bias = random.uniform(2, 2, 3, 3), random.uniform(2)
    pads = [0, 0, -1, -1, 0, 0, 0, 0] if case in ("negative", "crop") else AROUND
    size = 3 if case in ("negative", "crop") else 4
    height = 6 if size == 3 else 4
    g, f = Graph(), Graph()
    x = g.input("x", [1, 2, height, height])
    y = g.Pad(x, g.ints("pads", pads), g.constant("value", F32(value)))
    g.output(g.Conv(y, g.constant("w", weight), g.constant("b", bias)), [1, 2, size, size])
    x = f.input("x", [1, 2, height, height])
    if case == "crop":
        x = f.Slice(x, f.ints("starts", [1, 1]), f.ints("ends", [height, height]),
                    f.ints("axes", [2, 3]))
    own = {"negative": [-1, -1, 0, 0], "crop": [0, 0, 0, 0]}.get(case, [1, 1, 1, 1])
    f.output(f.Conv(x, f.constant("w", weight), f.constant("b", bias), pads=own),
             [1, 2, size, size])
    return g, f, None


ONNXSCRIPT = "https://github.com/microsoft/onnxscript/issues/"
add("onnxscript_2838_negative_pads", ONNXSCRIPT + "2838",
    "A Pad that cuts off rows and columns is fused into a Conv, which then has negative pads.",
    invalid("ONNX does not allow negative pads of a Conv"),
    lambda random: padded_conv(random, 0.0, "negative"))
add("onnxscript_2838_slice", ONNXSCRIPT + "2838",
    "The same Pad as a Slice before the Conv.",
    proved("bit_exact", "padding by -1 is a slice"),
    lambda random: padded_conv(random, 0.0, "crop"), counterpart=True)
add("ort_18136_pad_conv", ORT_PULL + "18136",
    "The fusion of Pad into Conv has to know the value that is padded: a Conv pads with zeros.",
    proved("bit_exact", "a convolution pads with zeros"),
    lambda random: padded_conv(random, 0.0, "zero"))
add("ort_18136_pad_conv_not_zero", ORT_PULL + "18136",
    "The same fusion without looking at the value.",
    refuted("the padding was 0.5 and becomes zero"),
    lambda random: padded_conv(random, 0.5, "other"), counterpart=True)


def conv_add(random, per_pixel):
    weight, bias = random.uniform(4, 1, 1, 1), random.uniform(4)
    addend = random.uniform(1, 4, 3, 3) if per_pixel else random.uniform(1, 4, 1, 1)
    g, f = Graph(), Graph()
    x = g.input("x", [1, 4, 3, 3])
    y = g.Conv(x, g.constant("w", weight), g.constant("b", bias), group=4)
    g.output(g.Add(y, g.constant("c", addend)), [1, 4, 3, 3])
    x = f.input("x", [1, 4, 3, 3])
    new_bias = bias + addend[0, :, 0, 0]
    f.output(f.Conv(x, f.constant("w", weight), f.constant("b", new_bias), group=4), [1, 4, 3, 3])
    return g, f, None


add("ort_12498_conv_add_group", ORT + "12498",
    "A constant of the output's size that is added behind a grouped Conv disappears in its bias.",
    refuted("the addend differs from pixel to pixel; the bias does not"),
    lambda random: conv_add(random, True))
add("ort_12498_conv_add_bias", ORT + "12498",
    "The same fusion of an addend that is one number per channel.",
    proved("reassociates", "the addend is a bias"),
    lambda random: conv_add(random, False), counterpart=True)


def average(random):
    g, f = Graph(), Graph()
    x = g.input("x", [1, 3, 4, 4])
    g.output(g.GlobalAveragePool(x), [1, 3, 1, 1])
    x = f.input("x", [1, 3, 4, 4])
    # Channels in blocks and last, as the layout of the highest level has them.
    blocked = f.Transpose(f.Reshape(x, f.ints("blocks", [1, 1, 3, 4, 4])), perm=[0, 1, 3, 4, 2])
    mean = f.ReduceMean(blocked, axes=[2, 3], keepdims=1)
    f.output(f.Reshape(mean, f.ints("flat", [1, 3, 1, 1])), [1, 3, 1, 1])
    return g, f, None


add("ort_20540_global_average_pool", ORT + "20540",
    "GlobalAveragePool gives another result at the highest level of optimization. The cause is "
    "not in the text that we found; the pair is the change of layout that this level adds.",
    proved("bit_exact", "means over the same elements in another layout"), average)


def groups(random, case):
    """A convolution in two groups written as one with the whole number of input channels."""
    weight = random.uniform(4, 2, 3, 3)
    g, f = Graph(), Graph()
    x = g.input("x", [1, 4, 5, 5])
    g.output(g.Conv(x, g.constant("w", weight), group=2), [1, 4, 3, 3])
    whole = numpy.zeros((4, 4, 3, 3), F32)
    whole[:2, :2], whole[2:, 2:] = weight[:2], weight[2:]
    if case == "repeated":
        whole = numpy.concatenate([weight, weight], 1)
    x = f.input("x", [1, 4, 5, 5])
    f.output(f.Conv(x, f.constant("w", whole)), [1, 4, 3, 3])
    return g, f, None


TASO = "https://github.com/jiazhihao/TASO/"
add("taso_31_merged_groups", TASO + "issues/31",
    "A convolution in two groups with weights 4x2x3x3 becomes one group with weights 4x4x3x3 and "
    "other results.",
    refuted("each kernel also reads the other group's channels"),
    lambda random: groups(random, "repeated"))
add("taso_31_merged_groups_zeros", TASO + "issues/31",
    "The same change with zeros for the other group's channels.",
    proved("reassociates", "the kernels do not use the other group's channels"),
    lambda random: groups(random, "zeros"), counterpart=True)


def siblings(random, count, interleaved=False):
    """TASO's rule 24: two convolutions of one input become one, their weights joined."""
    a, b = random.uniform(4, 2, 1, 1), random.uniform(4, 2, 1, 1)
    g, f = Graph(), Graph()
    for graph in (g, f):
        graph.input("x", [1, 2 * count, 2, 2])
    one, two = (g.Conv("x", g.constant(n, v), group=count) for n, v in (("a", a), ("b", b)))
    g.output(g.Concat(one, two, axis=1), [1, 8, 2, 2])
    if not interleaved:
        joined = f.Concat(f.constant("a", a), f.constant("b", b), axis=0)
        f.output(f.Conv("x", joined, group=count), [1, 8, 2, 2])
        return g, f, None
    parts = f.constant("ab", numpy.concatenate([a[:2], b[:2], a[2:], b[2:]]))
    y = f.Conv("x", parts, group=count)
    pieces = f.Split(y, f.ints("sizes", [2, 2, 2, 2]), axis=1, outputs=4)
    f.output(f.Concat(pieces[0], pieces[2], pieces[1], pieces[3], axis=1), [1, 8, 2, 2])
    return g, f, None


RULES = TASO + "blob/master/graph_subst.pb"
add("taso_rule_24_two_groups", RULES,
    "Rule 24 of TASO's file joins two convolutions of one input; it says nothing of groups.",
    refuted("with two groups, channels of the first convolution read the second group"),
    lambda random: siblings(random, 2))
add("taso_rule_24_one_group", RULES,
    "The same rule where the convolutions have one group.",
    proved("bit_exact", "one group: the weights may be joined"),
    lambda random: siblings(random, 1))
add("taso_rule_24_by_group", RULES,
    "The same rule with two groups, the weights joined group by group.",
    proved("bit_exact", "each group's kernels stay in their group"),
    lambda random: siblings(random, 2, True), counterpart=True)
