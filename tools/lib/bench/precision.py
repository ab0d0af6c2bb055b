"""Measures errors of models in the precisions of CUDA's products; see tools/bench --help."""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

from bench.inference import machine
from bench.kernels import MODELS, ROOT, STEPS, call, path_of

FORMS = ("tf32", "f16", "bf16")  # of lemma quantize
FRESH = range(101, 105)  # seeds of samples; lemma quantize draws its own from others


def shown(row):
    """The JSON has null for an infinite error."""
    return "infinite" if row["largest"] is None else f"{row['largest']:.1e}"


def measure(flags, path):
    start = time.monotonic()
    measured = call([flags.lemma, "precision", path, "--seed=1", f"--threads={flags.threads}"],
                    flags.seconds)
    for row in measured["rows"]:
        del row["errors"]  # of each output: a step of training has hundreds
    return {**measured, "wall_seconds": time.monotonic() - start}


def outputs_of(flags, model, backend, seed, folder):
    """The model's outputs for random inputs, as arrays of f64."""
    subprocess.run([flags.lemma, "run", model, f"--backend={backend}", f"--seed={seed}", "--runs=1",
                    f"--threads={flags.threads}", f"--outputs={folder}", "--npy"], check=True,
                   stdout=subprocess.DEVNULL, timeout=flags.seconds)
    files = sorted(folder.glob("output_*.npy"), key=lambda path: int(path.stem[len("output_"):]))
    return [numpy.load(path).astype(numpy.float64) for path in files]


def error_against_f64(flags, model, rounded, folder):
    """The relative error of the worst output over samples that lemma quantize has not seen. The
    outputs of `model` that it is compared with are those of its definitions in f64."""
    differences, squares = {}, {}
    for seed in FRESH:
        expected = outputs_of(flags, model, "reference-f64", seed, folder / f"expected_{seed}")
        actual = outputs_of(flags, rounded, "cpu", seed, folder / f"actual_{seed}")
        for k, (y, r) in enumerate(zip(actual, expected, strict=True)):
            differences[k] = differences.get(k, 0) + float(((y - r) ** 2).sum())
            squares[k] = squares.get(k, 0) + float((r ** 2).sum())
    return max((difference / squares[k]) ** 0.5 if difference else 0.0
               for k, difference in differences.items())


def keep_budget(flags, path, form, folder):
    """How many products lemma quantize rounds within the budget, by their errors alone, and the
    error of the result."""
    start = time.monotonic()
    result = call([flags.lemma, "quantize", path, "-o", folder / "rounded.onnx", f"--form={form}",
                   f"--max-error={flags.max_error}", "--calibration=synthetic:4", "--runs=0",
                   "--seed=1", f"--threads={flags.threads}"], flags.seconds)
    seconds = time.monotonic() - start
    quantized = [op["quantized"] for op in result["operators"]]
    written = folder / "rounded.onnx" if result["written"] else path
    return {"form": form, "max_error": flags.max_error, "products": sum(quantized),
            "of": len(quantized), "error": result["worst"] if result["written"] else 0,
            "error_f64": error_against_f64(flags, path, written, folder), "wall_seconds": seconds}


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench precision")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default=",".join([*MODELS, *(f"{s}.step" for s in STEPS)]))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--max-error", type=float, default=0.001)
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "data/measurements/precision.json")
    flags = parser.parse_args(arguments)
    report = {"machine": machine(flags.lemma), "rows": [], "budgets": []}
    if flags.out.exists():  # an interrupted run goes on, also on another machine
        before = json.loads(flags.out.read_text())
        if before["machine"]["lemma"][0] == report["machine"]["lemma"][0]:  # the version
            report["rows"], report["budgets"] = before["rows"], before.get("budgets", [])
    done = {row["model"] for row in report["rows"]}
    for name in flags.models.split(","):
        if name in done:
            continue
        with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
            row = measure(flags, path_of(flags.lemma, name, pathlib.Path(work)))
        report["rows"].append({"model": name, "date": datetime.date.today().isoformat(), **row})
        flags.out.write_text(json.dumps(report, indent=1) + "\n")
        print(f"{name:<18}" + "  ".join(f"{r['precision']} {shown(r)}" for r in row["rows"]),
              flush=True)
    kept = {(row["model"], row["form"], row["max_error"]) for row in report["budgets"]
            if "error_f64" in row}
    for name in flags.models.split(","):
        for form in () if name.endswith(".step") else FORMS:
            if (name, form, flags.max_error) in kept:
                continue
            with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
                row = keep_budget(flags, path_of(flags.lemma, name, pathlib.Path(work)), form,
                                  pathlib.Path(work))
            same = (name, form, flags.max_error)  # of before there were errors against f64
            report["budgets"] = [b for b in report["budgets"]
                                 if (b["model"], b["form"], b["max_error"]) != same]
            report["budgets"].append({"model": name, "date": datetime.date.today().isoformat(),
                                      **row})
            flags.out.write_text(json.dumps(report, indent=1) + "\n")
            print(f"{name:<18}{form:<5} {row['products']} of {row['of']} products within "
                  f"{row['max_error']}: {row['error']:.1e}, {row['error_f64']:.1e} against f64",
                  flush=True)
    print(f"written to {flags.out}")
    within = all(r["tolerance_used"] is not None and r["tolerance_used"] <= 1
                 for row in report["rows"] for r in row["rows"])
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
