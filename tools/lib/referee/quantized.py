"""Quantized operators in NumPy: DequantizeLinear, then the operator, then QuantizeLinear."""

import numpy

from windows import conv


def _along(value, x, axis):
    value = numpy.asarray(value)
    if value.ndim == 0 or value.size == 1:
        return value.reshape(())
    shape = [1] * x.ndim
    shape[axis] = -1
    return value.reshape(shape)


def dequantize(x, scale, zero=None, axis=1):
    zero = 0 if zero is None else _along(zero, x, axis).astype(numpy.int32)
    return (x.astype(numpy.int32) - zero).astype(numpy.float32) * _along(scale, x, axis)


def quantize(x, scale, zero=None, axis=1):
    zero = numpy.uint8(0) if zero is None else _along(zero, x, axis)
    limits = numpy.iinfo(zero.dtype)
    steps = numpy.rint(x / _along(scale, x, axis)).astype(numpy.int64) + zero.astype(numpy.int64)
    return numpy.clip(steps, limits.min, limits.max).astype(zero.dtype)


def _quantize_linear(node, x, scale, zero=None):
    return quantize(x, scale, zero, node.get("axis", 1))


def _dequantize_linear(node, x, scale, zero=None):
    return dequantize(x, scale, zero, node.get("axis", 1))


def _qlinear_conv(node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    y = conv(node, dequantize(x, x_scale, x_zero), dequantize(w, w_scale, w_zero, 0),
             None if bias is None else bias.astype(numpy.float32) * (x_scale * w_scale))
    return quantize(y, y_scale, y_zero)


def _qlinear_add(node, a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero):
    return quantize(dequantize(a, a_scale, a_zero) + dequantize(b, b_scale, b_zero), c_scale,
                    c_zero)


QUANTIZED = {
    "DequantizeLinear": _dequantize_linear,
    "QLinearAdd": _qlinear_add,
    "QLinearConv": _qlinear_conv,
    "QuantizeLinear": _quantize_linear,
}
