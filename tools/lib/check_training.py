"""Compares gradients of real models with PyTorch's; see tools/check_training."""

import argparse
import copy
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
from onnx import numpy_helper
import torch
from torch import nn
import torch.nn.functional as F
from torchvision import models
from torchvision.models.vision_transformer import EncoderBlock

import bert_encoder
import check_mixed
import check_zoo
import export_models
import tensor_files
import training_zoo

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCALE = 128.0  # of the loss, in f16
# What a loss may be off by beside PyTorch's error. In 16 bits, the scores that it reads are rounded.
LOSS_ROUNDING = {"f32": 1e-6, "bf16": 2.0**-8, "f16": 2.0**-11}
RATE = 1000.0  # so large that the step is nearly all gradient, and little is lost in the difference


def image_classifier(make):
    return lambda: (make(), torch.randn(4, 3, 64, 64), torch.randint(0, 1000, (4,)))


def vit_block():
    block = EncoderBlock(4, 64, 128, 0.0, 0.0, lambda size: nn.LayerNorm(size, eps=1e-6))
    return block, torch.randn(2, 17, 64), torch.randn(2, 17, 64)


def encoder():
    shape = (2, bert_encoder.SEQUENCE)
    return (bert_encoder.BertEncoder(), torch.randint(0, bert_encoder.VOCABULARY, shape),
            torch.randn(*shape, bert_encoder.HIDDEN))


def without_kinks(make):
    """The same with softplus for relu and averages for maxima, so that rounding changes little."""
    def made():
        module, batch, labels = make()
        for part in list(module.modules()):
            for name, child in part.named_children():
                if isinstance(child, nn.ReLU):
                    setattr(part, name, nn.Softplus())
                elif isinstance(child, nn.MaxPool2d):
                    setattr(part, name, nn.AvgPool2d(child.kernel_size, child.stride, child.padding))
        return module, batch, labels
    return made


# name -> makes a module, a batch and labels; class numbers as labels mean cross entropy.
CASES = {
    "resnet18": image_classifier(models.resnet18),
    "resnet18_smooth": without_kinks(image_classifier(models.resnet18)),
    "squeezenet1_1": image_classifier(models.squeezenet1_1),
    "vit_block": vit_block,
    "encoder": encoder,
}


def without_dropout(module):
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return module


def gradients(module, batch, labels, dtype, precision="f32"):
    """Loss and the gradient of each parameter, computed in `dtype`, products in `precision`."""
    module = copy.deepcopy(module).to(dtype).train()
    if batch.is_floating_point():
        batch = batch.to(dtype)
    with check_mixed.products_in(precision):
        output = module(batch)
    if labels.is_floating_point():
        loss = F.mse_loss(output, labels.to(dtype))
    else:
        loss = F.cross_entropy(output, labels)
    scale = SCALE if precision == "f16" else 1.0
    (loss * scale).backward()
    return loss.item(), {
        name: p.grad.double().numpy() / scale for name, p in module.named_parameters()
        if p.grad is not None
    }


def export(module, batch, path):
    has_norms = any(isinstance(m, nn.BatchNorm2d) for m in module.modules())
    module.train(not has_norms)
    # Where no gradient is asked for, PyTorch's attention is one fused operator ONNX lacks.
    with torch.enable_grad():
        torch.onnx.export(
            module, batch, str(path), input_names=["input"], output_names=["output"],
            opset_version=13, do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
        )


