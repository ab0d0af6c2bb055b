"""Checks models at many sizes against PyTorch and ONNX Runtime; see tools/check_sizes."""

import argparse
import collections
import json
import pathlib
import statistics
import sys
import warnings
import zlib

import numpy
import onnx
import torch
from onnx import numpy_helper

import check_models
import sizes_zoo
from check_models import Failure, ROOT, call


def build(name):
    torch.manual_seed(zlib.crc32(name.encode()))
    entry = sizes_zoo.MODELS[name]
    module = entry.make().eval()
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.8, 1.25)
    return entry, module


def outputs_of(module, inputs):
    result = module(*inputs)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def write(folder, kind, tensors, names):
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, (tensor, name) in enumerate(zip(tensors, names)):
        paths.append(folder / f"{kind}_{i}.pb")
        paths[-1].write_bytes(numpy_helper.from_array(tensor.numpy(), name).SerializeToString())
    return paths


def label(sizes):
    return ",".join(f"{name}={size}" for name, size in sizes.items()) or "fixed"


class Model:
    """A model in a folder, with inputs and PyTorch's outputs at each of its sizes."""

    def __init__(self, name, folder):
        entry, module = build(name)
        self.name, self.entry, self.path = name, entry, folder / f"{name}.onnx"
        folder.mkdir(parents=True, exist_ok=True)
        self.cases = []
        for i, sizes in enumerate(entry.sizes):
            inputs = entry.inputs(sizes)
            outputs = outputs_of(module, inputs)
            at = folder / f"{name}.{i}"
            self.cases.append((sizes, write(at, "input", inputs, entry.names),
                               write(at, "output", outputs, entry.outputs)))
        # Where no gradient is asked for, PyTorch's attention is one fused operator ONNX lacks.
        with torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module, entry.inputs(entry.sizes[0]), str(self.path), opset_version=entry.opset,
                input_names=entry.names, output_names=entry.outputs,
                dynamic_axes=entry.axes or None, do_constant_folding=False,
                training=torch.onnx.TrainingMode.EVAL)


class PublishedModel:
    """A published model, with inputs and ONNX Runtime's outputs at each of its sizes."""

    def __init__(self, name, folder):
        entry = sizes_zoo.PUBLISHED[name]
        modules = pathlib.Path(call([ROOT / "tools" / "lib" / "published"]).strip())
        torch.manual_seed(zlib.crc32(name.encode()))
        self.name, self.entry, self.path = name, entry, modules / entry.file
        order = [value.name for value in onnx.load(str(self.path)).graph.input]
        self.cases = []
        for i, sizes in enumerate(entry.sizes):
            tensors = entry.inputs(sizes)
            at = folder / f"{name}.{i}"
            inputs = write(at, "input", [tensors[key] for key in order], order)
            call([ROOT / "tools" / "ort_run", "run", self.path, *inputs, "--out", at])
            self.cases.append((sizes, inputs, sorted(at.glob("output_*.pb"))))


def symbols(path):
    """The names of symbolic dimensions of a model's inputs and outputs."""
    graph = onnx.load(str(path), load_external_data=False).graph
    return {value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
            for value in [*graph.input, *graph.output]}


# Operators that Lemma reads as many.
COMPOSITES = {"LSTM", "GRU", "RNN", "Gelu", "LayerNormalization", "GroupNormalization", "Attention",
              "HardSwish", "If", "Loop", "Scan"}


def nodes(path):
    """The numbers of nodes and of composites of a model, in its branches too."""
    def of(graph):
        found = collections.Counter(node.op_type for node in graph.node)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    found += of(attribute.g)
        return found

    found = of(onnx.load(str(path)).graph)
    kinds = [f"{found[kind]} {kind}" for kind in sorted(COMPOSITES) if found[kind]]
    return f"{sum(found.values())} ({', '.join(kinds)})" if kinds else f"{sum(found.values())}"


def compare_nodes(before, after, inputs, ort):
    """Says how many nodes there are, and how long ONNX Runtime takes, before and after."""
    text = f"{nodes(before)} -> {nodes(after)} nodes"
    if not ort:
        return text
    ms = {before: [], after: []}
    for _ in range(5):
        for path in ms:
            report = json.loads(call([ROOT / "tools" / "ort_run", "time", path, *inputs]))
            ms[path].append(report["median_ms"])
    first, second = (statistics.median(times) for times in ms.values())
    return f"{text}; ONNX Runtime {first:.3f} -> {second:.3f} ms"


