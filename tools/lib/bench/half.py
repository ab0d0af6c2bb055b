"""Times models in f16 and bf16 beside f32's and ONNX Runtime's; see tools/bench --help."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import numpy
import onnx
import torch
from onnx import TensorProto, numpy_helper

import sizes_zoo
from bench.inference import ROOT, Server, alternate, check, machine, ratio

TYPES = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
# name -> (makes the module, its input)
MODELS = {
    "resnet50": (lambda: sizes_zoo.models.resnet50(), lambda: torch.randn(1, 3, 224, 224)),
    "unet": (lambda: sizes_zoo.UNet(channels=(32, 64, 128, 256)), lambda: torch.randn(1, 3, 256, 256)),
    "encoder": (sizes_zoo.Encoder, lambda: torch.randint(0, 5000, (1, 128))),
}


def narrowed(array, onnx_type):
    if onnx_type == TensorProto.FLOAT16:
        return array.astype(numpy.float16).tobytes()
    bits = array.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16).tobytes()


def narrow(path, onnx_type, out):
    """Writes the model with `onnx_type` in place of f32 everywhere but in Resize's parameters."""
    model = onnx.load(str(path))
    graph = model.graph
    kept = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]}

    def convert(tensor):
        if tensor.data_type != TensorProto.FLOAT:
            return
        raw = narrowed(numpy_helper.to_array(tensor), onnx_type)
        del tensor.float_data[:]
        tensor.raw_data, tensor.data_type = raw, onnx_type

    for tensor in graph.initializer:
        if tensor.name not in kept:
            convert(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and node.output[0] not in kept:
                convert(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == 1:
                attribute.i = onnx_type
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx_type
    onnx.save(model, str(out))


def export(name, folder):
    """Writes NAME.TYPE.onnx and NAME.TYPE.pb for f32, f16 and bf16."""
    torch.manual_seed(1)
    make, sample = MODELS[name]
    module, x = make().eval(), sample()
    path = folder / f"{name}.f32.onnx"
    with torch.enable_grad():
        torch.onnx.export(module, x, str(path), opset_version=13, input_names=["x"],
                          output_names=["y"], training=torch.onnx.TrainingMode.EVAL)
    tensors = {"f32": x.numpy(), "f16": x.numpy()}
    if x.dtype == torch.float32:
        tensors["f16"] = x.numpy().astype(numpy.float16)
    for kind, onnx_type in TYPES.items():
        narrow(path, onnx_type, folder / f"{name}.{kind}.onnx")
    for kind, array in tensors.items():
        (folder / f"{name}.{kind}.pb").write_bytes(
            numpy_helper.from_array(array, "x").SerializeToString())


def measure(flags, name, folder):
    export(name, folder)
    optimized = folder / f"{name}.optimized.onnx"
    report = json.loads(check([flags.lemma, "optimize", str(folder / f"{name}.f16.onnx"), "-o",
                               str(optimized), "--json", "--seconds", str(flags.seconds)]))
    servers = {}
    try:
        for kind in ("f32", "f16", "bf16"):
            servers[kind] = Server(
                [flags.lemma, "run", str(folder / f"{name}.{kind}.onnx"), "--serve"])
        servers["optimized"] = Server([flags.lemma, "run", str(optimized), "--serve"])
        for kind in ("f32", "f16"):
            servers[f"ort_{kind}"] = Server(
                [str(ROOT / "tools/ort_run"), "serve", str(folder / f"{name}.{kind}.onnx"),
                 str(folder / f"{name}.{kind}.pb")])
        medians = alternate(servers, flags.rounds)
    finally:
        for server in servers.values():
            server.close()
    return {
        "model": name,
        "ms": {key: statistics.median(values) for key, values in medians.items()},
        "f16_to_f32": ratio(medians, "f16", "f32"),
        "bf16_to_f32": ratio(medians, "bf16", "f32"),
        "f16_to_onnxruntime": ratio(medians, "f16", "ort_f16"),
        "optimized_to_onnxruntime": ratio(medians, "optimized", "ort_f16"),
        "f32_to_onnxruntime": ratio(medians, "f32", "ort_f32"),
        "rules": report["rules"],
    }


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench half")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/half.json")
    flags = parser.parse_args(arguments)
    torch.set_grad_enabled(False)
    rows = []
    print(f"{'model':<10}{'f32 ms':>9}{'f16':>9}{'bf16':>9}{'opt. f16':>9}{'ORT f32':>9}{'ORT f16':>9}"
          f"{'f16/f32':>9}{'bf16/f32':>9}{'f16/ORT':>9}{'opt./ORT':>9}")
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        for name in flags.models.split(","):
            row = measure(flags, name, pathlib.Path(work))
            rows.append(row)
            times = [row["ms"][k] for k in ("f32", "f16", "bf16", "optimized", "ort_f32", "ort_f16")]
            ratios = [row[k] for k in ("f16_to_f32", "bf16_to_f32", "f16_to_onnxruntime",
                                       "optimized_to_onnxruntime")]
            print(f"{name:<10}" + "".join(f"{t:>9.2f}" for t in times) +
                  "".join(f"{r:>9.3f}" for r in ratios), flush=True)
    flags.out.write_text(json.dumps({"machine": machine(flags.lemma), "rows": rows}, indent=1) + "\n")
    print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
