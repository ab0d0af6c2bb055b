"""Measures errors of models in the precisions of CUDA's products; see tools/bench --help."""

import argparse
import datetime
import json
import pathlib
import sys
import tempfile
import time

from bench_inference import machine
from bench_kernels import MODELS, ROOT, STEPS, call, path_of


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


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench precision")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default=",".join([*MODELS, *(f"{s}.step" for s in STEPS)]))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "data/measurements/precision.json")
    flags = parser.parse_args(arguments)
    report = {"machine": machine(flags.lemma), "rows": []}
    if flags.out.exists():  # an interrupted run goes on
        before = json.loads(flags.out.read_text())
        if before["machine"]["lemma"] == report["machine"]["lemma"]:
            report["rows"] = before["rows"]
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
    print(f"written to {flags.out}")
    within = all(r["largest"] is not None and r["largest"] <= r["allowed"]
                 for row in report["rows"] for r in row["rows"])
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
