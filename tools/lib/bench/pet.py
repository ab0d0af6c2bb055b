"""Optimizes with and without PET and measures both; see tools/bench --help."""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPORTED = pathlib.Path.home() / ".cache/lemma/models"
COLUMNS = [
    "model", "fusion", "nothing ms", "rules: predicted ms", "measured ms", "gain",
    "PET and rules: predicted ms", "measured ms", "gain", "PET's steps", "search s",
]  # fmt: skip


def conv(shape, w, **attrs):
    """A graph of one convolution with a bias and a relu."""
    text = ", ".join(f"{name} = {value}" for name, value in attrs.items())
    return (
        f"graph conv(x: f32{shape}, w: weight f32{w} = fill 0.1, b: weight f32[{w[0]}] = fill 0.1)"
        f" {{\n  y = conv2d(x, w, b) {{{text}}}\n  z = relu(y)\n  return z\n}}\n"
    )


def csrnet_back():
    """The six dilated convolutions of CSRNet alone, on 512 x 14 x 14."""
    inputs, body, at, channels = ["x: f32[1,512,14,14]"], [], "x", 512
    for i, out in enumerate([512, 512, 512, 256, 128, 64]):
        inputs.append(f"w{i}: weight f32[{out},{channels},3,3] = fill 0.1")
        inputs.append(f"b{i}: weight f32[{out}] = fill 0.1")
        body.append(f"c{i} = conv2d({at}, w{i}, b{i}) {{pads = [2,2,2,2], dilations = [2,2]}}")
        body.append(f"y{i} = relu(c{i})")
        at, channels = f"y{i}", out
    return f"graph csrnet({', '.join(inputs)}) {{\n" + "\n".join(body) + f"\nreturn {at} }}\n"


def training_step(lemma, make, folder):
    """A step of training of make(), without kinks, at which rounding decides gradients."""
    import torch

    import check_training

    torch.manual_seed(1)
    module, batch, _ = check_training.without_kinks(lambda: (*make(), None))()
    check_training.without_dropout(module)
    check_training.export(module, batch, folder / "model.onnx")
    subprocess.run([lemma, "train", folder / "model.onnx", "--loss=cross-entropy", "--update=sgd",
                    "--momentum=0.9", "-o", folder / "step.pb"],
                   stdout=subprocess.DEVNULL, check=True)  # fmt: skip
    return folder / "step.pb"


def torchvision(name, *shape):
    def made():
        import torch
        from torchvision import models

        return getattr(models, name)(), torch.randn(*shape)
    return made


# By name: a function that makes a module and a batch.
STEPS = {
    "squeezenet1_1 step": torchvision("squeezenet1_1", 4, 3, 96, 96),
    "resnet18 step": torchvision("resnet18", 4, 3, 96, 96),
}

# Text of a graph, or None: an exported model.
CASES = {
    "dilated 512x14x14": conv([1, 512, 14, 14], [512, 512, 3, 3],
                              pads=[2, 2, 2, 2], dilations=[2, 2]),
    "split 48x38x38": conv([1, 48, 38, 38], [64, 48, 3, 3], pads=[1, 1, 1, 1]),
    "batch 16x512x7x7": conv([16, 512, 7, 7], [512, 512, 3, 3], pads=[1, 1, 1, 1]),
    "stride 2 64x56x56": conv([1, 64, 56, 56], [128, 64, 3, 3],
                              pads=[1, 1, 1, 1], strides=[2, 2]),
    "grouped 256x14x14": conv([1, 256, 14, 14], [256, 8, 3, 3],
                              pads=[1, 1, 1, 1], groups=32),
    "batch 8x256x5x5": conv([8, 256, 5, 5], [256, 256, 3, 3], pads=[1, 1, 1, 1]),
    "depthwise 128x28x28": conv([1, 128, 28, 28], [128, 1, 3, 3],
                                pads=[1, 1, 1, 1], groups=128),
    "csrnet_back": csrnet_back(),
    "csrnet": None,
    "taso_bert": None,
    "bert_base": None,
    "resnet18": None,
    "resnext50": None,
    "inception_v3": None,
    "inception_v3_batch16": None,
}  # fmt: skip


