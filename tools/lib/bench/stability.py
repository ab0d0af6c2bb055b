"""Optimizes models repeatedly, on a quiet and on a busy machine; see tools/bench --help."""

import argparse
import collections
import contextlib
import datetime
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from bench.inference import Server, alternate
from bench.search import EXPORTED, ROOT, machine

MODELS = (
    "resnet18 resnet50 squeezenet1_1 mobilenet_v2 shufflenet_v2 efficientnet_b0 densenet121"
    " bert_2layer"
).split()
# Results are compared in this many fresh processes each: where memory lies changes times.
PROCESSES = 10
# Walks over 64 MB again and again.
BUSY = "a = bytearray(1 << 26)\nwhile True:\n  b = bytes(a)\n"


@contextlib.contextmanager
def load(is_busy):
    """Keeps all cores and the memory busy, if asked to."""
    count = os.cpu_count() if is_busy else 0
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def optimize(flags, model, costs, out):
    """Returns the report of `lemma optimize`, and the hash of the graph it wrote."""
    command = [flags.lemma, "optimize", model, "-o", out, "--json", "--cost-db", costs]
    done = subprocess.run([*command, *flags.optimize], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    certificate = pathlib.Path(f"{out}.cert").read_text()
    graph = re.search(r"^output \w+ graph (\w+)$", certificate, re.MULTILINE).group(1)
    return json.loads(done.stdout), graph


def predicted(flags, model, costs, work):
    """The price of a model by a database."""
    report, _ = optimize(flags, model, costs, work / "priced.onnx")
    return report["predicted_ms_before"]


def interval(a, b):
    """The 95 % interval of the median of paired ratios (by the sign test)."""
    ratios = sorted(x / y for x, y in zip(a, b))
    n = len(ratios)
    # The k-th smallest and largest, where at most 2.5 % of n fair coins fall below k.
    total, k = 0.0, 0
    while total + math.comb(n, k) / 2**n <= 0.025:
        total += math.comb(n, k) / 2**n
        k += 1
    k = max(k, 1)
    return [ratios[k - 1], ratios[n // 2], ratios[n - k]]


def paired(flags, results, base):
    """By hash: how many times as long a result takes as `base`, executed in turn."""
    if len(results) == 1:
        return {}
    medians = {graph: [] for graph in results}
    for _ in range(PROCESSES):
        servers = {}
        try:
            for graph, path in results.items():
                servers[graph] = Server([flags.lemma, "run", str(path), "--serve"])
            for graph, times in alternate(servers, flags.rounds // PROCESSES).items():
                medians[graph] += times
        finally:
            for server in servers.values():
                server.close()
    return {graph: interval(medians[graph], medians[base]) for graph in results if graph != base}


def measure(flags, name, work):
    model = EXPORTED / f"{name}.onnx"
    quiet = work / f"{name}.sqlite"
    results = {}  # by hash: a file
    runs = []
    for i in range(flags.runs):
        # The first, quiet one makes the database by which all results are priced.
        costs = quiet if i == 0 else work / f"{name}_{i}.sqlite"
        out = work / f"{name}_{i}.onnx"
        with load(i % 2 == 1):
            report, graph = optimize(flags, model, costs, out)
        results.setdefault(graph, out)
        runs.append(
            {
                "busy": i % 2 == 1,
                "graph": graph,
                "operators": report["operators_after"],
                "search_seconds": report["search_seconds"],
                "ratio": report["ratio"],
                "rules": report["rules"],
            }
        )
    prices = {graph: predicted(flags, out, quiet, work) for graph, out in results.items()}
    least = min(prices.values())
    most = collections.Counter(run["graph"] for run in runs).most_common(1)[0][0]
    return {
        "model": name,
        "date": datetime.date.today().isoformat(),
        "flags": flags.optimize,
        "runs": runs,
        "distinct": len(results),
        "prices_ms": prices,
        "spread": max(prices.values()) / least - 1,
        "paired": paired(flags, results, most),
    }


COLUMNS = ["model", "runs", "results", "of the most frequent", "operators", "spread of prices",
           "others / most frequent", "search s, quiet", "search s, busy"]  # fmt: skip


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def cells(row):
    counts = collections.Counter(run["graph"] for run in row["runs"]).most_common()
    operators = sorted({run["operators"] for run in row["runs"]})
    return [
        row["model"],
        str(len(row["runs"])),
        str(row["distinct"]),
        str(counts[0][1]),
        ", ".join(map(str, operators)),
        f"{100 * row['spread']:.1f} %",
        ", ".join(f"{mid:.3f} ({low:.3f} to {high:.3f})" for low, mid, high in row["paired"].values())
        or "-",
        *[
            f"{median([r['search_seconds'] for r in row['runs'] if r['busy'] == busy]):.1f}"
            for busy in (False, True)
        ],
    ]


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench stability")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", type=lambda s: s.split(","), default=MODELS)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument(
        "--out", type=pathlib.Path, default=ROOT / "data/measurements/stability.json"
    )
    flags, flags.optimize = parser.parse_known_args()
    if flags.runs < 2:
        parser.error("--runs: must be at least 2")
    if flags.rounds < PROCESSES:
        parser.error(f"--rounds: must be at least {PROCESSES}")
    return flags


def main():
    flags = parse()
    subprocess.run([ROOT / "tools/export_models", *flags.models], stdout=sys.stderr, check=True)
    rows = []
    print("|", " | ".join(COLUMNS), "|")
    print("|" + "---|" * len(COLUMNS), flush=True)
    for name in flags.models:
        with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
            rows.append(measure(flags, name, pathlib.Path(work)))
        print("|", " | ".join(cells(rows[-1])), "|", flush=True)
        result = {"machine": machine(flags.lemma), "rows": rows}
        flags.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
