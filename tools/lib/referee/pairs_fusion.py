"""Normalizations and activations fused, casts removed."""

import numpy

from graphs import (F32, I32, ORT, ORT_PULL, Graph, add, different_interface, proved, refuted)

FLOAT, UINT8, INT8, INT32, INT64, BOOL, HALF, DOUBLE = 1, 2, 3, 6, 7, 9, 10, 11


def normalized(g, x, axes, keepdims=1, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon), as exporters write it."""
    centered = g.Sub(x, g.ReduceMean(x, axes=axes, keepdims=keepdims))
    square = g.Pow(centered, g.constant("two", F32(2)))
    variance = g.ReduceMean(square, axes=axes, keepdims=keepdims)
    return g.Div(centered, g.Sqrt(g.Add(variance, g.constant("epsilon", F32(epsilon)))))


def layer_norm(random, shape, axes=(-1,), keepdims=1, scale_shape=None, fused_scale=None):
    size = shape[-1]
    scale = random.uniform(size, low=0.5, high=1.5)
    shift = random.uniform(size)
    g, f = Graph(17), Graph(17)
    x = g.input("x", shape)
    y = normalized(g, x, list(axes), keepdims)
    y = g.Mul(y, g.constant("scale", scale.reshape(scale_shape or (size,))))
    g.output(g.Add(y, g.constant("shift", shift)), shape)
    x = f.input("x", shape)
    f.output(f.LayerNormalization(x, f.constant("scale", scale), f.constant("shift", shift),
                                  axis=-1), shape)
    return g, f, None


add("ort_25855_scale_shape", ORT + "25855",
    "LayerNormFusion does not check that the scale has the shape of the normalized axes.",
    refuted("the scale is one number per row, the fused operator takes it per column"),
    lambda random: layer_norm(random, [2, 3, 3], scale_shape=(3, 1)))
add("ort_25855_scale_of_the_axis", ORT + "25855",
    "The same fusion where the scale has the shape of the last axis.",
    proved("reassociates", "the pattern is a layer normalization"),
    lambda random: layer_norm(random, [2, 3, 3]), counterpart=True)
add("ort_31144_keepdims", ORT_PULL + "31144",
    "LayerNormFusion does not look at keepdims: without it the means line up with another axis.",
    refuted("each row's mean is subtracted from a column"),
    lambda random: layer_norm(random, [3, 3], keepdims=0))
add("ort_15844_axes", ORT_PULL + "15844",
    "LayerNormFusion takes any axes of the means for the last one.",
    refuted("the means are over axis 1, the fused operator's over the last axis"),
    lambda random: layer_norm(random, [2, 3, 3], axes=(1,)))
add("ort_4293_layer_norm", ORT + "4293",
    "FusionLayerNormalization is reported to change a transformer's output significantly.",
    proved("reassociates", "the pattern is a layer normalization"),
    lambda random: layer_norm(random, [2, 4, 8]))


def expanding_scale(random):
    g, f = Graph(17), Graph(17)
    scale, shift = random.uniform(2), random.uniform(2)
    x = g.input("x", [1, 1])
    y = g.Mul(normalized(g, x, [-1]), g.constant("scale", scale))
    g.output(g.Add(y, g.constant("shift", shift)), [1, 2])
    x = f.input("x", [1, 1])
    f.output(f.LayerNormalization(x, f.constant("scale", scale[:1]),
                                  f.constant("shift", shift[:1]), axis=-1), [1, 1])
    return g, f, None


add("ort_32603_scale_expands", ORT + "32603",
    "LayerNormFusion takes a scale that enlarges the value: [1,1] times [2].",
    different_interface("the output has the shape [1,1] in place of [1,2]"), expanding_scale)


def skip_norm(random):
    scale, shift = random.uniform(4, low=0.5, high=1.5), random.uniform(4)
    g, f = Graph(17), Graph(17)
    x, skip = g.input("x", [1, 3, 4]), g.input("skip", [1, 3, 4])
    y = g.LayerNormalization(g.Add(x, skip), g.constant("scale", scale),
                             g.constant("shift", shift), axis=-1, epsilon=1e-5)
    g.output(y, [1, 3, 4])
    x, skip = f.input("x", [1, 3, 4]), f.input("skip", [1, 3, 4])
    f.output(f.node("SkipLayerNormalization", x, skip, f.constant("scale", scale),
                    f.constant("shift", shift), domain="com.microsoft", epsilon=1e-5), [1, 3, 4])
    return g, f, None


add("ort_17689_skip_layer_norm", ORT + "17689",
    "Disabling SkipLayerNormFusion reduces the difference to PyTorch from 9.8 to 0.4.",
    proved("bit_exact", "the fused operator is the sum and its layer normalization"), skip_norm)


def casts(random, chain, fused, values, dtype=F32, result=F32):
    g, f = Graph(), Graph()
    for graph, targets in ((g, chain), (f, fused)):
        x = graph.input("x", [len(values)], dtype)
        for target in targets:
            x = graph.Cast(x, to=target)
        if not targets:
            x = graph.Identity(x)
        graph.output(x, [len(values)], result)
    return g, f, [values]


add("ort_4039_cast_to_integer", ORT + "4039",
    "Two casts, to an integer and back, are removed together.",
    refuted("the fraction is no longer cut off"),
    lambda random: casts(random, [INT32, FLOAT], [], [1.5, -2.75, 3.0, 0.25]))
add("ort_8787_cast_to_half", ORT + "8787",
    "Two casts, to float16 and back, are removed: 1e-12 and 1.234567e5 stay as they are.",
    refuted("1e-12 should become 0, and 123456.7 infinite"),
    lambda random: casts(random, [HALF, FLOAT], [], [1e-12, 1.234567e5, 1.0, 0.1]))
add("ort_17953_cast_to_unsigned", ORT_PULL + "17953",
    "Casts to an unsigned integer and back were removed too; negative numbers change.",
    refuted("-1 should become 255"),
    lambda random: casts(random, [UINT8, INT32], [], [-1, 3, 200, 300], I32, I32))
add("ort_17953_cast_to_wider", ORT_PULL + "17953",
    "Casts to a wider type and back may go, as the correction has it.",
    proved("bit_exact", "a float64 holds each float32"),
    lambda random: casts(random, [DOUBLE, FLOAT], [], [1e-12, 1.234567e5, -0.1, 3.0]))
add("ort_24842_cast_chain", ORT_PULL + "24842",
    "A chain of casts through a small integer and back to float16 is to become one cast. The "
    "thread's integer has 4 bits; here it has 8.",
    refuted("fractions are no longer cut off"),
    lambda random: casts(random, [HALF, INT8, FLOAT, HALF, FLOAT], [HALF, FLOAT],
                         [1.5, -2.75, 100.0, 0.25]))
add("ort_24842_cast_chain_floats", ORT_PULL + "24842",
    "The same fusion of a chain of floating types only.",
    proved("bit_exact", "the first cast to float16 already rounds"),
    lambda random: casts(random, [HALF, FLOAT, HALF, FLOAT], [HALF, FLOAT],
                         [1.5, -2.7518, 1e-3, 0.1]), counterpart=True)


def clip(random, low, high, before_relu):
    g, f = Graph(), Graph()
    x = g.input("x", [6])
    if before_relu:
        x = g.Relu(x)
    g.output(g.Clip(x, g.constant("low", F32(-1)), g.constant("high", F32(1))), [6])
    x = f.input("x", [6])
    if low is None:
        f.output(f.Clip(x), [6])
    else:
        f.output(f.Clip(x, f.constant("low", F32(low)), f.constant("high", F32(high))), [6])
    return g, f, [[-6.0, -0.5, 0.0, 0.5, 1.0, 6.0]]


add("hidet_97_lost_bounds", "https://github.com/hidet-org/hidet/issues/97",
    "The bounds of a Clip are dropped by fusion.",
    refuted("6 is no longer cut to 1"), lambda random: clip(random, None, None, False))
add("ort_10936_relu_clip", ORT + "10936",
    "FuseReluClip fails for float64; as a rewrite it is right.",
    proved("bit_exact", "the lower bound -1 becomes 0"),
    lambda random: clip(random, 0.0, 1.0, True))
add("ort_10936_relu_lost", ORT + "10936",
    "The same fusion that forgets to raise the lower bound.",
    refuted("negative numbers down to -1 pass"), lambda random: clip(random, -1.0, 1.0, True),
    counterpart=True)


def not_where(random, swapped):
    g, f = Graph(), Graph()
    for graph in (g, f):
        graph.input("c", [4], numpy.bool_)
        graph.input("a", [4])
        graph.input("b", [4])
    g.output(g.Where(g.Not("c"), "a", "b"), [4])
    f.output(f.Where("c", *(("b", "a") if swapped else ("a", "b"))), [4])
    return g, f, [[True, False, True, False], [1, 2, 3, 4], [5, 6, 7, 8]]


add("ort_7182_not_where", ORT_PULL + "7182",
    "NotWhereFusion drops a Not and swaps the two values.",
    proved("bit_exact", "where(not c, a, b) = where(c, b, a)"),
    lambda random: not_where(random, True))
add("ort_7182_not_swapped", ORT_PULL + "7182",
    "The same fusion that forgets to swap.",
    refuted("the two values are the wrong way round"), lambda random: not_where(random, False),
    counterpart=True)


def div_mul(random):
    g, f = Graph(), Graph()
    for graph in (g, f):
        graph.input("x", [5])
        graph.input("y", [5])
    g.output(g.Mul(g.Div(g.constant("one", F32(1)), "x"), "y"), [5])
    f.output(f.Div("y", "x"), [5])
    return g, f, [random.uniform(5, low=0.5, high=2.0), random.uniform(5)]


add("ort_7183_div_mul", ORT_PULL + "7183",
    "DivMulFusion turns 1 / x * y into y / x.",
    proved("reassociates", "a product with a reciprocal is a quotient"), div_mul)


def quick_gelu(random):
    g, f = Graph(), Graph()
    x = g.input("x", [6])
    g.output(g.Mul(x, g.Sigmoid(g.Mul(x, g.constant("alpha", F32(1.702))))), [6])
    x = f.input("x", [6])
    f.output(f.node("QuickGelu", x, domain="com.microsoft", alpha=1.702), [6])
    return g, f, [[-3.0, -1.0, -0.1, 0.2, 1.0, 3.0]]


add("ort_32421_quick_gelu", ORT + "32421",
    "QuickGeluFusion makes an operator that has no kernel for float64; as a rewrite it is right.",
    proved("bit_exact", "x * sigmoid(1.702 * x)"), quick_gelu)


def rounded(random):
    """A factor folded before a Round: one step apart where the product is near a tie."""
    g, f = Graph(), Graph()
    a, b = F32(3.7), F32(27.3)
    x = g.input("x", [6])
    y = g.Round(g.Mul(g.Mul(x, g.constant("a", a)), g.constant("b", b)))
    g.output(g.Mul(y, g.constant("step", F32(0.0035))), [6])
    x = f.input("x", [6])
    y = f.Round(f.Mul(x, f.constant("ab", a * b)))
    f.output(f.Mul(y, f.constant("step", F32(0.0035))), [6])
    return g, f, [[-0.77, -0.31, 0.02, 0.33, 0.58, 0.91]]


add("ort_23210_steps", ORT + "23210",
    "64 of 3630 values differ by 0.0035, and all values are multiples of it: something is rounded "
    "to whole steps. The model is not in the text; the pair folds a factor before such a rounding.",
    proved("real_only", "equal as real numbers; near a tie, rounding may go the other way",
           steps=1), rounded)


def same_twice(random):
    """Two equal nodes become one."""
    g, f = Graph(), Graph()
    x = g.input("x", [4])
    a, b = g.Cast(x, to=INT32), g.Cast(x, to=INT32)
    g.output(g.Cast(a, to=BOOL), [4], numpy.bool_)
    g.output(g.Identity(b), [4], I32)
    x = f.input("x", [4])
    a = f.Cast(x, to=INT32)
    f.output(f.Cast(a, to=BOOL), [4], numpy.bool_)
    f.output(f.Identity(a), [4], I32)
    return g, f, [[3.5961735, 0.25, -0.75, -7.5]]


add("ort_18212_same_cast_twice", ORT + "18212",
    "A model in which one cast stands twice gives other results; the pair removes the second one.",
    proved("bit_exact", "both casts have the same input"), same_twice)


def integers(random):
    g, f = Graph(), Graph()
    x = g.input("x", [2, 9], I32)
    y = g.Identity(g.Relu(g.Cast(x, to=FLOAT)))
    g.output(g.Cast(y, to=INT32), [2, 9], I32)
    x = f.input("x", [2, 9], I32)
    f.output(f.Cast(f.Relu(f.Cast(x, to=FLOAT)), to=INT32), [2, 9], I32)
    return g, f, [random.integers(-99, 99, 2, 9, dtype=I32)]


add("ort_23133_not_written", ORT + "23133",
    "18 of 918 integers of the unoptimized model are numbers like -867669248 and 32714, in turns: "
    "to us they look like memory that nothing has written. The pair removes an Identity.",
    proved("bit_exact", "the complaint is about an engine's memory, not about a rewrite"), integers)