def with_ort(path, inputs, expected, folder):
    """Fails if ONNX Runtime's outputs are far from PyTorch's; returns how far they are."""
    call([ROOT / "tools" / "ort_run", "run", path, *inputs, "--out", folder])
    worst = 0.0
    for i, file in enumerate(expected):
        right = numpy_helper.to_array(onnx.load_tensor(str(file)))
        found = numpy_helper.to_array(onnx.load_tensor(str(folder / f"output_{i}.pb")))
        if right.shape != found.shape:
            raise Failure(f"output {i} has shape {found.shape}, PyTorch's {right.shape}")
        scale = max(1.0, float(numpy.abs(right).max(initial=0)))
        difference = numpy.abs(right.astype(numpy.float64) - found.astype(numpy.float64))
        worst = max(worst, float(difference.max(initial=0)) / scale)
        if not difference.max(initial=0) <= 1e-3 * scale:
            raise Failure(f"output {i} is off by {difference.max():.1e} of values up to {scale:.1e}")
    return f"off by {worst:.1e}"


class Checker(check_models.Checker):
    def check_model(self, model, seconds):
        output = self.folder / f"{model.name}.optimized.onnx"
        flags = []
        for name, reach in model.entry.ranges.items():
            flags += ["--range", f"{name}={reach}"]
        search = [*flags]
        if model.entry.fixed:
            self.check_each_size(model, seconds)
            return
        if model.entry.sizes != [{}]:
            for sizes in (model.entry.sizes[0], model.entry.sizes[-1]):
                search += ["--hint", label(sizes)]
        for sizes, inputs, expected in model.cases:
            self.check(model.name, "run", lambda: label(sizes) + " " + self.run(
                model.path, "--inputs", ",".join(map(str, inputs)),
                "--expect", ",".join(map(str, expected))))
        if not self.check(model.name, "optimize", lambda: self.optimize(
                model.path, output, "--seconds", seconds, *search)):
            return
        self.check(model.name, "nodes", lambda: compare_nodes(
            model.path, output, model.cases[0][1], self.ort))
        self.check(model.name, "symbols", lambda: self.same_symbols(model.path, output))
        self.check(model.name, "cert", lambda: self.certificate(model.path, output))
        self.check(model.name, "valid", lambda: onnx.checker.check_model(
            str(output), full_check=True))
        for sizes, inputs, expected in model.cases:
            self.check(model.name, "rerun", lambda: label(sizes) + " " + self.run(
                output, "--inputs", ",".join(map(str, inputs)),
                "--expect", ",".join(map(str, expected))))
            if self.ort:
                self.check(model.name, "ort", lambda: label(sizes) + " " + with_ort(
                    output, inputs, expected, self.folder / "ort"))

    def check_each_size(self, model, seconds):
        """Checks a model that runs only at the sizes of given inputs."""
        for i, (sizes, inputs, expected) in enumerate(model.cases):
            output = self.folder / f"{model.name}.{i}.optimized.onnx"
            given = ["--inputs", ",".join(map(str, inputs))]
            right = ["--expect", ",".join(map(str, expected))]
            self.check(model.name, "run", lambda: label(sizes) + " " + self.run(
                model.path, *given, *right))
            if not self.check(model.name, "optimize", lambda: self.optimize(
                    model.path, output, "--seconds", seconds, *given)):
                continue
            self.check(model.name, "nodes", lambda: compare_nodes(
                model.path, output, inputs, self.ort))
            self.check(model.name, "cert", lambda: self.certificate(model.path, output))
            self.check(model.name, "rerun", lambda: label(sizes) + " " + self.run(
                output, *given, *right))
            if self.ort:
                self.check(model.name, "ort", lambda: label(sizes) + " " + with_ort(
                    output, inputs, expected, self.folder / "ort"))

    @staticmethod
    def same_symbols(before, after):
        if symbols(before) != symbols(after):
            raise Failure(f"{symbols(before)} became {symbols(after)}")


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/check_sizes")
    parser.add_argument("--ort", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--lemma", default=ROOT / "bazel-bin" / "cli" / "lemma")
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path("~/.cache/lemma/sizes").expanduser())
    parser.add_argument("names", nargs="*", metavar="NAME")
    flags = parser.parse_args(arguments)
    known = [*sizes_zoo.MODELS, *sizes_zoo.PUBLISHED]
    if flags.list:
        print("\n".join(known))
        return 0
    for name in flags.names:
        if name not in known:
            parser.error(f"unknown model {name!r}; the models are: {', '.join(known)}")
    torch.set_grad_enabled(False)
    flags.out.mkdir(parents=True, exist_ok=True)
    checker = Checker(flags.lemma, flags.ort, flags.out)
    for name in flags.names or known:
        try:
            model = (Model if name in sizes_zoo.MODELS else PublishedModel)(name, flags.out)
        except Exception as error:  # PyTorch's exporter raises all kinds
            checker.failed += 1
            print(f"FAILED  {name:18} export    {str(error).splitlines()[0]}", flush=True)
            continue
        checker.check_model(model, flags.seconds)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return 0 if checker.passed and not checker.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
