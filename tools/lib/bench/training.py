"""Times steps of training in PyTorch and in Lemma; see tools/bench --help."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn
from torchvision import models

import bert_encoder
import check_training

ROOT = pathlib.Path(__file__).resolve().parents[3]
RATE = 1e-3


def image_classifier(make, batch):
    return lambda: (make(), torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,)))


def encoder():
    shape = (8, 128)
    return (bert_encoder.BertEncoder(), torch.randint(0, bert_encoder.VOCABULARY, shape),
            torch.randn(*shape, bert_encoder.HIDDEN))


CASES = {
    "resnet18, batch 4": image_classifier(models.resnet18, 4),
    "squeezenet1_1, batch 4": image_classifier(models.squeezenet1_1, 4),
    "resnet50, batch 2": image_classifier(models.resnet50, 2),
    "encoder, batch 8 x 128": encoder,
}


class TorchStep:
    """A step of gradient descent with momentum, eager."""

    def __init__(self, module, batch, labels):
        self.module, self.batch, self.labels = module.train(), batch, labels
        self.optimizer = torch.optim.SGD(module.parameters(), lr=RATE, momentum=0.9)

    def run(self, steps):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            output = self.module(self.batch)
            if self.labels.is_floating_point():
                loss = F.mse_loss(output, self.labels)
            else:
                loss = F.cross_entropy(output, self.labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            times.append(1e3 * (time.perf_counter() - start))
        return times


def call(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise RuntimeError(f"{' '.join(map(str, command))}: {lines[-1] if lines else ''}")
    return done.stdout


class LemmaStep:
    def __init__(self, lemma, step, state, threads):
        self.command = [lemma, "run", step, "--json", "--state", state, "--threads", threads,
                        "--batches", 1, "--int-range", 1000, "--set", f"lr={RATE}"]

    def run(self, steps):
        report = json.loads(call([*self.command, "--steps", steps + 1]))
        self.peak_bytes, self.state_bytes = report["peak_bytes"], report["state_bytes"]
        return report["ms"][1:]  # the first one warms up


def measure(flags, name, form, threads, folder):
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    module, batch, labels = CASES[name]()
    check_training.without_dropout(module)
    model, step, better = folder / "model.onnx", folder / f"step.{form}", folder / "better.pb"
    check_training.export(module, batch, model)
    loss = "mse" if labels.is_floating_point() else "cross-entropy"
    call([flags.lemma, "train", model, f"--loss={loss}", "--update=sgd", "--momentum=0.9", "-o", step])
    state = folder / f"step.{form}.safetensors"
    optimize = [flags.lemma, "optimize", step, "-o", better, "--json", "--threads", threads,
                "--int-range", 1000, "--runs", 5, *flags.optimize]
    if flags.costs:
        optimize += ["--cost-db", flags.costs]
    report = json.loads(call(optimize))
    contenders = {
        "pytorch": TorchStep(module, batch, labels),
        "lemma": LemmaStep(flags.lemma, step, state, threads),
        "optimized": LemmaStep(flags.lemma, better, state, threads),
    }
    times = {key: [] for key in contenders}
    contenders["pytorch"].run(1)
    for _ in range(flags.rounds):
        for key, contender in contenders.items():
            times[key].append(statistics.median(contender.run(flags.steps)))
    row = {"model": name, "form": form, "threads": threads, "load": os.getloadavg()[0]}
    row["ms"] = {key: statistics.median(values) for key, values in times.items()}
    row["rounds_ms"] = times
    row["operators"] = [report["operators_before"], report["operators_after"]]
    row["rules"] = report["rules"]
    row["peak_bytes"] = [contenders[key].peak_bytes for key in ("lemma", "optimized")]
    row["state_bytes"] = contenders["lemma"].state_bytes

    def ratio(a, b):
        return statistics.median(x / y for x, y in zip(times[a], times[b]))

    row["pytorch_by_optimized"] = ratio("pytorch", "optimized")
    row["lemma_by_optimized"] = ratio("lemma", "optimized")
    return row


def cells(row):
    ms = row["ms"]
    return [
        row["model"] + (", read from ONNX" if row["form"] == "onnx" else ""), str(row["threads"]), *(f"{ms[key]:.0f}" for key in ms),
        f"{row['pytorch_by_optimized']:.2f}", f"{row['lemma_by_optimized']:.2f}",
        "{} → {}".format(*row["operators"]),
        "{:.0f} → {:.0f}".format(*(b / 1e6 for b in row["peak_bytes"])),
    ]


COLUMNS = ["model", "threads", "PyTorch ms", "Lemma ms", "optimized ms", "PyTorch / optimized",
           "Lemma / optimized", "operators", "peak MB"]


def main():
    parser = argparse.ArgumentParser(prog="tools/bench training")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", type=lambda s: s.split(","), default=[])
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--costs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/training.json")
    flags, flags.optimize = parser.parse_known_args()
    names = [n for n in CASES if not flags.models or n.split(",")[0] in flags.models]
    if not names:
        parser.error(f"the models are: {', '.join(n.split(',')[0] for n in CASES)}")
    print("|", " | ".join(COLUMNS), "|")
    print("|" + "---|" * len(COLUMNS), flush=True)
    rows = []
    # ONNX has batch normalization's training form and its gradient written out.
    for name, form in [(n, f) for n in names for f in (["pb", "onnx"] if "resnet" in n else ["pb"])]:
        for threads in flags.threads:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measure(flags, name, form, threads, pathlib.Path(folder)))
            print("|", " | ".join(cells(rows[-1])), "|", flush=True)
    machine = {"processor": platform.processor(), "torch": torch.__version__,
               "date": datetime.date.today().isoformat(),
               "lemma": call([flags.lemma, "--version"]).splitlines()}
    flags.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
