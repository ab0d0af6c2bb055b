"""Quantized graphs: pairs of QuantizeLinear and DequantizeLinear moved, merged and fused."""

import numpy

from graphs import (F32, I8, I32, ORT, ORT_PULL, U8, Graph, add, proved, refuted)


class QGraph(Graph):
    """With scale and zero point in one step; each call has constants of its own."""

    def parameters(self, scale, zero):
        index = len(self.constants)
        names = [self.constant(f"scale{index}", scale)]
        if zero is not None:
            names.append(self.constant(f"zero{index}", zero, zero.dtype))
        return names

    def quantize(self, x, scale, zero=None, **attributes):
        return self.QuantizeLinear(x, *self.parameters(scale, zero), **attributes)

    def dequantize(self, x, scale, zero=None, **attributes):
        return self.DequantizeLinear(x, *self.parameters(scale, zero), **attributes)

    def both(self, x, scale, zero):
        return self.dequantize(self.quantize(x, scale, zero), scale, zero)


def quantized(name, number, happened, verdict, build, counterpart=False, pull=False):
    add(name, (ORT_PULL if pull else ORT) + str(number), happened, verdict, build,
        counterpart=counterpart, quantized=True)


def resize(random, in_integers):
    """A Resize between quantized values; AFTER it computes in whole steps."""
    g, f = QGraph(), QGraph()
    zero = I8(0)
    x = g.input("x", [1, 1, 1, 3])
    region = g.constant("region", numpy.zeros(0))
    y = g.Resize(g.both(x, F32(1), zero), region, "", g.ints("sizes", [1, 1, 1, 6]),
                 mode="linear", coordinate_transformation_mode="half_pixel")
    g.output(g.both(y, F32(1), zero), [1, 1, 1, 6])
    x = f.input("x", [1, 1, 1, 3])
    region = f.constant("region", numpy.zeros(0))
    y = f.Resize(f.both(x, F32(1), zero), region, "", f.ints("sizes", [1, 1, 1, 6]),
                 mode="linear", coordinate_transformation_mode="half_pixel")
    if in_integers:  # whole steps, cut off, as an int8 result is
        y = f.Cast(f.Cast(y, to=6), to=1)
    f.output(y if in_integers else f.both(y, F32(1), zero), [1, 1, 1, 6])
    return g, f, [[[[[2, 7, 4]]]]]


quantized("ort_28448_resize", 28448,
          "Between quantized values, a linear Resize is run on int8: 6 becomes 5 and 5 becomes 4.",
          refuted("the interpolated values are cut off in place of rounded"),
          lambda random: resize(random, True))
quantized("ort_21319_resize_in_steps", 21319,
          "Removing QuantizeLinear and DequantizeLinear around a linear Resize changes its values.",
          refuted("the interpolated values are not rounded to steps"),
          lambda random: resize_unrounded(random))


def resize_unrounded(random):
    g, _, inputs = resize(random, False)
    f = QGraph()
    x = f.input("x", [1, 1, 1, 3])
    y = f.Resize(f.both(x, F32(1), I8(0)), f.constant("region", numpy.zeros(0)), "",
                 f.ints("sizes", [1, 1, 1, 6]), mode="linear",
                 coordinate_transformation_mode="half_pixel")
    f.output(y, [1, 1, 1, 6])
    return g, f, inputs


def pool(random, scale):
    """DequantizeLinear, MaxPool, QuantizeLinear; AFTER the pool alone."""
    g, f = QGraph(), QGraph()
    zero = U8(0)
    x = g.input("x", [1, 1, 4, 4], U8)
    y = g.MaxPool(g.dequantize(x, F32(scale), zero), kernel_shape=[2, 2], strides=[2, 2])
    g.output(g.quantize(y, F32(scale), zero), [1, 1, 2, 2], U8)
    x = f.input("x", [1, 1, 4, 4], U8)
    f.output(f.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]), [1, 1, 2, 2], U8)
    return g, f, [random.integers(0, 255, 1, 1, 4, 4)]


quantized("ort_21176_max_pool_negative", 21176,
          "A MaxPool between quantized values is run on the integers, also if the scale is "
          "negative.",
          refuted("with a negative scale, the maximum is the smallest integer"),
          lambda random: pool(random, -0.5))
quantized("ort_21176_max_pool_positive", 21176,
          "The same with a positive scale.",
          proved("bit_exact", "the order of integers is the order of values"),
          lambda random: pool(random, 0.5))


