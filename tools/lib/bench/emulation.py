"""Executes models with their CUDA kernels, emulated on the host; see tools/bench --help."""

import argparse
import concurrent.futures
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from bench.inference import machine
from bench.kernels import MODELS, ROOT, STEPS, path_of

EMULATE = ROOT / "bazel-bin/tests/bench/emulate_model"


def measure(flags, name):
    """A row for each plan of the model: its errors against f64."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        path = path_of(flags.lemma, name, pathlib.Path(work))
        # In the root, where the emulator's header is.
        done = subprocess.run([EMULATE, path], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=flags.seconds)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{name}: {done.stderr.strip()}")
    return {"model": name, "date": datetime.date.today().isoformat(),
            "plans": [json.loads(line) for line in done.stdout.splitlines()],
            "wall_seconds": time.monotonic() - start}


def shown(plan):
    """The JSON has null for an infinite error."""
    error = "infinite" if plan["relative"] is None else f"{plan['relative']:.1e}"
    return f"sm_{plan['architecture']} {plan['precision']} {error}"


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench emulation")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default=",".join([*MODELS, *(f"{s}.step" for s in STEPS)]))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=7200)
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "data/measurements/emulation.json")
    flags = parser.parse_args(arguments)
    report = {"machine": machine(flags.lemma), "rows": []}
    if flags.out.exists():  # an interrupted run goes on, also on another machine
        before = json.loads(flags.out.read_text())
        if before["machine"]["lemma"][0] == report["machine"]["lemma"][0]:  # the version
            report["rows"] = before["rows"]
    done = {row["model"] for row in report["rows"]}
    lock = threading.Lock()

    def run(name):
        row = measure(flags, name)
        with lock:
            report["rows"].append(row)
            flags.out.write_text(json.dumps(report, indent=1) + "\n")
            print(f"{name:<18}{row['wall_seconds']:.0f} s: "
                  + ", ".join(shown(plan) for plan in row["plans"]), flush=True)

    with concurrent.futures.ThreadPoolExecutor(flags.threads) as pool:
        list(pool.map(run, [name for name in flags.models.split(",") if name not in done]))
    print(f"written to {flags.out}")
    within = all(plan["tolerance_used"] is not None and plan["tolerance_used"] <= 1
                 for row in report["rows"] for plan in row["plans"])
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
