"""Compares training in mixed precision with PyTorch; see tools/check_training --mixed."""

import contextlib
import copy
import json
import pathlib
import tempfile

import numpy
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

import export_models
import tensor_files

MOMENTUM = 0.9
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# Precision, and good updates until the scale doubles: few of them, so that gradients overflow.
CASES = [("bf16", None), ("f16", 2000), ("f16", 20)]


# --- PyTorch's side ---


class Rounded(torch.autograd.Function):
    """Rounds a value to a type, and its gradient too."""

    @staticmethod
    def forward(context, x, dtype):
        context.dtype = dtype
        return x.to(dtype).to(x.dtype)

    @staticmethod
    def backward(context, dy):
        return dy.to(context.dtype).to(dy.dtype), None


class RoundedProducts(TorchFunctionMode):
    """Products take and give numbers of a 16-bit type, with sums in f32: autocast on any machine."""

    PRODUCTS = {F.linear, F.conv2d, torch.conv2d, torch.bmm, torch.matmul, torch.baddbmm,
                torch.Tensor.matmul, torch.Tensor.bmm}

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function not in self.PRODUCTS:
            return function(*args, **kwargs)

        def rounded(x):
            is_float = isinstance(x, torch.Tensor) and x.is_floating_point()
            return Rounded.apply(x, self.dtype) if is_float else x

        result = function(*map(rounded, args), **{key: rounded(x) for key, x in kwargs.items()})
        return rounded(result)


def products_in(precision):
    """A context in which products take and give numbers of the precision; f32 rounds nothing."""
    return contextlib.nullcontext() if precision == "f32" else RoundedProducts(DTYPES[precision])


class Scaler:
    """The rule of PyTorch's GradScaler."""

    def __init__(self, interval):
        self.scale, self.good, self.interval, self.skipped = 65536.0, 0, interval, 0

    def unscale(self, parameters):
        """Whether all gradients are finite; they are divided by the scale."""
        finite = True
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(1 / self.scale)
                finite = finite and bool(torch.isfinite(parameter.grad).all())
        return finite

    def update(self, finite):
        if not finite:
            self.scale, self.good, self.skipped = self.scale / 2, 0, self.skipped + 1
            return
        self.good += 1
        if self.good == self.interval:
            self.scale, self.good = self.scale * 2, 0


def curve(module, batches, labels, rate, steps, how=None, scaler=None):
    """Losses of each step. `how()`: a context for the forward pass."""
    module = copy.deepcopy(module).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=MOMENTUM)
    losses = []
    for step in range(steps):
        x, y = batches[step % len(batches)], labels[step % len(batches)]
        if how is None:
            output = module(x)
        else:
            with how():
                output = module(x).float()
        loss = F.mse_loss(output, y) if y.is_floating_point() else F.cross_entropy(output, y)
        optimizer.zero_grad()
        (loss * scaler.scale if scaler else loss).backward()
        finite = scaler.unscale(module.parameters()) if scaler else True
        if finite:
            optimizer.step()
        if scaler:
            scaler.update(finite)
        losses.append(loss.item())
    return numpy.array(losses)


# --- Lemma's side ---