def reshaped_weight(random, zero, folded=False):
    weight = numpy.array([12, -45, 7, -30], I8)
    g, f = QGraph(), QGraph()
    x = g.input("x", [2, 2])
    w = g.Reshape(g.dequantize(g.constant("w", weight, I8), F32(0.02)), g.ints("shape", [2, 2]))
    g.output(g.Add(x, w), [2, 2])
    x = f.input("x", [2, 2])
    if folded:
        value = numpy.maximum(weight, 0).astype(F32) * F32(0.02)
        f.output(f.Add(x, f.constant("w", value.reshape(2, 2))), [2, 2])
        return g, f, None
    w = f.Reshape(f.dequantize(f.constant("w", weight, I8), F32(0.02)), f.ints("shape", [2, 2]))
    w = f.dequantize(f.quantize(w, F32(0.02), zero), F32(0.02), zero)
    f.output(f.Add(x, w), [2, 2])
    return g, f, None


quantized("ort_27845_unsigned", 27845,
          "Behind DequantizeLinear and Reshape, another QuantizeLinear is put in that is unsigned: "
          "negative weights become zero.",
          refuted("-45 and -30 are cut to 0"), lambda random: reshaped_weight(random, None))
quantized("ort_27845_signed", 28144,
          "The correction gives the QuantizeLinear the type of the weight.",
          proved("bit_exact", "each int8 comes back"),
          lambda random: reshaped_weight(random, I8(0)), pull=True)
quantized("ort_28491_folded", 28491,
          "A constant int8 weight behind DequantizeLinear and Reshape is folded; what was negative "
          "is 0.",
          refuted("-45 and -30 are folded to 0"),
          lambda random: reshaped_weight(random, None, folded=True))


def gemm(random, case):
    """Gemm with alpha = 2 of quantized values: x times weight plus bias."""
    weight = random.integers(-60, 60, 4, 3, dtype=I8)
    bias = random.integers(600, 1200, 3, dtype=I32)
    x_scale, w_scale, zero = F32(1 / 32), F32(1 / 64), U8(128)
    g, f = QGraph(), QGraph()
    for graph in (g, f):
        x = graph.dequantize(graph.input("x", [2, 4], U8), x_scale, zero)
        w = graph.dequantize(graph.constant("w", weight, I8), w_scale, I8(0))
        b = graph.dequantize(graph.constant("b", bias, I32), x_scale * w_scale, I32(0))
        if graph is g:
            y = g.Gemm(x, w, b, alpha=2.0)
        else:
            two = f.constant("alpha", F32(2))
            y = f.Mul(f.Gemm(x, w, b if case == "wrong" else f.Div(b, two)), two)
        graph.output(graph.quantize(y, x_scale, zero), [2, 3], U8)
    return g, f, [random.integers(64, 192, 2, 4)]


quantized("ort_28130_alpha", 28130,
          "A quantized Gemm with alpha = 2 differs with optimizations on unless its bias is zero; "
          "the thread suspects the folding of alpha into the bias. The pair also multiplies the "
          "bias.",
          refuted("the bias is multiplied by alpha"), lambda random: gemm(random, "wrong"))
quantized("ort_28130_alpha_right", 28130,
          "The same with the bias divided by alpha first.",
          proved("real_only", "alpha · (product + bias / alpha); alpha is a power of two, so the sides can "
                              "differ only where a result is rounded to steps", steps=1),
          lambda random: gemm(random, "right"), counterpart=True)


def conv_bias(random, bias_scale):
    """DequantizeLinear of input, weight and bias, Conv, QuantizeLinear; AFTER a QLinearConv."""
    weight = random.integers(-8, 8, 2, 1, 2, 2, dtype=I8)
    bias = random.integers(20, 60, 2, dtype=I32)
    x_scale, w_scale, y_scale = F32(0.5), F32(0.25), F32(0.5)
    zero, signed = U8(0), I8(0)
    g, f = QGraph(), QGraph()
    x = g.input("x", [1, 1, 3, 3], U8)
    y = g.Conv(g.dequantize(x, x_scale, zero), g.dequantize(g.constant("w", weight, I8), w_scale,
                                                           signed),
               g.dequantize(g.constant("b", bias, I32), F32(bias_scale), I32(0)))
    g.output(g.quantize(y, y_scale, U8(100)), [1, 2, 2, 2], U8)
    x = f.input("x", [1, 1, 3, 3], U8)
    names = [x, *f.parameters(x_scale, zero), f.constant("w", weight, I8),
             *f.parameters(w_scale, signed), *f.parameters(y_scale, U8(100)),
             f.constant("b", bias, I32)]
    f.output(f.QLinearConv(*names), [1, 2, 2, 2], U8)
    return g, f, [random.integers(0, 12, 1, 1, 3, 3)]


