#!/usr/bin/env bash
# A model that ONNX Runtime's own tool quantized is as far from the model in f32 in Lemma as it is in
# ONNX Runtime.
set -euo pipefail
lemma="$PWD/$1"
HOME="$(getent passwd "$(id -u)" | cut -d: -f6)" # Bazel hides it; the tools install there
export HOME
if ! /usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null; then
  echo "skipped: python3-onnx is not installed (tools/install --models)"
  exit 0
fi
if ((EUID != 0)) || ! command -v debootstrap > /dev/null || ! command -v npm > /dev/null; then
  echo "skipped: needs root, debootstrap (tools/install --chroots) and Node.js"
  exit 0
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
model="$work/model.onnx"
mkdir "$work/inputs" "$work/lemma" "$work/ort"
/usr/bin/python3 - "$work" << 'PYTHON'
import sys, numpy, onnx
from onnx import TensorProto, helper, numpy_helper
random = numpy.random.default_rng(1)
def tensor(name, *shape):
    return numpy_helper.from_array(random.standard_normal(shape).astype(numpy.float32), name)
def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("Relu", ["c"], ["r"]),
         helper.make_node("Conv", ["r", "w2"], ["y"], strides=[2, 2])]
graph = helper.make_graph(nodes, "g", [value("x", 1, 3, 16, 16)], [value("y", 1, 8, 7, 7)],
                          [tensor("w1", 16, 3, 3, 3), tensor("b1", 16), tensor("w2", 8, 16, 3, 3)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]),
          f"{sys.argv[1]}/model.onnx")
with open(f"{sys.argv[1]}/inputs/input_0.pb", "wb") as file:
    file.write(tensor("x", 1, 3, 16, 16).SerializeToString())
PYTHON
tools/lib/ort_quantize "$model" "$work/quantized.onnx" "$work/inputs"
"$lemma" run "$model" --inputs "$work/inputs" --runs=1 --outputs "$work"
"$lemma" run "$work/quantized.onnx" --inputs "$work/inputs" --runs=1 --outputs "$work/lemma"
tools/ort_run run "$work/quantized.onnx" "$work/inputs/input_0.pb" --out "$work/ort"
/usr/bin/python3 - "$work" << 'PYTHON'
import sys, numpy, onnx
from onnx import numpy_helper
f32, lemma, ort = (numpy_helper.to_array(onnx.load_tensor(f"{sys.argv[1]}/{name}output_0.pb"))
                   for name in ("", "lemma/", "ort/"))
norm = numpy.linalg.norm
errors = norm(lemma - f32) / norm(f32), norm(ort - f32) / norm(f32)
print("relative errors: %.4f in Lemma, %.4f in ONNX Runtime" % errors)
if not (1e-3 < errors[0] < 1.2 * errors[1] and errors[1] < 0.5):
    sys.exit("ort_quantize_test: Lemma's error is larger, or nothing was quantized")
PYTHON
