"""Judges what ONNX Runtime makes of models; see tools/check_referee --help."""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

from bench import inference as bench_inference
import referee_faults

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXPORTED = pathlib.Path.home() / ".cache/lemma/models"
SAVED = pathlib.Path.home() / ".cache/lemma/referee"
LEVELS = ["basic", "extended", "all"]  # of ONNX Runtime
# Arguments of torch.onnx.export; "plain" is what the others are compared with.
EXPORTS = {"plain": "do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE",
           "folded": "do_constant_folding=True, training=torch.onnx.TrainingMode.PRESERVE",
           "eval": "do_constant_folding=False, training=torch.onnx.TrainingMode.EVAL"}


def export(name):
    """Exports the module with each of EXPORTS: the same weights, which another process may round
    otherwise."""
    paths = {level: str(SAVED / f"{name}_{level}.onnx") for level in EXPORTS}
    calls = "\n".join(f"    torch.onnx.export(module, inputs, {paths[level]!r}, input_names=names, "
                      f"output_names=['output'], opset_version=export_models.OPSET, {arguments})"
                      for level, arguments in EXPORTS.items())
    script = f"""
import sys, warnings, torch
sys.path.insert(0, {str(ROOT / "tools/lib")!r})
warnings.filterwarnings("ignore")
import export_models
with torch.no_grad():
    module, inputs = export_models.build({name!r})
names = ["input"] if len(inputs) == 1 else [f"input_{{i}}" for i in range(len(inputs))]
with torch.enable_grad():
{calls}
"""
    subprocess.run([sys.executable, "-c", script], check=True, stderr=subprocess.DEVNULL)


def open_models():
    """Exports models with symbolic sizes; returns their paths and the flags with their ranges."""
    import torch  # exporting only

    import check_sizes
    import sizes_zoo
    models = {}
    with torch.no_grad():
        for name in OPEN:
            folder = SAVED / "open" / name
            path = folder / f"{name}_open.onnx"
            if not path.exists():
                check_sizes.Model(name, folder).path.rename(path)
            ranges = sizes_zoo.MODELS[name].ranges
            models[path] = [f"--range={dim}={sizes}" for dim, sizes in ranges.items()]
    return models


def saved_pair(model, level, lemma, ranges=()):
    """Returns the paths of a model and of what ONNX Runtime, PyTorch or Lemma makes of it."""
    SAVED.mkdir(parents=True, exist_ok=True)
    path = SAVED / f"{model.stem}_{level}.onnx"
    before = SAVED / f"{model.stem}_plain.onnx" if level in EXPORTS else model
    if path.exists() and before.exists() and path.stat().st_mtime >= model.stat().st_mtime:
        return before, path
    if level in EXPORTS:
        export(model.stem)
    elif level == "lemma":
        command = [lemma, "optimize", model, "-o", path, "--seconds", "20", *ranges]
        if ranges or model.stem.endswith("_open"):
            # Nothing is measured, so that costs are the same on every machine.
            command += ["--execution", "off", "--effort", "quick",
                        "--cost-db", SAVED / "open" / "costs.sqlite"]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    else:
        command = [ROOT / "tools/ort_run", "optimize", model, "--optimize", level, "--out", path]
        subprocess.run(list(map(str, command)), check=True)
    return before, path


def check(flags, before, after, certificate):
    """Repeats the proof from its certificate."""
    start = time.monotonic()
    done = subprocess.run([flags.lemma, "check", before, after, certificate, "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = round(time.monotonic() - start, 1)
    problem = json.loads(done.stdout)["problem"] if done.returncode in (0, 1) else done.stderr.strip()
    return {"checked": problem or "yes", "check_seconds": seconds}


def judge(flags, model, level, ranges=()):
    """Returns a row: the verdict and what it rests on."""
    before, after = saved_pair(model, level, flags.lemma, ranges)
    command = [flags.lemma, "referee", str(before), str(after), "--json", *ranges]
    certificate = SAVED / f"{model.stem}_{level}.verdict"
    command += ["--time-limit", str(flags.seconds), "--certificate", str(certificate)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    row = {"model": model.stem, "level": level}
    if done.returncode not in (0, 1, 4):
        return {**row, "verdict": "error", "reason": done.stderr.strip().replace(f"{SAVED}/", "")}
    report = json.loads(done.stdout)
    row.update(verdict=report["verdict"], contract=report.get("contract", ""))
    row["sizes"] = report.get("coverage", "").partition(", for all ")[2]
    row.update(regions=len(report["regions"]), seconds=round(report["seconds"], 1))
    weights = [weight for weight in report["weights"] if "ulps" in weight]
    row["weights_copied"] = sum(weight["exact"] for weight in weights)
    row["weights_computed"] = sum(not weight["exact"] for weight in weights)
    row["ulps"] = round(max([weight["ulps"] for weight in weights], default=0), 2)
    row["reason"] = report.get("reason", "")
    if row["verdict"] == "proved":
        row.update(check(flags, before, after, certificate))
    row["open"] = [f"{o['before']} = {o['after']}: {o['reason']}" for o in report["open"]][:3]
    return row


# Models of tools/lib/sizes_zoo.py, with --open.
OPEN = ["encoder", "resnet18", "decoder", "unet", "unet_nearest"]
COLUMNS = ["model", "level", "verdict", "contract", "regions", "weights_copied",
           "weights_computed", "ulps", "seconds", "checked", "check_seconds"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", type=lambda s: s.split(","), default=[])
    parser.add_argument("--levels", type=lambda s: s.split(","), default=[*LEVELS, "folded", "eval", "lemma"])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", type=lambda s: s.split(","), default=[])
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    flags = parser.parse_args()
    found = {path.stem: path for path in sorted(EXPORTED.glob("*.onnx"))}
    unknown = [name for name in flags.models if name not in found]
    if unknown:
        raise SystemExit(f"check_referee: not exported: {', '.join(unknown)}; "
                         f"there are {', '.join(found) or 'none'}")
    if flags.resume and not (flags.faults and flags.out):
        raise SystemExit("check_referee: --resume goes on with --faults in --out FILE; give both")
    if flags.faults:
        pairs = [(found[name], *saved_pair(found[name], level, flags.lemma))
                 for name in flags.models or found for level in flags.levels]
        faults, _ = referee_faults.inject(flags, pairs, flags.faults)
        return any(fault["verdict"] == "proved" for fault in faults)
    rows = []
    columns = [*COLUMNS, "sizes"] if flags.open else COLUMNS
    print("|", " | ".join(columns), "|")
    print("|" + "---|" * len(columns), flush=True)
    models = open_models() if flags.open else {found[name]: () for name in flags.models or found}
    if flags.open:
        flags.levels = [level for level in flags.levels if level not in EXPORTS]
    for model, ranges in models.items():
        for level in flags.levels:
            row = judge(flags, model, level, ranges)
            rows.append(row)
            print("|", " | ".join(str(row.get(column, "")) for column in columns), "|", flush=True)
            if row.get("reason"):
                print(f"    {row['reason']}", *row.get("open", []), sep="\n    ", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    report = {"machine": bench_inference.machine(flags.lemma), "peak_memory_gib": round(peak, 2), "rows": rows}
    name = "referee_open.json" if flags.open else "referee.json"
    out = flags.out or ROOT / "data/measurements" / name
    out.write_text(json.dumps(report, indent=1) + "\n")
    return any(row["verdict"] == "refuted" or row.get("checked", "yes") != "yes" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