quantized("ort_24711_bias_scale", 24711,
          "Conv with its quantization becomes QLinearConv, which takes the bias to have the scale "
          "of input times weight, whatever its own scale is.",
          refuted("the bias has the scale 0.5 and is read with 0.125"),
          lambda random: conv_bias(random, 0.5))
quantized("ort_28229_bias_scale_right", 28229,
          "The correction fuses only if the bias has the scale of input times weight.",
          proved("bit_exact", "the scales are powers of two: nothing is rounded before the steps"),
          lambda random: conv_bias(random, 0.125), pull=True)


def sum_of_steps(random):
    g, f = QGraph(), QGraph()
    zero = U8(128)
    scales = F32(0.01), F32(0.02), F32(0.02)
    for graph in (g, f):
        graph.input("a", [1, 8], U8)
        graph.input("b", [1, 8], U8)
    y = g.Add(g.dequantize("a", scales[0], zero), g.dequantize("b", scales[1], zero))
    g.output(g.quantize(y, scales[2], zero), [1, 8], U8)
    names = []
    for name, scale in (("a", scales[0]), ("b", scales[1])):
        names += [name, *f.parameters(scale, zero)]
    f.output(f.node("QLinearAdd", *names, *f.parameters(scales[2], zero), domain="com.microsoft"),
             [1, 8], U8)
    # Odd numbers in a: each sum lies half way between two steps.
    return g, f, [[[139, 141, 145, 163, 167, 169, 130, 132]], [[0, 0, 0, 0, 0, 0, 7, 200]]]


quantized("ort_32132_one_step", 32132,
          "Fused integer operators (QLinearAdd and others) differ from the unfused graph by one or "
          "two steps.",
          proved("real_only", "equal as real numbers; near a tie, rounding may go the other way",
                 steps=1), sum_of_steps)


def double_pairs(random, second_scale, merged_scale):
    """Quantize, dequantize, twice; AFTER once."""
    g, f = QGraph(), QGraph()
    zero = U8(128)
    x = g.input("x", [8])
    g.output(g.both(g.both(x, F32(0.5), zero), F32(second_scale), zero), [8])
    x = f.input("x", [8])
    f.output(f.both(x, F32(merged_scale), zero), [8])
    return g, f, [[-9.3, -2.8, -0.6, 0.3, 0.7, 1.2, 4.9, 8.8]]


quantized("ort_25259_double_pairs", 25259,
          "Outputs depend on DoubleQDQPairsRemover, which makes two quantizations one.",
          refuted("steps of 0.5 and then of 0.75 are not steps of 0.75"),
          lambda random: double_pairs(random, 0.75, 0.75))
quantized("ort_25259_equal_pairs", 25259,
          "The same where both quantizations are equal.",
          proved("bit_exact", "quantizing again changes nothing"),
          lambda random: double_pairs(random, 0.5, 0.5), counterpart=True)
quantized("ort_16910_scale_reset", 16910,
          "DoubleQDQPairsRemover reset the scale while it removed a pair.",
          refuted("the steps are 0.25 in place of 0.5"),
          lambda random: double_pairs(random, 0.5, 0.25), pull=True)


def sixteen_bits(random, saturates):
    """The products of the thread, added in pairs; AFTER each sum is cut to 16 bits."""
    g, f = Graph(), Graph()
    weight = numpy.array([-81, -80, 127, 0], F32)
    for graph, cut in ((g, False), (f, saturates)):
        x = graph.input("x", [4], U8)
        products = graph.Mul(graph.Cast(x, to=1), graph.constant("w", weight))
        y = graph.ReduceSum(graph.Reshape(products, graph.ints("pairs", [2, 2])),
                            graph.ints("axes", [1]), keepdims=0)
        if cut:
            y = graph.Clip(y, graph.constant("low", F32(-32768)),
                           graph.constant("high", F32(32767)))
        graph.output(graph.ReduceSum(y, graph.ints("all", [0]), keepdims=0), [])
    if not saturates:
        f = Graph()
        x = f.input("x", [4], U8)
        f.output(f.MatMul(f.Cast(x, to=1), f.constant("w", weight)), [])
    return g, f, [[210, 198, 234, 0]]


