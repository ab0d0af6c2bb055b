"""Optimizes the models of the literature and measures the search; see tools/bench --help."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPORTED = pathlib.Path.home() / ".cache/lemma/models"
# The models of TASO's and Tensat's evaluations, and the gains that Tensat reports on a GPU, in
# percent: of TASO's search, and of its own.
MODELS = {
    "taso_bert": (8.5, 9.2),
    "bert_base": None,
    "resnet50": None,
    "resnext50": (5.5, 8.8),
    "nasnet_a": (1.9, 7.3),
    "nasrnn": (45.4, 68.9),
    "inception_v3": (6.3, 10.0),
    "squeezenet1_1": (6.7, 24.5),
    "vgg19": (8.9, 8.9),
    "mobilenet_v2": None,
}
# Other exported models, for --efforts.
EXPORTS = (
    "resnet18 densenet121 efficientnet_b0 shufflenet_v2 vgg16 vit_b_16 bert_2layer csrnet"
).split()
EFFORTS = ("quick", "normal")
COLUMNS = [
    "model", "operators", "predicted ms", "gain", "bound ms", "share", "measured ms", "gain",
    "Tensat's gain", "graphs", "graphs/s", "search s", "to best s", "memory MB", "of it the search's",
]  # fmt: skip
EFFORT_COLUMNS = [
    "model", "operators",
    *(f"{effort}: {what}" for effort in EFFORTS
      for what in ("search s, no costs known", "search s", "best after s", "command s", "ratio")),
]  # fmt: skip


def optimize(flags, name, costs, runs, out, more=()):
    """Returns the report of `lemma optimize`."""
    io = EXPORTED / f"{name}.io"
    command = [flags.lemma, "optimize", EXPORTED / f"{name}.onnx", "-o", out, "--json"]
    command += ["--inputs", io, "--runs", str(runs), "--cost-db", costs, *flags.optimize, *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return json.loads(done.stdout)


def measure(flags, name, costs, out):
    """Searches twice: then all costs are known, and the search is all that the second one does."""
    first = optimize(flags, name, costs, flags.runs, out)
    report = optimize(flags, name, costs, flags.runs, out)
    report["date"] = datetime.date.today().isoformat()
    report["flags"] = flags.optimize
    report["load"] = os.getloadavg()[0]  # our own share is 1
    report["search_seconds_with_measuring"] = first["search_seconds"]
    report["repeated"] = first["predicted_ms_after"] == report["predicted_ms_after"]
    if MODELS[name]:
        report["tensat_percent"] = {"taso": MODELS[name][0], "tensat": MODELS[name][1]}
    return {"model": name, **report}


def measure_efforts(flags, name, costs, out):
    """Optimizes twice with each effort: with no costs known, and with those of the first run."""
    row = {"model": name, "date": datetime.date.today().isoformat(), "flags": flags.optimize}
    for effort in EFFORTS:
        database = costs.with_suffix(f".{effort}.sqlite")
        for known in ("unknown", "known"):
            start = time.monotonic()
            report = optimize(flags, name, database, flags.runs, out, ["--effort", effort])
            row[f"{effort}_{known}"] = {
                "seconds": time.monotonic() - start,
                **{key: report[key] for key in (
                    "search_seconds", "best_seconds", "graphs", "stopped", "kept_input",
                    "predicted_ms_before", "predicted_ms_after", "ratio", "operators_before",
                    "operators_after", "search_peak_bytes")},
            }  # fmt: skip
    return row


def effort_cells(row):
    cells = [row["model"], str(row["normal_known"]["operators_before"])]
    for effort in EFFORTS:
        unknown, known = row[f"{effort}_unknown"], row[f"{effort}_known"]
        cells += [
            f"{unknown['search_seconds']:.1f}", f"{known['search_seconds']:.1f}",
            f"{known['best_seconds']:.1f}", f"{known['seconds']:.1f}",
            "kept" if known["kept_input"] else f"{known['ratio']:.3f}",
        ]  # fmt: skip
    return cells


def percent(before, after):
    return f"{100 * (before / after - 1):.1f} %"


def bound(row):
    """The least cost that an exact extraction can promise, and the share of the way there."""
    if "bound_ms" not in row:
        return ["", ""]
    before, after, least = row["predicted_ms_before"], row["predicted_ms_after"], row["bound_ms"]
    share = f"{100 * (before - after) / (before - least):.0f} %" if before > least else "all"
    return [f"{least:.2f}", share]


def cells(row):
    r = row
    predicted = r["predicted_ms_before"], r["predicted_ms_after"]
    measured = r["ms_before"], r["ms_after"]
    return [
        r["model"],
        f"{r['operators_before']} → {r['operators_after']}",
        "{:.2f} → {:.2f}".format(*predicted),
        percent(*predicted),
        *bound(r),
        "{:.2f} → {:.2f}".format(*measured) + (" (kept)" if r["kept_input"] else ""),
        percent(*measured),
        f"{r['tensat_percent']['tensat']} %" if "tensat_percent" in r else "",
        f"{r['graphs']}",
        f"{r['graphs_per_second']:.0f}",
        f"{r['search_seconds']:.1f}",
        f"{r['best_seconds']:.1f}",
        f"{r['search_peak_bytes'] / 1e6:.0f}",
        f"{(r['search_peak_bytes'] - r['search_start_bytes']) / 1e6:.0f}",
    ]


def machine(lemma):
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    version = subprocess.run([lemma, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": len(names),
        "lemma": version.stdout.splitlines(),
        "date": datetime.date.today().isoformat(),
    }


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench search")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("chosen", metavar="MODEL", nargs="*")
    parser.add_argument("--models", type=lambda s: s.split(","), default=[])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--costs", type=pathlib.Path)
    parser.add_argument("--efforts", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    flags, flags.optimize = parser.parse_known_args()
    flags.known = [*MODELS, *EXPORTS] if flags.efforts else list(MODELS)
    flags.models = flags.models + flags.chosen or flags.known
    unknown = [name for name in flags.models if name not in flags.known]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; the models are: {', '.join(flags.known)}")
    if flags.out is None:
        name = "search_efforts.json" if flags.efforts else "search.json"
        flags.out = ROOT / "data/measurements" / name
    return flags


def write(flags, rows, failed):
    """Writes the rows, beside those of other models that the file has."""
    new = {row["model"]: row for row in rows}
    if flags.out.exists():
        for row in json.loads(flags.out.read_text())["rows"]:
            new.setdefault(row["model"], row)
    ordered = [new[name] for name in flags.known if name in new]
    result = {"machine": machine(flags.lemma), "rows": ordered}
    if failed:
        result["failed"] = failed
    flags.out.write_text(json.dumps(result, indent=1) + "\n")


def main():
    flags = parse()
    subprocess.run([ROOT / "tools/export_models", *flags.models], stdout=sys.stderr, check=True)
    rows, failed = [], []
    columns = EFFORT_COLUMNS if flags.efforts else COLUMNS
    print("|", " | ".join(columns), "|")
    print("|" + "---|" * len(columns), flush=True)
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        work = pathlib.Path(work)
        folder = flags.costs or work
        folder.mkdir(parents=True, exist_ok=True)
        for name in flags.models:
            try:
                run, show = (measure_efforts, effort_cells) if flags.efforts else (measure, cells)
                rows.append(run(flags, name, folder / f"{name}.sqlite", work / "out.onnx"))
                print("|", " | ".join(show(rows[-1])), "|", flush=True)
            except RuntimeError as error:
                failed.append(f"{name}: {error}")
                print(f"bench: {failed[-1]}", file=sys.stderr, flush=True)
            write(flags, rows, failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
