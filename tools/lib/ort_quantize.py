"""Quantizes a model with ONNX Runtime's own tool; tools/lib/ort_quantize runs it.

Arguments: MODEL OUTPUT INPUTS, where INPUTS is a folder with input_0.pb, input_1.pb, … (TensorProto).
"""

import pathlib
import sys

import onnx
import onnx.numpy_helper
# Before onnxruntime: Debian's packages share a table of operators, to which onnxruntime adds some
# that onnx.reference does not expect.
import onnx.reference  # noqa: F401  pylint: disable=unused-import
import onnx.version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class OneSample(CalibrationDataReader):

    def __init__(self, sample):
        self.sample = sample

    def get_next(self):
        sample, self.sample = self.sample, None
        return sample


def number(path):
    return int(path.stem[len("input_"):])


def main(model, output, inputs):
    tensors = [onnx.load_tensor(str(path))
               for path in sorted(pathlib.Path(inputs).glob("input_*.pb"), key=number)]
    loaded = onnx.load(model)
    versions = {opset.domain: opset.version for opset in loaded.opset_import}
    if versions.get("", versions.get("ai.onnx", 1)) < 13:  # which has no scale for each channel
        onnx.save(onnx.version_converter.convert_version(loaded, 13), model)
    weights = {tensor.name for tensor in loaded.graph.initializer}
    names = [value.name for value in loaded.graph.input if value.name not in weights]
    sample = dict(zip(names, map(onnx.numpy_helper.to_array, tensors)))
    prepared = output + ".prepared.onnx"
    quant_pre_process(model, prepared)  # which ONNX Runtime's guide asks for
    quantize_static(prepared, output, OneSample(sample), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main(*sys.argv[1:])