quantized("ort_16105_sixteen_bits", 16105,
          "On some processors a quantized product cuts sums of two products to 16 bits: weights "
          "from -81 down give wrong results for this input.",
          refuted("210 * -81 + 198 * -80 = -32850 is cut to -32768"),
          lambda random: sixteen_bits(random, True))
quantized("ort_16105_whole_sums", 16105,
          "The same product without that cut.",
          proved("reassociates", "the complaint is about a kernel; the model is right"),
          lambda random: sixteen_bits(random, False), counterpart=True)


def relu_before(random, zero):
    g, f = QGraph(), QGraph()
    x = g.input("x", [6])
    g.output(g.quantize(g.Relu(x), F32(0.25), zero), [6], zero.dtype)
    x = f.input("x", [6])
    f.output(f.quantize(x, F32(0.25), zero), [6], zero.dtype)
    return g, f, [[-3.0, -0.6, 0.0, 0.4, 1.0, 5.1]]


quantized("ort_11660_relu_signed", 11660,
          "Symmetric quantization drops a Relu: int8 with zero point 0 does not cut off negative "
          "numbers.",
          refuted("negative numbers pass"), lambda random: relu_before(random, I8(0)))
quantized("ort_9425_relu_unsigned", 9425,
          "Dropping a Relu before an unsigned quantization is right.",
          proved("bit_exact", "uint8 with zero point 0 cuts off negative numbers itself"),
          lambda random: relu_before(random, U8(0)))


def clip_before(random, high):
    g, f = QGraph(), QGraph()
    x = g.input("x", [6])
    y = g.Clip(x, g.constant("low", F32(0)), g.constant("high", F32(high)))
    g.output(g.quantize(y, F32(0.25), U8(0)), [6], U8)
    x = f.input("x", [6])
    f.output(f.quantize(x, F32(0.25), U8(0)), [6], U8)
    return g, f, [[-3.0, 0.6, 6.1, 7.0, 40.0, 80.0]]


quantized("ort_22580_clip_narrow", 22580,
          "A Clip before QuantizeLinear may go only if the quantized range lies within its own.",
          refuted("7 is no longer cut to 6"), lambda random: clip_before(random, 6.0), pull=True)
quantized("ort_22580_clip_wide", 22580,
          "The same with a Clip that is wider than the range of the integers.",
          proved("bit_exact", "255 steps of 0.25 end at 63.75 on both sides"),
          lambda random: clip_before(random, 70.0), pull=True)


def channel_axis(random, axis):
    """A weight quantized per channel, with three axes put before it."""
    weight = random.integers(-128, 127, 2, dtype=I8)
    scales = numpy.array([0.5, 0.125], F32)
    g, f = QGraph(), QGraph()
    x = g.input("x", [2, 1, 2, 2])
    w = g.dequantize(g.constant("w", weight, I8), scales, numpy.zeros(2, I8), axis=0)
    g.output(g.Mul(x, g.Reshape(g.Unsqueeze(w, g.ints("axes", [0, 1, 2])),
                                g.ints("shape", [1, 1, 1, 2]))), [2, 1, 2, 2])
    x = f.input("x", [2, 1, 2, 2])
    # Both axes have the size 2 here, so that the wrong one is a valid model.
    w = f.Expand(f.Unsqueeze(f.constant("w", weight, I8), f.ints("axes", [0, 1, 2])),
                 f.ints("wide", [2, 1, 1, 2]))
    w = f.dequantize(w, scales, numpy.zeros(2, I8), axis=axis)
    f.output(f.Mul(x, w), [2, 1, 2, 2])
    return g, f, None


quantized("ort_21793_axis", 21793,
          "Behind DequantizeLinear per channel and Unsqueeze, a pair is put in whose axis is not "
          "moved.",
          refuted("the scales go along axis 0 in place of axis 3"),
          lambda random: channel_axis(random, 0), pull=True)
quantized("ort_21793_axis_moved", 21793,
          "The correction moves the axis.",
          proved("bit_exact", "the scales go along the same axis"),
          lambda random: channel_axis(random, 3), pull=True)