def call(command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError((result.stderr.strip() or result.stdout.strip()).splitlines()[-1])
    return result.stdout


def take_step(lemma, args, folder, module, batch, labels):
    """Loss and gradients as Lemma's step, a file of that form, has them."""
    model, out = folder / "model.onnx", folder / "out"
    export(module, batch, model)
    loss = "mse" if labels.is_floating_point() else "cross-entropy"
    precision = [f"--precision={args.precision}"]
    if args.precision == "f16":
        precision.append(f"--loss-scale={SCALE}")
    for suffix in {"onnx", args.form}:
        call([lemma, "train", model, f"--loss={loss}", "--update=sgd", *precision,
              "-o", folder / f"step.{suffix}"])
    step = folder / f"step.{args.form}"
    state = tensor_files.read(folder / f"step.{args.form}.safetensors")
    graph = onnx.load(str(folder / "step.onnx")).graph  # names and order of inputs and outputs
    given = {"input": batch.numpy(), "labels": labels.numpy(),
             "lr": numpy.array(RATE, numpy.float32), **state}
    weights = {weight.name for weight in graph.initializer}
    files = []
    for port in (p for p in graph.input if p.name not in weights):
        files.append(folder / f"input_{len(files)}.pb")
        tensor = numpy_helper.from_array(numpy.array(given[port.name], order="C"), port.name)
        files[-1].write_bytes(tensor.SerializeToString())
    out.mkdir()
    call([lemma, "run", step, "--inputs", ",".join(map(str, files)), "--outputs", out,
          "--backend", args.backend, "--runs", 1])
    results = {}
    for i, port in enumerate(graph.output):
        tensor = onnx.TensorProto.FromString((out / f"output_{i}.pb").read_bytes())
        results[port.name] = numpy_helper.to_array(tensor).astype(numpy.float64)
    found = {
        name: (state[name].astype(numpy.float64) - results[f"{name}.next"]) / RATE
        for name in state if not name.endswith(("running_mean", "running_var"))
    }
    return float(results["loss"]), found


def largest_error(found, want):
    """The largest error of a gradient relative to its norm, and the parameter that has it."""
    everything = numpy.sqrt(sum((g ** 2).sum() for g in want.values()))
    worst, at = 0.0, ""
    for parameter, gradient in want.items():
        scale = max(numpy.linalg.norm(gradient), 1e-4 * everything)
        error = numpy.linalg.norm(found[parameter] - gradient) / scale
        if not error <= worst:
            worst, at = error, parameter
    return worst, at


def compare(name, lemma, args, folder):
    torch.manual_seed(args.seed)
    module, batch, labels = CASES[name]()
    without_dropout(module)
    with torch.no_grad():
        export_models.randomize(module)
    want_loss, want = gradients(module, batch, labels, torch.float64)
    torch_loss, in_f32 = gradients(module, batch, labels, torch.float32, args.precision)
    loss, found = take_step(lemma, args, folder, module, batch, labels)
    if set(found) != set(want):
        raise RuntimeError(f"other parameters: {sorted(set(found) ^ set(want))[:3]}")
    worst, at = largest_error(found, want)
    theirs, _ = largest_error(in_f32, want)
    text = (f"{len(want)} gradients, worst off by {worst:.1e} ({at}), PyTorch's own {args.precision} by "
            f"{theirs:.1e}; loss {loss:.6f}, PyTorch {want_loss:.6f}")
    factor = 10 if args.precision == "f32" else 2
    allowed = factor * theirs + 1e-6
    if not worst <= allowed:
        raise RuntimeError(text)
    rounding = LOSS_ROUNDING[args.precision] * abs(want_loss)
    if not abs(loss - want_loss) <= 10 * abs(torch_loss - want_loss) + rounding:
        raise RuntimeError(text)
    return text


# --- Loss curves ---


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU())
        self.classifier = nn.Linear(32, 10)

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


def small_cnn():
    return SmallCnn(), torch.randn(CURVE_BATCHES, 8, 3, 16, 16), torch.randint(
        0, 10, (CURVE_BATCHES, 8))


def small_transformer():
    block = EncoderBlock(4, 32, 64, 0.0, 0.0, lambda size: nn.LayerNorm(size, eps=1e-6))
    return block, torch.randn(CURVE_BATCHES, 4, 9, 32), torch.randn(CURVE_BATCHES, 4, 9, 32)


CURVE_BATCHES = 16
CURVES = {"small_cnn": (small_cnn, 0.05), "small_transformer": (small_transformer, 0.05)}


