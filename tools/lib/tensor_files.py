"""Files of tensors in the safetensors format."""

import json

import numpy


def read(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    types = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64}
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + length + begin:8 + length + end]
        tensors[name] = numpy.frombuffer(raw, types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write(path, tensors):
    names = {numpy.dtype("float32"): "F32", numpy.dtype("float64"): "F64",
             numpy.dtype("int64"): "I64"}
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text +
                     b"".join(t.tobytes() for t in tensors.values()))
