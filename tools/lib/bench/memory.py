"""Measures training steps under memory limits; see tools/bench --help."""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import tempfile

import torch

from bench import training as bench_training
import check_training

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARES = [60, 40, 25]  # of the unlimited peak, in percent


def prepare(flags, name, folder):
    """Writes the model's step and returns it, its initial state, and the flags that run it."""
    torch.manual_seed(1)
    module, batch, labels = bench_training.CASES[name]()
    check_training.without_dropout(module)
    model, step = folder / "model.onnx", folder / "step.pb"
    check_training.export(module, batch, model)
    loss = "mse" if labels.is_floating_point() else "cross-entropy"
    bench_training.call([flags.lemma, "train", model, f"--loss={loss}", "--update=sgd",
                         "--momentum=0.9", "-o", step])
    return step, folder / "step.pb.safetensors"


def limited(flags, step, limit, out):
    """The step with values computed again so that it keeps to the limit; the optimizer's report."""
    command = [flags.lemma, "optimize", step, "-o", out, "--json", "--memory-limit", f"{limit // 1024}K",
               "--numerics", "exact", "--budget", 1, "--runs", 3, "--int-range", 1000,
               "--certificate", "none"]
    if flags.costs:
        command += ["--cost-db", flags.costs]
    return json.loads(bench_training.call(command))


def state_after(flags, step, state, folder):
    """The tensors after three steps, as bytes."""
    checkpoint = folder / "checkpoint.safetensors"
    bench_training.call([flags.lemma, "run", step, "--steps", 3, "--state", state, "--checkpoint",
                         checkpoint, "--int-range", 1000, "--set", "lr=0.001"])
    data = checkpoint.read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


def measure(flags, name, folder):
    step, state = prepare(flags, name, folder)
    wanted = state_after(flags, step, state, folder)
    runs = {100: bench_training.LemmaStep(flags.lemma, step, state, 1)}
    runs[100].run(1)
    peak = runs[100].peak_bytes
    row = {"model": name, "points": []}
    points = {100: {"recomputed": 0, "identical": True}}
    for share in SHARES:
        out = folder / f"step_{share}.pb"
        try:
            report = limited(flags, step, peak * share // 100, out)
        except RuntimeError as error:
            points[share] = {"failed": str(error).split(": ", 1)[-1]}
            continue
        runs[share] = bench_training.LemmaStep(flags.lemma, out, state, 1)
        points[share] = {"recomputed": report["recomputed_operators"],
                         "identical": state_after(flags, out, state, folder) == wanted}
    times = {share: [] for share in runs}
    for _ in range(flags.rounds):
        for share, run in runs.items():
            times[share].append(statistics.median(run.run(flags.steps)))
    for share, point in points.items():
        if share in runs:
            point["peak_bytes"] = runs[share].peak_bytes
            point["ms"] = statistics.median(times[share])
            point["ratio"] = statistics.median(
                a / b for a, b in zip(times[share], times[100]))
        row["points"].append({"share": share, **point})
    return row


def cells(row):
    for point in row["points"]:
        if "failed" in point:
            yield [row["model"], f"{point['share']} %", "", "", "", "", point["failed"]]
            continue
        yield [row["model"], f"{point['share']} %", f"{point['peak_bytes'] / 1e6:.1f}",
               f"{point['ms']:.0f}", f"{point['ratio']:.2f}", str(point["recomputed"]),
               "identical" if point["identical"] else "DIFFERS"]


def plot(rows):
    """Time against peak, each to its own unlimited one."""
    left, top, width, height = 60, 20, 420, 260
    colors = ["#1b6ca8", "#b8432f", "#3a7d44", "#7b4ea3"]
    most = max(p["ratio"] for row in rows for p in row["points"] if "ratio" in p)
    high = max(1.5, most)

    def place(share, ratio):
        return left + width * share / 100, top + height * (high - ratio) / (high - 0.9)

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" font-family="sans-serif"'
           f' font-size="12"><rect width="640" height="330" fill="white"/>']
    for share in (25, 40, 60, 100):
        x, _ = place(share, 1)
        svg.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{top}" y2="{top + height}" stroke="#ddd"/>'
                   f'<text x="{x:.0f}" y="{top + height + 16}" text-anchor="middle">{share} %</text>')
    for tenth in range(9, int(high * 10) + 1):
        _, y = place(0, tenth / 10)
        svg.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{tenth / 10:.1f}</text>')
    svg.append(f'<text x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">'
               "peak memory of values, of the unlimited step's</text>")
    svg.append(f'<text x="16" y="{top + height / 2}" text-anchor="middle" '
               f'transform="rotate(-90 16 {top + height / 2})">time of a step</text>')
    for row, color in zip(rows, colors):
        points = [(100 * p["peak_bytes"] / row["points"][0]["peak_bytes"], p["ratio"])
                  for p in row["points"] if "ratio" in p]
        path = " ".join("{:.1f},{:.1f}".format(*place(*p)) for p in points)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        at = top + 14 + 18 * rows.index(row)
        svg.append(f'<text x="{left + width + 10}" y="{at}" fill="{color}">{row["model"]}</text>')
    return "\n".join([*svg, "</svg>"]) + "\n"


COLUMNS = ["model", "limit", "peak MB", "step ms", "to unlimited", "operators again",
           "state after 3 steps"]


def main():
    parser = argparse.ArgumentParser(prog="tools/bench memory")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", type=lambda s: s.split(","), default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--costs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/memory.json")
    flags = parser.parse_args()
    names = [n for n in bench_training.CASES if not flags.models or n.split(",")[0] in flags.models]
    if not names:
        parser.error(f"the models are: {', '.join(n.split(',')[0] for n in bench_training.CASES)}")
    print("|", " | ".join(COLUMNS), "|")
    print("|" + "---|" * len(COLUMNS), flush=True)
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(flags, name, pathlib.Path(folder)))
        for line in cells(rows[-1]):
            print("|", " | ".join(line), "|", flush=True)
    date = datetime.date.today().isoformat()
    flags.out.write_text(json.dumps({"date": date, "rows": rows}, indent=1) + "\n")
    flags.out.with_suffix(".svg").write_text(plot(rows))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
