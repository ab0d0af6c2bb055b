"""Passes of onnx/optimizer reported in one series of 2026, each by the models of a fuzzer.

In many of these reports the same case differs by the same amount whatever the pass (case_03140 by
4.022e+04; case_02937 by 1.221e-04, relatively 9.76e-04, which is one step of float16), so the pass
is not what differs. Each pair is the pass on a small graph.
"""

from graphs import F32, I64, OPTIMIZER, Graph, add, proved

SAME = "case_03140 is reported with 4.022e+04 for this pass as for many others"


def around(random, change, after=None, shape=(2, 3), result=None):
    """x -> Relu -> what the pass removes -> Relu."""
    g, f = Graph(), Graph()
    x = g.input("x", list(shape))
    g.output(g.Relu(change(g, g.Neg(x))), list(result or shape))
    x = f.input("x", list(shape))
    y = f.Neg(x)
    f.output(f.Relu(after(f, y) if after else y), list(result or shape))
    return g, f, None


def nop(issue, name, happened, change, why, **options):
    add(f"optimizer_{issue}_{name}", f"{OPTIMIZER}{issue}", happened, proved("bit_exact", why),
        lambda random: around(random, change, **options))


nop(252, "concat", "eliminate_nop_concat is reported to change outputs.",
    lambda g, y: g.Concat(y, axis=0), "a Concat of one value is that value")
nop(253, "squeezes",
    "fuse_consecutive_squeezes is reported to change outputs by 4.9e-4.",
    lambda g, y: g.Squeeze(g.Squeeze(y, g.ints("first", [0])), g.ints("second", [1])),
    "the same axes are dropped; the reported difference is one step of float16",
    after=lambda f, y: f.Squeeze(y, f.ints("axes", [0, 2])), shape=(1, 3, 1, 2), result=(3, 2))
nop(261, "pad", "eliminate_nop_pad is reported to change two of many outputs.",
    lambda g, y: g.Pad(y, g.ints("pads", [0, 0, 0, 0])), "padding by nothing")
nop(267, "concat_into_reshape",
    "fuse_concat_into_reshape is reported to change outputs by 1.2e-4, as is fuse_pad_into_pool "
    "for the same case.",
    lambda g, y: g.Reshape(y, g.Concat(g.ints("a", [3]), g.ints("b", [2]), axis=0)),
    "the same shape; the reported difference is one step of float16",
    after=lambda f, y: f.Reshape(y, f.ints("shape", [3, 2])), result=(3, 2))
nop(273, "cast", "eliminate_nop_cast is reported to change outputs.",
    lambda g, y: g.Cast(y, to=1), "a Cast to the type that the value has")
nop(274, "dropout", f"eliminate_nop_dropout: {SAME}.",
    lambda g, y: g.Dropout(y), "a Dropout that is not training")
nop(275, "expand", "eliminate_nop_expand is reported to change outputs by 6.",
    lambda g, y: g.Expand(y, g.ints("shape", [1, 3])), "an Expand to the shape that the value has")
nop(276, "flatten", f"eliminate_nop_flatten: {SAME}.",
    lambda g, y: g.Flatten(y, axis=1), "a Flatten of a matrix")
nop(282, "reshape", f"eliminate_nop_reshape: {SAME}.",
    lambda g, y: g.Reshape(y, g.ints("shape", [2, 3])), "a Reshape to the shape that the value has")
nop(283, "split", f"eliminate_nop_split: {SAME}.",
    lambda g, y: g.Split(y, g.ints("sizes", [2]), axis=0), "a Split into one part")
nop(284, "transpose", f"eliminate_nop_transpose: {SAME}.",
    lambda g, y: g.Transpose(y, perm=[0, 1]), "a Transpose that changes no axis")
nop(285, "with_unit", f"eliminate_nop_with_unit: {SAME}.",
    lambda g, y: g.Mul(y, g.constant("one", F32(1))), "a product with 1")


def common_subexpression(random):
    g, f = Graph(), Graph()
    x = g.input("x", [2, 3])
    g.output(g.Add(g.Exp(x), g.Tanh(g.Exp(x))), [2, 3])
    x = f.input("x", [2, 3])
    y = f.Exp(x)
    f.output(f.Add(y, f.Tanh(y)), [2, 3])
    return g, f, None


add("optimizer_254_common_subexpression", OPTIMIZER + "254",
    "eliminate_common_subexpression is reported to change outputs.",
    proved("bit_exact", "the same value, computed once"), common_subexpression)


def arg_max(random, values):
    g, f = Graph(), Graph()
    x = g.input("x", [1, len(values)])
    g.output(g.ArgMax(g.Exp(x), axis=1), [1, 1], I64)
    x = f.input("x", [1, len(values)])
    f.output(f.ArgMax(x, axis=1), [1, 1], I64)
    return g, f, [[values]]


add("optimizer_281_monotone_argmax", OPTIMIZER + "281",
    f"eliminate_nop_monotone_argmax drops a monotone function before ArgMax; {SAME}. As float32, "
    "the exponentials of 89 and 90 are both infinite, so there the index does change.",
    proved("real_only", "exp is increasing; overflow makes elements equal"),
    lambda random: arg_max(random, [0.5, -1.0, 2.0, 1.0]))
