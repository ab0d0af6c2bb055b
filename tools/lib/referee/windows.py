"""Convolutions, pools and padding in NumPy."""

import itertools

import numpy


def pad(node, x, pads, value=None, axes=None):
    """Padding with a constant; a negative width cuts off."""
    rank = x.ndim
    widths = [(int(pads[i]), int(pads[i + rank])) for i in range(rank)]
    fill = x.dtype.type(0) if value is None else value
    x = numpy.pad(x, [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=fill)
    return x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape))]


def _padded(node, x, fill):
    rank = x.ndim - 2
    pads = node.get("pads") or [0] * (2 * rank)
    return pad(None, x, [0, 0, *pads[:rank], 0, 0, *pads[rank:]], fill)


def _windows(x, kernel, strides, dilations):
    """For each output position its index and the window that it reads: [n, c, kernel...]."""
    sizes = [(n - d * (k - 1) - 1) // s + 1
             for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations)]
    for at in itertools.product(*map(range, sizes)):
        index = [slice(p * s, p * s + d * (k - 1) + 1, d)
                 for p, k, s, d in zip(at, kernel, strides, dilations)]
        yield at, sizes, x[(slice(None), slice(None), *index)]


def conv(node, x, weight, bias=None):
    rank = x.ndim - 2
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    groups = node.get("group", 1)
    x = _padded(node, x, x.dtype.type(0))
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    y = None
    for at, sizes, window in _windows(x, weight.shape[2:], strides, dilations):
        if y is None:
            y = numpy.zeros((x.shape[0], weight.shape[0], *sizes), x.dtype)
        for g in range(groups):
            part = window[:, g * inputs:(g + 1) * inputs].reshape(x.shape[0], -1)
            kernels = weight[g * outputs:(g + 1) * outputs].reshape(outputs, -1)
            y[(slice(None), slice(g * outputs, (g + 1) * outputs), *at)] = part @ kernels.T
    return y if bias is None else y + bias.reshape([1, -1] + [1] * rank)


def conv_transpose(node, x, weight, bias=None):
    """Stride 1, no padding: what the pairs use."""
    groups = node.get("group", 1)
    inputs, outputs = weight.shape[0] // groups, weight.shape[1]
    kernel = weight.shape[2:]
    y = numpy.zeros((x.shape[0], outputs * groups,
                     *[n + k - 1 for n, k in zip(x.shape[2:], kernel)]), x.dtype)
    for g, at in itertools.product(range(groups), numpy.ndindex(*x.shape[2:])):
        part = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *at)]
        spread = numpy.tensordot(part, weight[g * inputs:(g + 1) * inputs], 1)
        index = [slice(p, p + k) for p, k in zip(at, kernel)]
        y[(slice(None), slice(g * outputs, (g + 1) * outputs), *index)] += spread
    return y if bias is None else y + bias.reshape([1, -1] + [1] * (x.ndim - 2))


def _pool(node, x, fill, function):
    rank = x.ndim - 2
    strides = node.get("strides") or [1] * rank
    y = None
    for at, sizes, window in _windows(_padded(node, x, fill), node.get("kernel_shape"), strides,
                                      [1] * rank):
        if y is None:
            y = numpy.zeros((*x.shape[:2], *sizes), x.dtype)
        y[(slice(None), slice(None), *at)] = function(window)
    return y


def max_pool(node, x):
    axes = tuple(range(2, x.ndim))
    lowest = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
    return _pool(node, x, x.dtype.type(lowest), lambda window: window.max(axes))


def average_pool(node, x):
    axes = tuple(range(2, x.ndim))
    sums = _pool(node, x, x.dtype.type(0), lambda window: window.sum(axes))
    if node.get("count_include_pad", 0):
        return sums / x.dtype.type(numpy.prod(node.get("kernel_shape")))
    return sums / _pool(node, numpy.ones_like(x), x.dtype.type(0), lambda window: window.sum(axes))
