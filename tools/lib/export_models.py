"""Exports torchvision models and some of our own to ONNX; see tools/export_models --help."""

import argparse
import collections
import os
import pathlib
import shutil
import sys
import time
import warnings
import zlib

import onnx
from onnx import numpy_helper
import torch
from torch import nn
from torchvision import models

import bert_encoder
import csrnet
import nasnet_a
import taso_models

OPSET = 13
CALIBRATION_BATCH = 4


def image(size=224):
    return lambda batch: torch.randn(batch, 3, size, size)


def token_ids(batch):
    return torch.randint(0, bert_encoder.VOCABULARY, (batch, bert_encoder.SEQUENCE))


def inception_v3():
    return models.inception_v3(
        weights=None, transform_input=False, aux_logits=False, init_weights=True
    )


def bert_base():
    return bert_encoder.BertEncoder(layers=12)


def embedded(_):
    return torch.randn(taso_models.TasoBert.SEQUENCE, taso_models.TasoBert.HIDDEN)


def steps(batch):
    return tuple(
        torch.randn(batch, taso_models.NasRnn.HIDDEN) for _ in range(taso_models.NasRnn.STEPS)
    )


# name -> (makes the module, makes a batch of its input, or of its inputs)
MODELS = {
    "resnet18": (models.resnet18, image()),
    "resnet50": (models.resnet50, image()),
    "resnext50": (models.resnext50_32x4d, image()),
    "squeezenet1_1": (models.squeezenet1_1, image()),
    "mobilenet_v2": (models.mobilenet_v2, image()),
    "inception_v3": (inception_v3, image(299)),
    "densenet121": (models.densenet121, image()),
    "efficientnet_b0": (models.efficientnet_b0, image()),
    "shufflenet_v2": (models.shufflenet_v2_x1_0, image()),
    "vgg16": (models.vgg16, image()),
    "vit_b_16": (models.vit_b_16, image()),
    "bert_2layer": (bert_encoder.BertEncoder, token_ids),
    "vgg19": (models.vgg19, image()),
    "bert_base": (bert_base, token_ids),
    "nasnet_a": (nasnet_a.NasNetA, image()),
    "taso_bert": (taso_models.TasoBert, embedded),
    "nasrnn": (taso_models.NasRnn, steps),
    "csrnet": (csrnet.CsrNet, image()),
    "inception_v3_batch16": (inception_v3, image(299)),
}


def randomize(module):
    """Replaces parameters whose initial value is a constant: errors would hide behind zeros and ones."""
    for parameter in module.parameters():
        constant = parameter.numel() > 1 and bool((parameter == parameter.flatten()[0]).all())
        if not constant:
            continue
        if parameter.dim() > 1:
            nn.init.kaiming_normal_(parameter)
        elif parameter.flatten()[0] == 1:  # the scale of a normalization
            nn.init.uniform_(parameter, 0.5, 1.5)
        else:
            nn.init.normal_(parameter, 0.0, 0.1)


def calibrate_batch_norms(module, batch):
    """Sets running statistics near those of `batch`, so that activations keep a sane range."""
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    module(batch)
    for norm, momentum in zip(norms, momenta):
        norm.eval()
        norm.momentum = momentum
        spread = norm.running_var.sqrt()
        norm.running_mean += 0.2 * spread * torch.randn_like(spread)
        norm.running_var *= torch.empty_like(spread).uniform_(0.8, 1.25)
        norm.running_var += 1e-3


def rescale_output(module, inputs):
    """Scales the last linear layer or convolution, if any, so that outputs deviate by about 1."""
    deviation = module(*inputs).std()
    if not torch.isfinite(deviation) or deviation == 0:
        raise ValueError(f"outputs have a deviation of {deviation}")
    last = [m for m in module.modules() if isinstance(m, (nn.Linear, nn.Conv2d))][-1:]
    if last and not 0.1 < deviation < 10:
        last[0].weight /= deviation
        last[0].bias /= deviation


