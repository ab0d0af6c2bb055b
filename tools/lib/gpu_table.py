"""Prints the tables of docs/cuda.md and the README from measurements of gpu_check.

Usage: gpu_table.py [GPU.json] [--only X,...]

GPU.json is data/measurements/gpu_h100.json by default. Times are milliseconds on the device; "by"
is PyTorch's time / min(Lemma, optimized).
"""

import argparse
import json
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["model", "kernels", "ours", "optimized", "PyTorch", "torch.compile", "by PyTorch",
           "by torch.compile", "peak MB", "MFU"]
STEP = ".step"


def rows_of(report):
    """One dict per model and step, in the order of the report."""
    measured = {row["model"]: row for row in report["models"] if row.get("device_ms")}
    peers = {(row["model"], row["mode"]): row["ms"]
             for row in report.get("peers", {}).get("rows", []) if row.get("ms")}
    rows = []
    for name, row in measured.items():
        if name.endswith(".optimized") or name.endswith(", generated"):
            continue
        better = measured.get(f"{name}.optimized")
        step = name.endswith(STEP)
        peer = name[:-len(STEP)] if step else name
        ours = min(r["device_ms"] for r in (row, better) if r)
        eager, compiled = peers.get((peer, "eager")), peers.get((peer, "compiled"))
        rows.append({
            "model": f"{peer}, step of training" if step else peer, "step": step,
            "equal": all(r["equal"] for r in (row, better) if r),
            "kernels": [r["kernels"] for r in (row, better) if r],
            "ours": row["device_ms"], "optimized": better and better["device_ms"],
            "eager": eager, "compiled": compiled,
            "by_eager": eager and eager / ours, "by_compiled": compiled and compiled / ours,
            "peak": [r["peak_bytes"] for r in (row, better) if r],
            "mfu": (better or row)["mfu"],
        })
    return rows


def ms(value):
    return "" if value is None else f"{value:.3f}" if value < 10 else f"{value:.2f}"


def ratio(value):
    return "" if value is None else f"{value:.2f}"


def line(row):
    return [row["model"] + ("" if row["equal"] else " (differs)"),
            " → ".join(map(str, row["kernels"])), ms(row["ours"]), ms(row["optimized"]),
            ms(row["eager"]), ms(row["compiled"]), ratio(row["by_eager"]),
            ratio(row["by_compiled"]), " → ".join(f"{b / 1e6:.1f}" for b in row["peak"]),
            f"{100 * row['mfu']:.1f} %"]


def table(columns, lines):
    return "\n".join(f"| {' | '.join(cells)} |"
                     for cells in [columns, ["---"] * len(columns), *lines])


def summary(rows):
    """How PyTorch's times compare, in geometric means."""
    texts = []
    for mode, title in (("by_eager", "PyTorch eager"), ("by_compiled", "torch.compile")):
        ratios = [row[mode] for row in rows if row[mode]]
        if ratios:
            ahead = sum(r > 1 for r in ratios)
            texts.append(f"{title} / ours: {statistics.geometric_mean(ratios):.2f} in the geometric"
                         f" mean of {len(ratios)}, ahead in {ahead}")
    return "; ".join(texts) + "." if texts else "PyTorch was not timed."


def bandwidth(report):
    lines = [[row["kernel"], ms(row["ms"]), f"{row['bytes'] / row['ms'] * 1e-6:.0f}",
              f"{row['bytes'] / row['copy_ms'] * 1e-6:.0f}",
              f"{100 * row['copy_ms'] / row['ms']:.0f} %"]
             for row in report.get("elementwise", []) if row["ms"]]
    return table(["kernel", "ms", "GB/s", "a copy, GB/s", "share"], lines) if lines else ""


def text(report, only=()):
    rows = [row for row in rows_of(report) if not only or row["model"] in only]
    peers = report.get("peers", {})
    head = report["device"] + (f"; PyTorch {peers['torch']}" if "torch" in peers else "") + "."
    parts = [head, table(COLUMNS, map(line, rows)), summary(rows), bandwidth(report)]
    return "\n\n".join(part for part in parts if part)


def main():
    parser = argparse.ArgumentParser(prog="gpu_table")
    parser.add_argument("report", nargs="?", type=pathlib.Path,
                        default=ROOT / "data/measurements/gpu_h100.json", metavar="GPU.json")
    parser.add_argument("--only", default="", metavar="X,...", help="rows of these names")
    flags = parser.parse_args()
    only = [name for name in flags.only.split(",") if name]
    print(text(json.loads(flags.report.read_text()), only))


if __name__ == "__main__":
    main()
