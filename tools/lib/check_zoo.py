"""Trains the models of training_zoo.py and compares with PyTorch; see tools/check_training --zoo."""

import copy
import json
import pathlib
import signal
import subprocess
import tempfile
import time
import zlib

import numpy
import onnx
import torch
from torch import nn
import torch.nn.functional as F

import tensor_files
import training_zoo

STEPS = 3
BATCH_NORM_MOMENTUM = 0.9
# All exact in f32. A large epsilon, since an update of Adam whose gradient is 0 but for roundings is
# a rounding's sign otherwise.
UPDATES = {
    "sgd": {"lr": 0.125, "flags": {"momentum": 0.875, "weight-decay": 0.03125}},
    "adamw": {"lr": 0.015625, "flags": {"beta1": 0.875, "beta2": 0.96875, "epsilon": 0.0009765625,
                                        "weight-decay": 0.0625}},
}
CHECKS = ["cpu", "reference", "reference-f64", "optimized", "memory", "resumed"]


class Failed(Exception):
    """Lemma refused, or a number is off."""


def lemma_call(command):
    """The output of a command that ends well, within minutes."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                              timeout=300)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[1]} took more than {error.timeout} s") from error
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or [""]
        raise Failed(f"{command[1]} ended with {done.returncode}: {lines[-1]}")
    return done.stdout


# --- PyTorch's side ---


def loss_of(kind, output, labels):
    if kind == "cross-entropy":
        return F.cross_entropy(output, labels)
    if kind == "bce":
        return F.binary_cross_entropy_with_logits(output, labels.to(output.dtype))
    return F.mse_loss(output, labels.to(output.dtype))


def population_variance(norm):
    """Makes the running variance that of the population, as ONNX has it."""
    before = {}

    def keep(_, inputs):
        before["variance"] = norm.running_var.clone()
        before["count"] = inputs[0].numel() / inputs[0].shape[1]

    def correct(*_):
        kept = BATCH_NORM_MOMENTUM * before["variance"]
        unbiased = norm.running_var - kept
        norm.running_var.data.copy_(kept + unbiased * (before["count"] - 1) / before["count"])

    norm.register_forward_pre_hook(keep)
    norm.register_forward_hook(correct)


def make_optimizer(update, parameters):
    rate, flags = UPDATES[update]["lr"], UPDATES[update]["flags"]
    if update == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=flags["momentum"],
                               weight_decay=flags["weight-decay"])
    return torch.optim.AdamW(parameters, lr=rate, betas=(flags["beta1"], flags["beta2"]),
                             eps=flags["epsilon"], weight_decay=flags["weight-decay"])


# A device of one made-up kernel: what costs are estimated from, and a result is written even where it
# would not pay.
COSTS = """lemma costs 2
device zoo
0.01 1e-09 9 1000000 100000 0 made_up
"""
KEPT = {"momentum_buffer": "m", "exp_avg": "m", "exp_avg_sq": "v"}


def round_to_f32(module, optimizer):
    """What is kept from step to step is f32, whatever computes the step."""
    kept = [*module.parameters(), *(b for b in module.buffers() if b.is_floating_point())]
    for state in optimizer.state.values():
        kept += [state[key] for key in KEPT if key in state and state[key] is not None]
    for tensor in kept:
        tensor.data.copy_(tensor.data.float())


def train_in_torch(case, update, dtype):
    """Loss of each step, and the state after the last by Lemma's names; f32 between the steps."""
    module = copy.deepcopy(case.module).to(dtype).train()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            population_variance(part)
    optimizer = make_optimizer(update, module.parameters())
    losses = []
    for step in range(STEPS):
        given = [x[step].to(dtype) if x.is_floating_point() else x[step] for x in case.inputs]
        loss = loss_of(case.loss, module(*given), case.labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            round_to_f32(module, optimizer)
        losses.append(loss.item())
    state = {}
    for name, parameter in module.named_parameters():
        if parameter.grad is None:
            continue
        state[name] = parameter
        for key, ending in KEPT.items():
            if key in optimizer.state[parameter]:
                state[f"{name}.{ending}"] = optimizer.state[parameter][key]
    for name, buffer in module.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            state[name] = buffer
    return numpy.array(losses), {n: t.detach().double().numpy() for n, t in state.items()}


def export(case, path):
    has_norms = any(isinstance(m, nn.BatchNorm2d) for m in case.module.modules())
    module = copy.deepcopy(case.module).train(not has_norms)
    inputs = tuple(x[0] for x in case.inputs)
    # Where no gradient is asked for, PyTorch's attention is one fused operator ONNX lacks.
    with torch.enable_grad():
        torch.onnx.export(module, inputs, str(path), output_names=["output"],
                          input_names=[f"input_{i}" for i in range(len(inputs))],
                          opset_version=case.opset, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE)


# --- Lemma's side ---


class Run:
    """A step of one model and update in a folder, and what PyTorch says of it."""

    def __init__(self, lemma, case, update, folder):
        self.lemma, self.case, self.folder = lemma, case, folder
        self.rate = UPDATES[update]["lr"]
        self.step, self.data = folder / "step.pb", folder / "data.safetensors"
        self.start = folder / "step.pb.safetensors"
        (folder / "costs.txt").write_text(COSTS)
        lemma_call([lemma, "costs", "import", folder / "costs.txt", "--cost-db",
                    folder / "costs.sqlite"])
        export(case, folder / "model.onnx")
        given = {f"input_{i}": x.numpy() for i, x in enumerate(case.inputs)}
        tensor_files.write(self.data, {**given, "labels": case.labels.numpy()})
        lemma_call([lemma, "train", folder / "model.onnx", f"--loss={case.loss}",
                    f"--update={update}", f"--batch-norm-momentum={BATCH_NORM_MOMENTUM}",
                    *(f"--{flag}={value}" for flag, value in UPDATES[update]["flags"].items()),
                    "-o", self.step])
        self.want = train_in_torch(case, update, torch.float64)
        in_f32 = train_in_torch(case, update, torch.float32)
        self.first = tensor_files.read(self.start)
        self.check_names(self.want[1])
        self.theirs = self.off(in_f32)

    def check_names(self, want):
        other = set(want) ^ (set(self.first) - {"step"})
        if other:
            raise Failed(f"other state than PyTorch's: {' '.join(sorted(other)[:3])}")

    def command(self, step, *more):
        return [self.lemma, "run", step, "--state", self.start, "--data", self.data,
                "--set", f"lr={self.rate}", "--json", *more]

    def train(self, step, *more):
        """Losses and state after STEPS steps."""
        checkpoint = self.folder / f"{len(list(self.folder.iterdir()))}.safetensors"
        report = json.loads(lemma_call(
            self.command(step, "--steps", STEPS, "--checkpoint", checkpoint, *more)))
        return (numpy.array(report["outputs"]["loss"]), tensor_files.read(checkpoint),
                report["peak_bytes"])

    def off(self, found):
        """(off, where): of what each variable became since the start, by norm, and of the loss."""
        losses, state = self.want
        change = {name: tensor - self.first[name] for name, tensor in state.items()}
        all_weights = numpy.sqrt(sum((c ** 2).sum() for c in change.values()))
        worst = (float(numpy.abs(found[0] - losses).max() / numpy.abs(losses).max()), "loss")
        for name, tensor in state.items():
            scale = max(numpy.linalg.norm(change[name]), 1e-4 * all_weights)
            error = float(numpy.linalg.norm(found[1][name].astype(numpy.float64) - tensor) / scale)
            if not error <= worst[0]:  # true of NaN as well
                worst = (error, name)
        return worst

    def compare(self, found, allowed):
        worst, where = self.off(found)
        if not worst <= allowed:
            raise Failed(f"{where} is off by {worst:.1e}, allowed {allowed:.1e}")
        return f"{worst:.1e}"

    def in_f32(self, step, backend):
        """As far from f64 as ten times PyTorch's own f32, which may be wrong (soft_experts)."""
        return self.compare(self.train(step, "--backend", backend),
                            min(10 * self.theirs[0] + 1e-6, 1e-3))

    def cpu(self):
        return self.in_f32(self.step, "cpu")

    def reference(self):
        return self.in_f32(self.step, "reference")

    def unrounded(self):
        """As PyTorch in f64 but for the last bit of what is kept as f32."""
        losses, state, _ = self.train(self.step, "--backend", "reference-f64")
        worst = float((numpy.abs(losses - self.want[0]) / numpy.abs(self.want[0]).max()).max())
        where = "loss"
        for name, tensor in self.want[1].items():
            largest = max(numpy.abs(tensor).max(), numpy.abs(self.first[name]).max())
            error = float(numpy.abs(state[name] - tensor).max() / max(largest, 1e-30))
            if not error <= worst:
                worst, where = error, name
        if not worst <= 1e-6:
            raise Failed(f"{where} is off by {worst:.1e}, allowed 1.0e-06")
        return f"{worst:.1e}"

    def optimize(self, out, *more):
        return json.loads(lemma_call([
            self.lemma, "optimize", self.step, "-o", out, "--device", "zoo",
            "--cost-db", self.folder / "costs.sqlite", "--int-range",
            self.case.int_range, "--json", *more]))

    def optimized(self):
        """The same after a search, whose certificate holds."""
        out = self.folder / "optimized.pb"
        report = self.optimize(out, "--budget", 100)
        lemma_call([self.lemma, "check", self.step, out, f"{out}.cert"])
        off = self.in_f32(out, "cpu")
        off64 = self.in_f32(out, "reference-f64")
        return f"{max(off, off64, key=float)} ({sum(report['rules'].values())} rewrites)"

    def memory(self):
        """With values computed again, to the bit what it is with all of them kept."""
        losses, state, peak = self.train(self.step)
        out = self.folder / "limited.pb"
        for share in (70, 85, 95):
            limit = peak * share // 100
            try:
                report = self.optimize(out, "--budget", 1, "--numerics", "exact", "--seconds", 10,
                                       "--memory-limit", limit)
                break
            except Failed as error:
                if "nothing that was found keeps to" not in str(error):
                    raise
                least = str(error).split("the least needs ")[-1].split(",")[0]
        else:
            return f"not reached: 95 % are {limit} bytes, the least found {least}"
        lemma_call([self.lemma, "check", self.step, out, f"{out}.cert"])
        found = self.train(out)
        self.same_bits((losses, state), found)
        if found[2] > limit:
            raise Failed(f"takes {found[2]} bytes, the limit was {limit}")
        return f"same at {share} % ({report['recomputed_operators']} again)"

    def same_bits(self, want, found):
        if want[0] is not None and want[0].tobytes() != found[0].tobytes():
            raise Failed(f"other losses: {found[0]} for {want[0]}")
        for name, tensor in want[1].items():
            if tensor.tobytes() != found[1][name].tobytes():
                raise Failed(f"other bits in {name}")

    def resumed(self):
        """Killed between two steps or within one, and resumed: as if it had never been."""
        checkpoint = self.folder / "killed.safetensors"
        command = self.command(self.step, "--every", 1, "--checkpoint", checkpoint)
        with subprocess.Popen(list(map(str, command + ["--steps", 10 ** 6])),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while (process.poll() is None and time.monotonic() < deadline
                   and (not checkpoint.exists() or steps_done(checkpoint) < 2)):
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
        if not checkpoint.exists():
            raise Failed("was killed and left no checkpoint")
        done = steps_done(checkpoint)
        steps = done + STEPS
        lemma_call(command + ["--steps", steps, "--resume"])
        whole = self.folder / "whole.safetensors"
        lemma_call(self.command(self.step, "--steps", steps, "--checkpoint", whole))
        self.same_bits((None, tensor_files.read(whole)),
                       (None, tensor_files.read(checkpoint)))
        return f"same after {done}"


def steps_done(checkpoint):
    data = checkpoint.read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return int(header["__metadata__"]["lemma.step"])


def check(lemma, name, update, folder):
    """Prints a row; whether all is well."""
    torch.manual_seed(zlib.crc32(name.encode()))
    cells, good = [], True
    try:
        run = Run(lemma, training_zoo.MODELS[name](), update, folder)
    except Failed as error:
        print(f"FAILED  {name:17} {update:6} {error}", flush=True)
        return False
    for what, method in zip(CHECKS, (run.cpu, run.reference, run.unrounded, run.optimized,
                                     run.memory, run.resumed)):
        try:
            cells.append(f"{what} {method()}")
        except Failed as error:
            cells.append(f"{what} FAILED: {error}")
            good = False
    print(f"{'ok' if good else 'FAILED':7} {name:17} {update:6} PyTorch's f32 {run.theirs[0]:.1e}; "
          + "; ".join(cells), flush=True)
    return good


def write_case(name, folder):
    """NAME.onnx, and NAME.safetensors: its batches, and PyTorch's losses in f64 under each update."""
    torch.manual_seed(zlib.crc32(name.encode()))
    case = training_zoo.MODELS[name]()
    export(case, folder / f"{name}.onnx")
    strip_notes(folder / f"{name}.onnx")
    given = {f"input_{i}": x.numpy() for i, x in enumerate(case.inputs)}
    for update in UPDATES:
        given[f"loss.{update}"] = train_in_torch(case, update, torch.float64)[0]
    tensor_files.write(folder / f"{name}.safetensors", {**given, "labels": case.labels.numpy()})


def strip_notes(path):
    """Leaves out which line of which file each node comes from."""
    model = onnx.load(str(path))
    for node in model.graph.node:
        node.doc_string = ""
    path.write_bytes(model.SerializeToString(deterministic=True))


def check_in_scratch(lemma, name, update):
    with tempfile.TemporaryDirectory() as folder:
        return check(lemma, name, update, pathlib.Path(folder))


def main(lemma, names, write_to):
    """Checks these models, or writes them as cases of a test; returns the exit status."""
    torch.set_num_threads(1)
    if write_to is not None:
        for name in names:
            write_case(name, write_to)
        return 0
    good = [check_in_scratch(lemma, name, update) for name in names for update in UPDATES]
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1
