"""Times steps of training over long sequences; see tools/bench --help."""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from bench import training as bench_training
import check_training
from bench.attention import resident_bytes
from bench.inference import ROOT, machine

HEADS, WIDTH, VOCABULARY = 12, 64, 50257
HIDDEN = HEADS * WIDTH


class Attention(nn.Module):
    """Attention whose queries, keys and values are the weights."""

    def __init__(self, tokens, causal):
        super().__init__()
        self.q, self.k, self.v = (nn.Parameter(torch.randn(1, HEADS, tokens, WIDTH)) for _ in range(3))
        self.register_buffer("hidden", torch.ones(tokens, tokens, dtype=torch.bool).triu(1))
        self.causal = causal

    def forward(self, x):
        scores = self.q @ self.k.transpose(2, 3) / math.sqrt(WIDTH)
        if self.causal:
            scores = scores.masked_fill(self.hidden, -math.inf)
        return scores.softmax(-1) @ self.v + x


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in range(2))
        self.heads = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.wide, self.narrow = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x, hidden):
        y = self.norms[0](x)
        q, k, v = (f(y).view(*y.shape[:2], HEADS, WIDTH).transpose(1, 2) for f in self.heads[:3])
        scores = (q @ k.transpose(2, 3) / math.sqrt(WIDTH)).masked_fill(hidden, -math.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.heads[3](y)
        return x + self.narrow(F.gelu(self.wide(self.norms[1](x))))


class Decoder(nn.Module):
    """A GPT-like decoder; the logits of all tokens."""

    def __init__(self, layers, tokens):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.places = nn.Parameter(0.02 * torch.randn(1, tokens, HIDDEN))
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm, self.logits = nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, VOCABULARY, bias=False)
        self.register_buffer("hidden", torch.ones(tokens, tokens, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places
        for layer in self.layers:
            x = layer(x, self.hidden)
        return self.logits(self.norm(x))


def attention(tokens, causal):
    shape = (1, HEADS, tokens, WIDTH)
    return lambda: (Attention(tokens, causal), torch.randn(shape), torch.randn(shape))


def decoder(batch, tokens):
    shape = (batch, tokens)
    return lambda: (Decoder(4, tokens), torch.randint(VOCABULARY, shape), torch.randint(VOCABULARY, shape))


CASES = {
    "attention, 128": attention(128, False),
    "attention, 512": attention(512, False),
    "attention, 2048": attention(2048, False),
    "causal attention, 2048": attention(2048, True),
    "attention, 8192": attention(8192, False),
    "decoder of 4 layers, 2048": decoder(1, 2048),
    "decoder of 4 layers, batch 2 x 2048": decoder(2, 2048),
}


def run_torch(name, steps):
    """Prints the times of `steps` steps in PyTorch, eager, on one thread."""
    torch.set_num_threads(1)
    module, batch, labels = CASES[name]()
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4)
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        output = module(batch)
        loss = (F.mse_loss(output, labels) if labels.is_floating_point()
                else F.cross_entropy(output.flatten(0, 1), labels.flatten()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"ms": times}))


def measured(command):
    """The command's report, and the peak resident memory of its process; None if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=subprocess.DEVNULL)
        resident = 0
        while process.poll() is None:
            try:
                resident = max(resident, resident_bytes(process.pid))
            except (OSError, AttributeError):
                pass  # it has just ended
            time.sleep(0.01)
        output.seek(0)
        text = output.read()
    return {**json.loads(text), "resident_bytes": resident} if process.returncode == 0 else None


def prepare(flags, name, folder):
    torch.manual_seed(1)
    module, batch, labels = CASES[name]()
    model, step = folder / "model.onnx", folder / "step.pb"
    check_training.export(module, batch, model)
    loss = ["mse"] if labels.is_floating_point() else ["cross-entropy", "--class-axis=2"]
    bench_training.call([flags.lemma, "train", model, "--loss", *loss, "--update=adamw", "-o", step])
    model.unlink()
    return [step, "--json", "--state", f"{step}.safetensors", "--int-range", VOCABULARY,
            "--set", "lr=1e-4", "--threads", 1]


def difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b))


def measure(flags, name, folder):
    run = ["run", *prepare(flags, name, folder), "--batches", 1, "--steps", flags.steps + 1]
    commands = {"lemma": [flags.lemma, *run]}
    if flags.other:
        commands["other"] = [flags.other, *run]
    commands["pytorch"] = [sys.executable, __file__, "--torch", name, flags.steps + 1]
    rounds = {key: [] for key in commands}
    for _ in range(flags.rounds):
        for key, command in commands.items():
            report = measured(command)
            if report:
                rounds[key].append(report)
    if len(rounds["lemma"]) < flags.rounds:
        raise RuntimeError(f"{name}: {flags.lemma} failed")
    row = {"case": name, "ms": {}, "resident_bytes": {}, "values_bytes": {}, "to": {}}
    medians = {key: [statistics.median(r["ms"][1:]) for r in reports]
               for key, reports in rounds.items() if len(reports) == flags.rounds}
    for key, values in medians.items():
        row["ms"][key] = statistics.median(values)
        row["resident_bytes"][key] = max(r["resident_bytes"] for r in rounds[key])
        if "peak_bytes" in rounds[key][0]:
            row["values_bytes"][key] = rounds[key][0]["peak_bytes"]
        if key != "lemma":
            row["to"][key] = statistics.median(a / b for a, b in zip(medians["lemma"], values))
    if flags.losses and flags.other:
        row["losses"] = flags.losses
        steps = [*run[:-1], flags.losses]
        ours, theirs = (bench_training.call([binary, *steps]) for binary in (flags.lemma, flags.other))
        row["loss_difference"] = difference(
            *(json.loads(text)["outputs"]["loss"] for text in (ours, theirs)))
    return row


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench sequences")
    parser.add_argument("--torch", nargs=2, metavar=("CASE", "STEPS"), help=argparse.SUPPRESS)
    parser.add_argument("--lemma", required="--torch" not in arguments)
    parser.add_argument("--other")
    parser.add_argument("--models", default=";".join(CASES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--losses", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/sequences.json")
    flags = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    if flags.torch:
        return run_torch(flags.torch[0], int(flags.torch[1]))
    names = flags.models.split(";")
    for name in names:
        if name not in CASES:
            parser.error(f"no case {name!r}; there are: {'; '.join(CASES)}")
    rows = {}
    if flags.out.exists():
        rows = {row["case"]: row for row in json.loads(flags.out.read_text())["rows"]}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
            rows[name] = measure(flags, name, pathlib.Path(work))
        print(json.dumps(rows[name]), flush=True)
        kept = [rows[case] for case in CASES if case in rows]
        flags.out.write_text(json.dumps({"machine": machine(flags.lemma), "rows": kept}, indent=1) + "\n")
    print(f"written to {flags.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