def curve_of_torch(module, batches, labels, rate, steps, dtype):
    module = copy.deepcopy(module).to(dtype).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    losses = []
    for step in range(steps):
        x, y = batches[step % len(batches)].to(dtype), labels[step % len(batches)]
        output = module(x)
        loss = (F.mse_loss(output, y.to(dtype)) if y.is_floating_point()
                else F.cross_entropy(output, y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return numpy.array(losses)


def make_curve(name, lemma, steps, folder, *cost):
    """Losses of PyTorch: in f64, in f32, and by how much Lemma's may be off, step by step.

    Into `folder` go these, as losses.safetensors, the data with the learning rate, the step with
    its initial state, and step.optimized.pb, optimized by `cost`, arguments of lemma optimize.
    """
    torch.manual_seed(7)
    make, rate = CURVES[name]
    module, batches, labels = make()
    with torch.no_grad():
        export_models.randomize(module)
    want = curve_of_torch(module, batches, labels, rate, steps, torch.float64)
    in_f32 = curve_of_torch(module, batches, labels, rate, steps, torch.float32)
    # Rounding differs, and grows from step to step as it does between PyTorch's f32 and f64.
    allowed = 10 * numpy.maximum.accumulate(numpy.abs(in_f32 - want)) + 1e-5 * numpy.abs(want)
    tensor_files.write(folder / "losses.safetensors", {"f64": want, "f32": in_f32,
                                                      "allowed": allowed})
    tensor_files.write(folder / "data.safetensors",
                      {"input": batches.numpy(), "labels": labels.numpy(),
                       "lr": numpy.array(rate, numpy.float32)})
    model, step = folder / "model.onnx", folder / "step.pb"
    export(module, batches[0], model)
    loss = "mse" if labels.is_floating_point() else "cross-entropy"
    call([lemma, "train", model, f"--loss={loss}", "--update=sgd", "--momentum=0.9", "-o", step])
    call([lemma, "optimize", step, "-o", folder / "step.optimized.pb", "--budget", 200, "--runs", 3,
          "--int-range", 10, *cost])
    return want, in_f32, allowed


def compare_curve(name, lemma, backend, steps, folder):
    """Losses of Lemma's step, as built and optimized, and PyTorch's, step by step."""
    import json

    want, in_f32, allowed = make_curve(name, lemma, steps, folder,
                                       "--cost-db", folder / "costs.sqlite")
    texts = []
    for file in ("step.pb", "step.optimized.pb"):
        report = json.loads(call([
            lemma, "run", folder / file, "--steps", steps,
            "--state", folder / "step.pb.safetensors", "--data", folder / "data.safetensors",
            "--set", f"lr={CURVES[name][1]}", "--backend", backend, "--json"]))
        off = numpy.abs(numpy.array(report["outputs"]["loss"]) - want)
        texts.append(f"{off.max():.1e}")
        if not (off <= allowed).all():
            at = (~(off <= allowed)).argmax()
            raise RuntimeError(f"{file}: step {int(at) + 1} is off by {off[at]:.1e}")
    return (f"{steps} steps, loss {want[0]:.4f} to {want[-1]:.4f}, off by {texts[0]}, optimized by "
            f"{texts[1]}, PyTorch's own f32 by {numpy.abs(in_f32 - want).max():.1e}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--curve", type=int, default=0, metavar="STEPS")
    parser.add_argument("--mixed", type=int, default=0, metavar="STEPS")
    parser.add_argument("--lemma")
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--backend", default="reference-f64")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--precision", choices=["f32", "bf16", "f16"], default="f32")
    parser.add_argument("--form", choices=["pb", "onnx"], default="pb")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    cases = training_zoo.MODELS if args.zoo else CURVES if args.curve or args.mixed else CASES
    unknown = [name for name in args.names if name not in cases]
    if unknown:
        print(f"check_training: no model {unknown[0]}; there are {' '.join(cases)}",
              file=sys.stderr)
        return 2
    lemma = args.lemma
    if lemma is None:
        subprocess.run(["bazel", "build", "//cli:lemma"], cwd=ROOT, check=True)
        lemma = ROOT / "bazel-bin" / "cli" / "lemma"
    warnings.filterwarnings("ignore")
    # With oneDNN, PyTorch 1.13 gives a gradient of gelu with elements that were never written.
    # Without it, PyTorch also shares no library with Lemma.
    torch._C._set_mkldnn_enabled(False)  # pylint: disable=protected-access
    if args.zoo:
        return check_zoo.main(lemma, args.names or list(cases), args.write)
    if args.mixed:
        backend = "cpu" if args.backend == "reference-f64" else args.backend
        return check_mixed.main(lemma, cases, args.names or list(cases), args.mixed, backend, call,
                                export)
    passed = failed = 0
    for name in args.names or cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = (compare_curve(name, lemma, args.backend, args.curve, pathlib.Path(folder))
                        if args.curve else
                        compare(name, lemma, args, pathlib.Path(folder)))
                print(f"ok      {name:17} {text}", flush=True)
                passed += 1
            except RuntimeError as error:
                print(f"FAILED  {name:17} {error}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