def entry(name):
    """Returns what MODELS has for `name`, and the batch size: 1, or N for another model's NAME_batchN."""
    base, _, batch = name.partition("_batch")
    size = int(batch) if batch.isdigit() and int(batch) > 0 else 1
    model = name if size == 1 else base
    return MODELS.get(model), size


def build(name):
    """Returns the module with its weights, and inputs."""
    (make, sample), size = entry(name)
    torch.manual_seed(zlib.crc32(name.encode()))
    module = make().eval()
    randomize(module)
    calibrate_batch_norms(module, sample(CALIBRATION_BATCH))
    inputs = sample(size)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    if hasattr(module, "normalize"):
        module.normalize(*inputs)
    rescale_output(module, inputs)
    return module, inputs


def check_output(name, output):
    deviation = float(output.std())
    largest = float(output.abs().max())
    if not 0.05 < deviation < 50 or not largest < 1e4:
        raise ValueError(f"{name}: outputs out of range: deviation {deviation}, largest {largest}")
    return f"output {tuple(output.shape)} deviation {deviation:.3g} largest {largest:.3g}"


def write_tensor(path, name, tensor):
    path.write_bytes(numpy_helper.from_array(tensor.numpy(), name).SerializeToString())


def export(name, directory):
    """Writes NAME.io, then NAME.onnx: where the latter is, the former is complete."""
    model_path = directory / f"{name}.onnx"
    io_path = directory / f"{name}.io"
    work = directory / f".{name}.{os.getpid()}.tmp"
    shutil.rmtree(work, ignore_errors=True)
    (work / "io").mkdir(parents=True)
    try:
        module, inputs = build(name)
        output = module(*inputs)
        summary = check_output(name, output)
        names = ["input"] if len(inputs) == 1 else [f"input_{i}" for i in range(len(inputs))]
        # Where no gradient is asked for, PyTorch's attention is one fused operator ONNX lacks.
        with torch.enable_grad():
            torch.onnx.export(
                module,
                inputs,
                str(work / "model.onnx"),
                input_names=names,
                output_names=["output"],
                opset_version=OPSET,
                do_constant_folding=False,
                training=torch.onnx.TrainingMode.PRESERVE,
            )
        for i, tensor in enumerate(inputs):
            write_tensor(work / "io" / f"input_{i}.pb", names[i], tensor)
        write_tensor(work / "io" / "output_0.pb", "output", output)
        model_path.unlink(missing_ok=True)
        shutil.rmtree(io_path, ignore_errors=True)
        (work / "io").rename(io_path)
        (work / "model.onnx").rename(model_path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return summary


def operators(path):
    """Returns 'count operator' of the model at `path`, most frequent first."""
    graph = onnx.load(str(path)).graph
    counts = collections.Counter(node.op_type for node in graph.node)
    return ", ".join(f"{count} {op}" for op, count in counts.most_common())


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/export_models")
    parser.add_argument("--out", type=pathlib.Path, default="~/.cache/lemma/models")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    flags = parser.parse_args(arguments)
    unknown = [name for name in flags.names if entry(name)[0] is None]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; the models are: {', '.join(MODELS)}; "
                     "NAME_batchN has a batch of N")
    return flags


def main(arguments):
    flags = parse(arguments)
    if flags.list:
        print("\n".join(MODELS))
        return 0
    directory = flags.out.expanduser()
    directory.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    for name in flags.names or MODELS:
        path = directory / f"{name}.onnx"
        if path.exists() and (directory / f"{name}.io").is_dir() and not flags.force:
            print(f"{name}: already at {path}")
            continue
        start = time.monotonic()
        summary = export(name, directory)
        seconds = time.monotonic() - start
        print(f"{name}: {summary}, {path.stat().st_size / 1e6:.0f} MB, {seconds:.1f} s")
        print(f"  {operators(path)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