class Steps:
    """Steps of one model, and its data, in a folder."""

    def __init__(self, lemma, call, export, folder, case):
        self.lemma, self.call, self.folder = lemma, call, folder
        self.module, self.batches, self.labels, self.rate = case
        tensor_files.write(folder / "data.safetensors",
                           {"input": self.batches.numpy(), "labels": self.labels.numpy()})
        export(self.module, self.batches[0], folder / "model.onnx")

    def make(self, precision, interval=None):
        step = self.folder / f"{precision}_{interval or 0}.pb"
        loss = "mse" if self.labels.is_floating_point() else "cross-entropy"
        self.call([self.lemma, "train", self.folder / "model.onnx", f"--loss={loss}",
                   f"--momentum={MOMENTUM}", f"--precision={precision}",
                   f"--scale-interval={interval or 1}", "-o", step])
        return step

    def optimize(self, step):
        out = step.with_suffix(".optimized.pb")
        self.call([self.lemma, "optimize", step, "-o", out, "--budget", 200, "--runs", 3,
                   "--int-range", 10, "--cost-db", self.folder / "costs.sqlite"])
        self.call([self.lemma, "check", step, out, f"{out}.cert"])
        return out

    def run(self, step, state, steps, backend):
        """Losses of each step, and the state after the last."""
        checkpoint = self.folder / "checkpoint.safetensors"
        report = json.loads(self.call([
            self.lemma, "run", step, "--steps", steps, "--state", f"{state}.safetensors",
            "--data", self.folder / "data.safetensors", "--set", f"lr={self.rate}",
            "--backend", backend, "--checkpoint", checkpoint, "--json"]))
        return numpy.array(report["outputs"]["loss"]), tensor_files.read(checkpoint)


def furthest(a, b):
    return float(numpy.abs(a - b).max())


def compare(precision, interval, steps, backend, lemma_steps):
    """A line about one model and precision; RuntimeError if Lemma is further off than allowed."""
    s = lemma_steps
    case = (s.module, s.batches, s.labels, s.rate, steps)
    exact = curve(*case)
    scaler = Scaler(interval) if interval else None
    rounded = curve(*case, lambda: products_in(precision), scaler)
    theirs = furthest(rounded, exact)
    autocast = ""
    if precision == "bf16":
        off = furthest(curve(*case, lambda: torch.autocast("cpu", dtype=torch.bfloat16)), exact)
        autocast, theirs = f", autocast's by {off:.1e}", max(theirs, off)
    step, f32 = s.make(precision, interval), s.make("f32")
    in_f32, _ = s.run(f32, f32, steps, backend)
    texts = []
    for file in (step, s.optimize(step)):
        losses, state = s.run(file, step, steps, backend)
        off = furthest(losses, in_f32)
        texts.append(f"{off:.1e}")
        if not off <= 2 * theirs:
            raise RuntimeError(f"{precision}: {file.name} is off by {off:.1e}, PyTorch by {theirs:.1e}")
        if scaler:
            found = (float(state["loss_scale"]), int(state["good_steps"]))
            texts[-1] += f" (scale {found[0]:g}, {found[1]} good)"
            # Roundings decide at which step a gradient overflows.
            if not scaler.skipped and found != (scaler.scale, scaler.good):
                raise RuntimeError(f"{precision}: {file.name}: scale and good updates are {found}, "
                                   f"PyTorch's {(scaler.scale, scaler.good)}")
    scale = (f" (scale {scaler.scale:g}, {scaler.good} good, {scaler.skipped} skipped)"
             if scaler else "")
    return (f"{precision}: {steps} steps, loss {exact[0]:.4f} to {exact[-1]:.4f}; from f32: off by "
            f"{texts[0]}, optimized by {texts[1]}, PyTorch's rounded products by "
            f"{furthest(rounded, exact):.1e}{autocast}{scale}; f32 from PyTorch's by "
            f"{furthest(in_f32, exact):.1e}")


def main(lemma, cases, names, steps, backend, call, export):
    passed = failed = 0
    for name in names:
        torch.manual_seed(7)
        make, rate = cases[name]
        module, batches, labels = make()
        with torch.no_grad():
            export_models.randomize(module)
        with tempfile.TemporaryDirectory() as folder:
            lemma_steps = Steps(lemma, call, export, pathlib.Path(folder),
                                (module, batches, labels, rate))
            for precision, interval in CASES:
                try:
                    text = compare(precision, interval, steps, backend, lemma_steps)
                    print(f"ok      {name:17} {text}", flush=True)
                    passed += 1
                except RuntimeError as error:
                    print(f"FAILED  {name:17} {error}", flush=True)
                    failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