def optimize(flags, model, costs, out, pet, fusion):
    weights = [] if model.suffix == ".pb" else ["--reseed-weights=1"]
    command = [flags.lemma, "optimize", model, "-o", out, "--json", "--runs", str(flags.runs)]
    command += ["--cost-db", costs, f"--pet={pet}", f"--fusion={fusion}", *weights, *flags.optimize]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    report = json.loads(done.stdout)
    if not report["difference"] <= report["allowed"]:  # optimize refuses such a result itself
        raise RuntimeError(f"{model}: outputs differ by {report['difference']}")
    return report


def measure(flags, name, work):
    """Rows of the case `name`, one with each fusion."""
    model = work / "model.lemma"
    if name in STEPS:
        model = training_step(flags.lemma, STEPS[name], work)
    elif CASES[name] is None:
        model = EXPORTED / f"{name}.onnx"
    else:
        model.write_text(CASES[name])
    folder = flags.costs or work
    costs = folder / f"{name.replace(' ', '_')}.sqlite"
    for fusion in ["on", "off"] if flags.fusion == "both" else [flags.fusion]:
        row = {"model": name, "fusion": fusion, "date": datetime.date.today().isoformat()}
        for pet in ["off", "on"]:
            row[pet] = optimize(flags, model, costs, work / "out.pb", pet, fusion)
        row["load"] = os.getloadavg()[0]  # our own share is 1
        yield row


def percent(report):
    return f"{100 * (report['ms_before'] / report['ms_after'] - 1):.1f} %"


def cells(row):
    off, on = row["off"], row["on"]
    steps = sum(n for rule, n in on["rules"].items() if rule.startswith("pet_"))
    result = [row["model"], row["fusion"], f"{off['ms_before']:.3f}"]
    for report in [off, on]:
        result += [f"{report['predicted_ms_after']:.3f}", f"{report['ms_after']:.3f}",
                   percent(report)]  # fmt: skip
    return result + [f"{steps}", f"{on['search_seconds']:.1f}"]


def write(flags, rows, failed):
    """Writes the rows, beside those of other models, and of the other fusion, that the file has."""
    new = {(row["model"], row["fusion"]): row for row in rows}
    if flags.out.exists():
        for row in json.loads(flags.out.read_text())["rows"]:
            new.setdefault((row["model"], row["fusion"]), row)
    flags.out.write_text(json.dumps({"rows": list(new.values()), "failed": failed}, indent=1) + "\n")


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench pet")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", type=lambda s: s.split(","), default=[*CASES, *STEPS])
    parser.add_argument("--fusion", choices=["on", "off", "both"], default="on")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--costs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/pet.json")
    flags, flags.optimize = parser.parse_known_args()
    unknown = [name for name in flags.models if name not in [*CASES, *STEPS]]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; the models are: {', '.join([*CASES, *STEPS])}")
    return flags


def main():
    flags = parse()
    exported = [name for name in flags.models if CASES.get(name, "") is None]
    if exported:
        subprocess.run([ROOT / "tools/export_models", *exported], stdout=sys.stderr, check=True)
    rows, failed = [], []
    print("|", " | ".join(COLUMNS), "|")
    print("|" + "---|" * len(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        work = pathlib.Path(work)
        if flags.costs:
            flags.costs.mkdir(parents=True, exist_ok=True)
        for name in flags.models:
            try:
                for row in measure(flags, name, work):
                    rows.append(row)
                    print("|", " | ".join(cells(row)), "|", flush=True)
            except RuntimeError as error:
                failed.append(f"{name}: {error}")
                print(f"bench: {failed[-1]}", file=sys.stderr, flush=True)
            write(flags, rows, failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
