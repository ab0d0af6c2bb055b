"""Converts arrays of other packages to NumPy's, without a copy if possible."""

from typing import Any

import numpy


def as_numpy(value: Any, name: str) -> numpy.ndarray:
    """The NumPy array of an object with `__dlpack__` or `__array__`, of a number or of lists.

    It shares the object's memory if possible. TypeError if the values are not in the CPU's memory,
    or are no array; the message begins with `name`.
    """
    if isinstance(value, numpy.ndarray):
        return value
    if getattr(value, "requires_grad", False):
        value = value.detach()  # a tensor of PyTorch; its values are the same
    if hasattr(value, "__dlpack_device__"):
        kind = int(value.__dlpack_device__()[0])
        if kind not in (1, 3):  # kDLCPU, kDLCUDAHost
            raise TypeError(f"{name} lies on a device, not in the CPU's memory; copy it there first")
        try:
            return numpy.from_dlpack(value)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            pass  # a type that this NumPy cannot exchange, such as truth values
    array = numpy.asarray(value)
    if array.dtype == object:
        raise TypeError(f"{name} is no array: {type(value).__name__}")
    return array
