"""Checks and compiles the CUDA kernels of models in every precision; see tools/bench --help."""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from bench.inference import machine

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPORTED = pathlib.Path.home() / ".cache/lemma/models"
MODELS = (
    "taso_bert nasrnn squeezenet1_1 shufflenet_v2 mobilenet_v2 bert_2layer resnet18 "
    "efficientnet_b0 densenet121 resnet50 resnext50 bert_base inception_v3 vit_b_16 nasnet_a "
    "vgg16 csrnet vgg19 inception_v3_batch16"
).split()
# Of a model in data/models/light or, if there is none of the name, of an exported one; with the
# loss and the update.
STEPS = {"resnet50": ("cross-entropy", "sgd", "--momentum=0.9"),
         "squeezenet": ("cross-entropy", "sgd", "--momentum=0.9"),
         "bert_2layer": ("mse", "adamw")}
PRECISIONS = ("f32", "f32x3", "tf32", "f16", "bf16")
ARCHITECTURES = (80, 90)


def path_of(lemma, name, folder):
    """The model's file; a step of training is made first."""
    if not name.endswith(".step"):
        return EXPORTED / f"{name}.onnx"
    step = folder / "step.pb"
    name = name[:-len(".step")]
    loss, update, *options = STEPS[name]
    light = ROOT / f"data/models/light/light_{name}.onnx"
    model = light if light.exists() else EXPORTED / f"{name}.onnx"
    subprocess.run([lemma, "train", model, f"--loss={loss}", f"--update={update}", *options, "-o",
                    step], check=True, stdout=subprocess.DEVNULL)
    return step


def call(command, seconds):
    """The JSON that the command prints, also if its exit status says that something is wrong."""
    done = subprocess.run([*map(str, command), "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=seconds)
    if not done.stdout:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(flags, path, architecture, precision):
    start = time.monotonic()
    command = [flags.lemma, "check", path, "--kernels", "--compile", "--seed=1",
               f"--precision={precision}", f"--architecture={architecture}",
               f"--threads={flags.threads}"]
    try:
        checked = call(command, flags.seconds)
    except subprocess.TimeoutExpired:
        return {"seconds": flags.seconds, "finished": False}
    row = {"finished": True, "wall_seconds": time.monotonic() - start,
           "kernels": checked["kernels"], "right": checked["agree"], "problem": checked["problem"],
           "programs": len(checked["programs"]),
           "tensor_programs": sum(" in " in p["schedule"] for p in checked["programs"]),
           "seconds": sum(p["seconds"] for p in checked["programs"])}
    if architecture == 90:  # the plan of a machine without a device
        plan = call([flags.lemma, "show", path, "--plan=cuda", f"--precision={precision}"], 600)
        row["peak_bytes"] = plan["peak_bytes"]
    return row


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench kernels")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default=",".join([*MODELS, *(f"{s}.step" for s in STEPS)]))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/kernels.json")
    flags = parser.parse_args(arguments)
    report = {"machine": machine(flags.lemma), "rows": []}
    if flags.out.exists():  # an interrupted run goes on, also on another machine
        before = json.loads(flags.out.read_text())
        if before["machine"]["lemma"][0] == report["machine"]["lemma"][0]:  # the version
            report["rows"] = before["rows"]
    done = {(r["model"], r["architecture"], r["precision"]) for r in report["rows"]}
    for name in flags.models.split(","):
        with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
            path = None
            for architecture in ARCHITECTURES:
                for precision in PRECISIONS:
                    if (name, architecture, precision) in done:
                        continue
                    path = path or path_of(flags.lemma, name, pathlib.Path(work))
                    row = measure(flags, path, architecture, precision)
                    report["rows"].append({"model": name, "architecture": architecture,
                                           "precision": precision,
                                           "processor": report["machine"]["processor"],
                                           "date": datetime.date.today().isoformat(), **row})
                    flags.out.write_text(json.dumps(report, indent=1) + "\n")
                    print(f"{name:<18}sm_{architecture}  {precision:<6}"
                          + (f"{row['right']} of {row['kernels']} right, {row['wall_seconds']:.1f} s"
                             if row["finished"] else f"not done in {flags.seconds} s"), flush=True)
    print(f"written to {flags.out}")
    right = all(row["finished"] and row["right"] == row["kernels"] for row in report["rows"])
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
