"""Writes docs/measurements.md from data/measurements; see tools/gen_measurements --help."""

import argparse
import collections
import difflib
import json
import pathlib
import re
import statistics
import sys

import gpu_table

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path("data/measurements")
PAGE = pathlib.Path("docs/measurements.md")
HEAD = """\
# Measurements

Every measured figure, with its date, machine and command. `tools/gen_measurements` writes this page from [data/measurements](../data/measurements); `tools/gen_measurements --check` and a test say whether it is up to date. Other pages quote some of the figures and link here.

The first line of a section gives the date, the machine, the commands, the file with the figures, if there is one, and the page that relies on them. Times are in milliseconds unless the section or the column says otherwise. MB are 10⁶ bytes; they are 2²⁰ bytes where they are the memory of whole processes of the generator, `prove_rules` and `search_speed`. The machines had other work only where a section says so. Most names of models are those of `tools/export_models --list`; names that begin with `light_` are those of `data/models/light`.
"""
REQUIRED = ("group", "title", "page", "command", "machine")


def ms(value):
    return f"{value:.2f}"


def megabytes(value):
    return f"{value / 1e6:.1f}"


def gain(before, after):
    """How much faster: before / after - 1."""
    return f"{100 * (before / after - 1):.1f} %"


def inference(report):
    rows = {}
    for row in report["rows"]:
        rows.setdefault(row["model"], {})[row["threads"]] = row
    lines, means = [], {1: [], 2: []}
    for model, by_threads in rows.items():
        one, two = by_threads[1], by_threads.get(2)
        for threads, row in by_threads.items() if "_batch" not in model else ():
            means[threads].append(row["optimized_to_onnxruntime"])
        lines.append([model, *(ms(one["ms"][k]) for k in ("onnxruntime", "lemma", "optimized")),
                      *(f"{one[k]:.3f}" for k in ("lemma_to_onnxruntime",
                                                  "optimized_to_onnxruntime",
                                                  "optimized_to_lemma")),
                      f"{two['optimized_to_onnxruntime']:.3f}" if two else ""])
    after = "Geometric mean of optimized / ORT: " + ", ".join(
        f"{statistics.geometric_mean(values):.3f} with {threads} thread{'s' * (threads > 1)}"
        for threads, values in means.items() if values) + ", over models with batch 1."
    return ["model", "ORT", "Lemma", "optimized", "Lemma / ORT", "optimized / ORT",
            "optimized / Lemma", "optimized / ORT, 2 threads"], lines, after


def inference_kernels(report):
    lines = []
    for row in report["rows"]:
        if "kernels" not in row:
            continue
        k, run = row["kernels"], row["ms"]["optimized"]
        lines.append([row["model"], ms(run), *(ms(k[key]) for key in
                      ("library_ms", "library_alone_ms", "other_ms")),
                      f"{run / k['library_alone_ms']:.2f}"])
    return ["model", "run", "convolutions and products", "the same alone", "other kernels",
            "run / the same alone"], lines, ""


def attention(report):
    others = {"other": "whole", "onnxruntime": "ORT", "fused": "its operator", "pytorch": "PyTorch"}
    lines = []
    for row in report["rows"]:
        cells = [row["case"], ms(row["ms"]["lemma"]), megabytes(row["peak_bytes"]["lemma"])]
        for key in others:
            cells += [ms(row["ms"][key]), megabytes(row["peak_bytes"][key]), f"{row['to'][key]:.3f}"]
        lines.append(cells)
    head = ["tokens", "Lemma", "MB"]
    for title in others.values():
        head += [title, "MB", f"Lemma / {title}"]
    return head, lines, ""


def sequences(report):
    lines = []
    for row in report["rows"]:
        cells = [row["case"]]
        for key in ("lemma", "other", "pytorch"):
            known = key in row["ms"]
            cells += [ms(row["ms"][key]) if known else "", megabytes(row["resident_bytes"][key]) if known else ""]
            if key != "lemma":
                cells.append(f"{row['to'][key]:.3f}" if known else "")
        cells.append(f"{row['loss_difference']:.1e}" if "losses" in row else "")
        lines.append(cells)
    return ["step", "Lemma", "MB", "before", "MB", "Lemma / before", "PyTorch", "MB", "Lemma / PyTorch",
            "difference of losses"], lines, ""


def gallery(report):
    lines = []
    for row in report["rows"]:
        if "ms" in row:
            sizes = ", ".join(f"{name} = {size}" for name, size in row["sizes"].items() if size != [])
            source, target = row["ms"]
            lines.append([f"{row['file']}.txt", row["rule"], sizes, f"{source:.3f}", f"{target:.3f}",
                          f"{row['ratio']:.2g}"])
    return ["file", "rule", "sizes", "source", "target", "target / source"], lines, ""


def quantized(report):
    one, two = ([row for row in report["rows"] if row["threads"] == n] for n in (1, 2))
    on_two = {row["model"]: row["to"] for row in two}
    times = ("f32", "quantized", "own", "ort_f32", "ort_quantized", "ort_own")
    to = ("f32", "ort_f32", "ort_quantized", "ort_own")
    lines = [[row["model"], *(ms(row["ms"][k]) for k in times),
              *(f"{row['to'][k]:.3f}" for k in to), *(f"{on_two[row['model']][k]:.3f}" for k in to)]
             for row in one]

    def means(rows):
        return ", ".join(
            f"{statistics.geometric_mean(row['to'][key] for row in rows):.3f} of {title}"
            for key, title in (("f32", "f32"), ("ort_f32", "ORT in f32"),
                               ("ort_quantized", "ORT on the same file"),
                               ("ort_own", "ORT on its own quantization")))

    names = ["/ f32", "/ ORT f32", "/ ORT quantized", "/ ORT own"]
    return ["model", "f32", "quantized", "own", "ORT f32", "ORT quantized", "ORT own",
            *(f"quantized {name}" if i == 0 else name for i, name in enumerate(names)),
            *(f"{name}, 2 threads" for name in names)], lines, (
                f"Geometric means of the time of quantized models: {means(one)}; with two threads "
                f"{means(two)}.")


def quantized_errors(report):
    def pair(values, text):
        return "" if values is None else ", ".join(text(value) for value in values)

    def percent(x):
        return f"{100 * x:.0f} %" if x >= 0.1 else f"{100 * x:.2g} %"

    lines = []
    for row in report["rows"]:
        errors = row["errors"]
        if row["threads"] == 1:
            lines.append([
                row["model"], f"{errors['operators']} ({errors['exact']})",
                *(pair(errors[key], percent) for key in ("bound", "bound_for_inputs", "measured")),
                pair(errors["snr_db"], lambda x: f"{x:.1f}"), percent(row["error"])])
    return ["model", "operators (exact)", "bound", "bound for the samples", "measured", "SNR, dB",
            "outputs"], lines, ""


def bf16(report):
    one, two = ([row for row in report["rows"] if row["threads"] == n] for n in (1, 2))
    on_two = {row["model"]: row["to"] for row in two}
    lines = [[row["model"], *(ms(row["ms"][k]) for k in ("f32", "quantized", "ort_f32")),
              *(f"{row['to'][k]:.3f}" for k in ("f32", "ort_f32")),
              *(f"{on_two[row['model']][k]:.3f}" for k in ("f32", "ort_f32")),
              *("" if row[k] is None else f"{100 * row[k]:.2g} %" for k in ("error", "bound"))]
             for row in one]
    means = [f"{statistics.geometric_mean(row['to'][key] for row in rows):.3f} of {title}"
             for rows in (one, two) for key, title in (("f32", "f32"), ("ort_f32", "ORT in f32"))]
    return ["model", "f32", "bf16", "ORT f32", "bf16 / f32", "bf16 / ORT f32", "/ f32, 2 threads",
            "/ ORT f32, 2 threads", "error", "bound of a product"], lines, (
                f"Geometric means of the time in bf16: {means[0]}, {means[1]}; with two threads "
                f"{means[2]}, {means[3]}.")


def small(error):
    if error is None:
        return "infinite"
    return f"{error:.1e}".replace("e-0", "e-") if error else "0"


def emulation(report):
    """In each cell, a number for each precision: the worse one of both architectures."""
    lines = []
    for row in report["rows"]:
        precisions = list(dict.fromkeys(plan["precision"] for plan in row["plans"]))
        by = {(plan["architecture"], plan["precision"]): plan for plan in row["plans"]}

        def worst(key, precision, by=by):
            values = [by[a, precision][key] for a in (80, 90)]
            return None if None in values else max(values)
        lines.append([
            row["model"].replace(".step", ", step of training"),
            *(", ".join(str(by[a, p]["launches"]) for p in precisions) for a in (80, 90)),
            *(", ".join(small(worst(key, p)) for p in precisions)
              for key in ("largest", "relative")),
            f"{max(worst('tolerance_used', p) or 0 for p in precisions):.2g}"])
    return ["model", "launches, sm_80", "launches, sm_90a", "largest error", "relative error",
            "of tolerance"], lines, ""


def precision(report):
    """A number for each precision, in the order of the rows; one number if all are equal."""
    def joined(rows, key, text):
        cells = [text(row[key]) for row in rows]
        return cells[0] if len(set(cells)) == 1 else ", ".join(cells)

    lines, names = [], []
    for row in report["rows"]:
        rows = row["rows"]
        names = [r["precision"] for r in rows]
        lines.append([row["model"].replace(".step", ", step of training"),
                      joined(rows, "products", str), joined(rows, "terms", str),
                      *(joined(rows, key, small) for key in ("bound", "largest", "relative"))])
    ratios = {name: [r["relative"] / rows[0]["relative"] for row in report["rows"]
                     for rows in [row["rows"]] for r in rows
                     if r["precision"] == name and r["products"] and r["relative"]
                     and rows[0]["relative"]]
              for name in names[1:]}
    after = "Relative error / relative error in f32, in the geometric mean over the rows with products: " + \
        ", ".join(f"{statistics.geometric_mean(values):.3g} in {name}"
                  for name, values in ratios.items() if values) + "."
    return ["model", "products", "longest sum", "bound of a product", "largest error",
            "relative error"], lines, after


def precision_budgets(report):
    models = {}
    for row in report["budgets"]:
        models.setdefault(row["model"], []).append(row)
    lines = []

    def cell(row):
        errors = [row[key] for key in ("error", "error_f64") if key in row]
        return f"{row['products']} ({', '.join(f'{e:.1e}' for e in errors)})".replace("e-0", "e-")

    for model, rows in models.items():
        by_form = {row["form"]: row for row in rows}
        lines.append([model, rows[0]["of"], *(cell(by_form[form]) if form in by_form else ""
                                              for form in ("tf32", "f16", "bf16"))])
    return ["model", "products", "tf32", "f16", "bf16"], lines, ""


def kernels(report):
    """One line for each model: in each cell, the precisions f32, f32x3, tf32, f16 and bf16."""
    models = {}
    for row in report["rows"]:
        models.setdefault(row["model"], []).append(row)
    lines, total = [], 0
    for name, rows in models.items():
        by = {(row["architecture"], row["precision"]): row for row in rows}
        precisions = list(dict.fromkeys(row["precision"] for row in report["rows"]))
        if len(by) < 2 * len(precisions):
            continue  # its run was interrupted
        wrong = sum(row.get("kernels", 1) - row.get("right", 0) for row in rows)
        lines.append([
            name.replace(".step", ", step of training"),
            *(", ".join(str(by[a, p].get("kernels", "")) for p in precisions) for a in (80, 90)),
            "all" if wrong == 0 else f"all but {wrong}",
            ", ".join(f"{by[90, p]['peak_bytes'] / 1e6:.1f}" for p in ("f32", "bf16")
                      if "peak_bytes" in by[90, p]),
            f"{sum(row['seconds'] for row in rows):.0f}"])
        total += sum(row.get("kernels", 0) for row in rows)
    return ["model", "kernels, sm_80", "kernels, sm_90a", "right", "peak MB, f32 and bf16",
            "seconds, together"], lines, f"{total:,} kernels in all, every one compiled by NVRTC."


def decode(report):
    lines = [[row["weights"], str(row["threads"]), f"{row['bytes'] / 1e6:.0f}", ms(row["ms"]),
              f"{1e3 / row['ms']:.0f}", ms(row["ort_ms"]), f"{row['to_f32']:.3f}",
              f"{row['to_ort']:.3f}", f"{row['read_gb_s']:.0f}", f"{row['share_of_read']:.2f}"]
             for row in report["rows"]]
    return ["weights", "threads", "MB", "ms", "tokens/s", "ORT, ms", "/ f32", "/ ORT",
            "memory is read, GB/s", "share of it"], lines, ""


def accuracy(report):
    lines = [[row["model"], row["form"], str(row.get("images", row.get("frames"))),
              str(row["right"]), str(row["as_in_f32"]), f"{100 * row['relative_error']:.1f} %"]
             for row in report["rows"]]
    return ["model", "form", "answers", "right", "as in f32", "relative error"], lines, ""


def half(report):
    lines = [[row["model"],
              *(ms(row["ms"][k]) for k in ("f32", "f16", "bf16", "optimized", "ort_f32", "ort_f16")),
              *(f"{row[k]:.3f}" for k in ("f16_to_f32", "bf16_to_f32", "f16_to_onnxruntime",
                                          "optimized_to_onnxruntime"))]
             for row in report["rows"]]
    return ["model", "f32", "f16", "bf16", "optimized f16", "ORT f32", "ORT f16", "f16 / f32",
            "bf16 / f32", "f16 / ORT f16", "optimized / ORT f16"], lines, ""


def sizes(report):
    lines = []
    for row in report["rows"]:
        low, middle, high = row["every_to_this"]
        lines.append([str(row["seq"]), *(f"{row['ms'][k]:.3f}" for k in
                                         ("every size", "this size", "as it is", "ONNX Runtime")),
                      f"{middle:.3f} ({low:.3f} to {high:.3f})",
                      f"{row['every_to_onnxruntime']:.3f}", f"{row['first_ms']:.1f}",
                      f"{row['session_ms']:.3f}", f"{row['again_ms']:.3f}"])
    low, middle, high = report["every_to_this"]
    after = (f"Median over {report['rounds']} rounds of the geometric mean of the five ratios, "
             f"every size / this size: {middle:.3f}, with 95 % confidence between {low:.3f} and "
             f"{high:.3f}.")
    return ["sequence", "optimized for every size", "for this size", "as it is", "ORT",
            "every / this", "every / ORT", "first run", "median of the next runs",
            "run after all other sizes"], lines, after


def search(report):
    lines = []
    for row in report["rows"]:
        before, after = row["predicted_ms_before"], row["predicted_ms_after"]
        least = row.get("bound_ms")
        share = "" if least is None or before <= least else \
            f"{100 * (before - after) / (before - least):.0f} %"
        used = (row["search_peak_bytes"] - row["search_start_bytes"]) / 1e6
        lines.append([
            row["model"], f"{row['operators_before']} → {row['operators_after']}",
            f"{ms(before)} → {ms(after)}", gain(before, after), "" if least is None else ms(least),
            share,
            f"{ms(row['ms_before'])} → {ms(row['ms_after'])}" + " (kept)" * row["kept_input"],
            gain(row["ms_before"], row["ms_after"]),
            f"{row['tensat_percent']['tensat']} %" if "tensat_percent" in row else "",
            f"{row['graphs']}", f"{row['graphs_per_second']:.0f}", f"{row['search_seconds']:.1f}",
            f"{row['best_seconds']:.1f}", f"{row['search_peak_bytes'] / 1e6:.0f}", f"{used:.0f}"])
    return ["model", "operators", "predicted", "gain", "bound", "share", "measured", "gain",
            "Tensat's gain", "graphs", "graphs/s", "search s", "best after s", "process MB",
            "search MB"], lines, ""


def search_efforts(report):
    lines = []
    for row in report["rows"]:
        line = [row["model"], row["normal_known"]["operators_before"]]
        for effort in ("quick", "normal"):
            unknown, known = row[f"{effort}_unknown"], row[f"{effort}_known"]
            line += [f"{unknown['search_seconds']:.1f}", f"{known['search_seconds']:.1f}",
                     f"{known['best_seconds']:.1f}", f"{known['seconds']:.1f}",
                     "(kept)" if known["kept_input"] else f"{known['ratio']:.3f}"]
        lines.append(line)
    heads = ["search s, no costs known", "search s", "best after s", "command s", "after / before"]
    return ["model", "operators", *(f"{effort}: {head}" for effort in ("quick", "normal")
                                    for head in heads)], lines, ""


def stability(report):
    lines = []
    paired = all("paired" in row for row in report["rows"])
    for row in report["rows"]:
        runs = row["runs"]
        graphs = [run["graph"] for run in runs]
        seconds = [statistics.median(run["search_seconds"] for run in runs if run["busy"] == busy)
                   for busy in (False, True)]
        lines.append([row["model"], str(len(runs)), str(row["distinct"]),
                      str(max(graphs.count(graph) for graph in graphs)),
                      ", ".join(str(n) for n in sorted({run["operators"] for run in runs})),
                      f"{100 * row['spread']:.1f} %",
                      *[", ".join(f"{middle:.3f} ({low:.3f} to {high:.3f})"
                                  for low, middle, high in row.get("paired", {}).values())] * paired,
                      *(f"{s:.1f}" for s in seconds)])
    return ["model", "runs", "different results", "the most frequent", "operators",
            "spread of their prices", *["others / most frequent"] * paired, "search s, quiet",
            "search s, busy"], lines, ""


def training(report):
    lines = [[row["model"] + ", from ONNX" * (row["form"] == "onnx"),
              *(f"{row['ms'][k]:.0f}" for k in ("pytorch", "lemma", "optimized")),
              f"{row['pytorch_by_optimized']:.2f}", f"{row['lemma_by_optimized']:.2f}",
              "{} → {}".format(*row["operators"]),
              "{:.0f} → {:.0f}".format(*(b / 1e6 for b in row["peak_bytes"]))]
             for row in report["rows"]]
    return ["model", "PyTorch", "Lemma", "optimized", "PyTorch / optimized", "Lemma / optimized",
            "operators", "peak MB"], lines, ""


def memory(report):
    lines = []
    for row in report["rows"]:
        for point in row["points"]:
            if "failed" in point:
                least = int(re.search(r"least needs (\d+)", point["failed"])[1])
                cells = ["", "", "", "", f"not reached: at least {megabytes(least)} MB"]
            else:
                cells = [megabytes(point["peak_bytes"]), f"{point['ms']:.0f}",
                         f"{point['ratio']:.2f}", f"{point['recomputed']}",
                         "identical" if point["identical"] else "DIFFERS"]
            lines.append([row["model"], f"{point['share']} %", *cells])
    return ["model", "limit", "peak MB", "step", "to unlimited", "recomputed operators",
            "state after 3 steps"], lines, ""


def gpu(report):
    rows = gpu_table.rows_of(report)
    lines = [gpu_table.line(row) for row in rows]
    columns = ["model", "kernels", "Lemma", "optimized", "eager", "compile", "eager / min",
               "compile / min", "peak MB", "MFU"]
    after = gpu_table.summary(rows).replace(" / ours", " / min(Lemma, optimized)")
    # Columns that no model fills say nothing.
    keep = [i for i in range(len(columns)) if any(line[i] for line in lines)]
    after = "" if after.startswith("PyTorch was not") else after
    return [columns[i] for i in keep], [[line[i] for i in keep] for line in lines], after


def offload(report):
    columns, lines, after = gpu(report)
    return [column.replace("optimized", "with offloads") for column in columns], lines, after


def bandwidth(report):
    lines = [[row["kernel"], f"{row['ms']:.3f}", f"{row['bytes'] / row['ms'] * 1e-6:.0f}",
              f"{row['bytes'] / row['copy_ms'] * 1e-6:.0f}",
              f"{100 * row['copy_ms'] / row['ms']:.0f} %"] for row in report["elementwise"]]
    return ["kernel", "ms", "GB/s", "a copy, GB/s", "share"], lines, ""


def gpu_errors(report):
    lines = [[row["case"], row["precision"], f"{row['variants']}", f"{row['error']:.1e}",
              f"{row['bound']:.1e}"] for row in report["errors"]]
    return ["sum of products", "precision", "kernels", "largest error", "bound"], lines, ""


def gpu_products(report):
    """Times and rates; PyTorch's are of the same precision."""
    peers = {(row["case"], row["precision"]): row["ms"] for row in report.get("product_peers", [])}
    lines, to_best, to_peer = [], [], []
    for row in report["products"]:
        peer = peers.get((row["case"], row["precision"]))
        best = row["best_ms"]
        lines.append([row["case"], row["precision"], f"{row['chosen_ms']:.4f}", f"{best:.4f}",
                      f"{row['flops'] / best * 1e-9:.0f}", f"{row['library_ms']:.4f}",
                      f"{peer:.4f}" if peer else ""])
        if peer:
            to_peer.append(peer / row["chosen_ms"])
        if len(row["tiles"]) > 1:
            to_best.append(row["chosen_ms"] / best)
    after = (f"Chosen / best tile, where several were timed:"
             f" {statistics.geometric_mean(to_best):.2f} in the geometric mean of {len(to_best)}.")
    if to_peer:
        after += (f" PyTorch / the chosen tile: {statistics.geometric_mean(to_peer):.2f} in the "
                  f"geometric mean of {len(to_peer)}.")
    return ["product", "precision", "chosen tile, ms", "best tile, ms", "Tflop/s",
            "with cuBLASLt, ms", "PyTorch, ms"], lines, after


def difference_text(difference):
    return "infinite" if difference is None else f"{difference:.1e}"


def gpu_shapes(report):
    """Microseconds; PyTorch's calls as one CUDA graph, like Lemma's."""
    peers = {row["case"]: row for row in report["shape_peers"]}
    lines = []
    for row in report["shapes"]:
        peer = peers[row["case"]]
        difference = row.get("generated_difference")
        times = [row["library_ms"], row["generated_ms"], peer["graph_ms"], peer.get("library_ms"),
                 peer["eager_ms"], peer["compile_ms"]]
        lines.append([row["case"], *("" if time is None else f"{1e3 * time:.1f}" for time in times),
                      f"{difference:.1e}" if difference is not None else ""])
    return ["graph", "with cuBLASLt, µs", "generated alone, µs", "PyTorch, one CUDA graph, µs",
            "its attention, µs", "eager, µs", "compile, µs", "difference"], lines, ""


def gpu_precision(report):
    """Models: the better of with cuBLASLt and generated alone, beside PyTorch."""
    peers = {(row["model"], row["precision"], row["mode"]): row["ms"]
             for row in report.get("peers", {}).get("rows", []) if row.get("ms")}
    lines = []
    for row in report["models"]:
        name, precision = row["model"].replace(".step", ""), row["precision"]
        step = name != row["model"]
        eager = peers.get((name, precision, "eager"))
        compiled = peers.get((name, precision, "compiled"))
        lines.append([name + (", step of training" if step else ""), precision,
                      gpu_table.ms(row.get("library_ms")), gpu_table.ms(row["generated_ms"]),
                      "" if step else difference_text(row["generated_difference"]),
                      gpu_table.ms(eager), gpu_table.ms(compiled)])
    return ["model", "precision", "with cuBLASLt, ms", "generated alone, ms", "difference",
            "eager, ms", "compile, ms"], lines, ""


def proofs(report):
    slowest = sorted(report["rows"], key=lambda row: -row["cpu_ms"])[:5]
    lines = [[f"`{row['rule']}`", row["verdict"], f"{row['cpu_ms'] / 1000:.1f}"] for row in slowest]
    rows = report["rows"]
    asked = [row["queries"] for row in rows if row["queries"]]
    after = (f"{report['rules']} rules take {report['cpu_s']} s of processor time; the median is"
             f" {statistics.median(row['cpu_ms'] for row in rows):.0f} ms, the largest peak memory"
             f" {max(row['peak_mb'] for row in rows):.0f} MB. {len(asked)} rules ask Z3,"
             f" {sum(asked)} times in all.")
    return ["rule", "contract", "CPU s"], lines, after


def referee(report):
    lines = [[row["model"], row["level"], row["verdict"], row.get("contract", ""),
              *(str(row.get(key, "")) for key in ("regions", "weights_copied", "weights_computed",
                                                  "ulps", "seconds", "check_seconds"))]
             for row in report["rows"]]
    counts = collections.Counter(row["verdict"] for row in report["rows"])
    after = (f"{len(lines)} pairs: {', '.join(f'{n} {verdict}' for verdict, n in counts.items())}."
             f" The largest process took {report['peak_memory_gib']} GiB.{certificates(report)}")
    return ["model", "level", "verdict", "contract", "regions", "weights copied", "computed",
            "ulps", "seconds", "check, s"], lines, after


def certificates(report):
    checked = collections.Counter(row.get("checked", "yes") == "yes" for row in report["rows"]
                                  if row["verdict"] == "proved")
    return f" `lemma check` accepts {checked[True]} of {checked.total()} certificates of proofs."


def referee_open(report):
    lines = [[row["model"].removesuffix("_open"), row["level"], row["verdict"],
              row.get("contract", ""), str(row.get("regions", "")), str(row.get("seconds", "")),
              row.get("sizes", "").removesuffix(", wherever both read inside their tensors")]
             for row in report["rows"]]
    reasons = [f"{line[0]}, {line[1]}: {row['reason'].rpartition('.onnx: ')[2]}."
               for line, row in zip(lines, report["rows"]) if row.get("reason")]
    return ["model", "level", "verdict", "contract", "regions", "seconds", "for all"], lines, \
        " ".join(reasons)


def referee_faults(report):
    kinds = {}
    for row in report["rows"]:
        counts = kinds.setdefault(row["fault"], collections.Counter())
        counts[row["verdict"]] += 1
        counts["placed"] += row.get("right_place", False)
    lines = [[kind, *(str(counts[key]) for key in ("refuted", "placed", "unknown", "proved"))]
             for kind, counts in sorted(kinds.items())]
    total = sum(kinds.values(), collections.Counter())
    after = (f"{len(report['rows'])} faults: {total['refuted']} refuted, {total['placed']} of them at"
             f" the right place; {total['unknown']} unknown; {total['proved']} proved. Seed"
             f" {report['seed']}; {report['neutral']} more do not count.")
    return ["fault", "refuted", "at the right place", "unknown", "proved"], lines, after


def growth(report):
    keys = ["graphs", "terms", "class_members"]
    lines = [[f"{label} {row[by]}", *(f"{row[k]:,}" for k in keys),
              f"{row['enumeration_cpu_s']:.2f}", f"{row['peak_mb']}"]
             for label, by, rows in (("operators:", "max_ops", report["by_operators"]),
                                     ("variants:", "variants", report["by_variants"]))
             for row in rows]
    return ["", "graphs", "terms", "members", "CPU s", "MB"], lines, ""


def rules(report):
    lines = [[row["model"], *(f"{row['ms'][k]:.3f}" for k in ("input", "starter", "generated")),
              f"{row['ms']['generated'] / row['ms']['starter']:.3f}"] for row in report["rows"]]
    return ["model", "input", "starter", "generated", "generated / starter"], lines, ""


def pet(report):
    def cells(row):
        rules_only, both = row["off"], row["on"]
        steps = sum(n for rule, n in both["rules"].items() if rule.startswith("pet_"))
        return [row["model"].replace("_", " "), row["fusion"], f"{rules_only['ms_before']:.3f}",
                *(gain(r["ms_before"], r["ms_after"]) for r in (rules_only, both)), f"{steps}",
                f"{both['search_seconds']:.0f}"]
    lines = [cells(row) for row in report["rows"]]
    return ["model", "fusion", "input", "gain by rules", "by rules and mutants",
            "mutants applied", "search s"], lines, ""


def onnxruntime(report):
    columns = ["model", "ORT, input", "ORT, output", "output / input", "predicted",
               "Lemma, output", "operators", "rules", "search s"]
    lines = []
    for row in report["rows"]:
        times, (before, after) = row["ms"], row["operators"]
        name = row["model"] if row["threads"] == 1 else f"{row['model']}, {row['threads']} threads"
        most = sorted(row["rules"].items(), key=lambda rule: -rule[1])[:2]
        lines.append([
            name, ms(times["onnxruntime_input"]), ms(times["onnxruntime_output"]),
            f"kept ({row['measured_ratio']:.3f})" if row["kept_input"]
            else f"{row['output_to_input']:.3f}",
            f"{row['predicted']:.3f}",
            ms(times["lemma_output"]) if "lemma_output" in times else "",
            f"{before} → {after}", ", ".join(f"{count} {rule}" for rule, count in most),
            f"{row['search_seconds']:.0f}",
        ])
    ratios = [row["output_to_input"] for row in report["rows"]]
    after = (f"Geometric mean of output / input: {statistics.geometric_mean(ratios):.3f}; "
             f"the largest is {max(ratios):.3f}.")
    return columns, lines, after


VIEWS = {"inference": inference, "inference_kernels": inference_kernels,
         "onnxruntime": onnxruntime, "half": half, "sizes": sizes, "attention": attention, "sequences": sequences,
         "gallery": gallery, "quantized": quantized, "quantized_errors": quantized_errors, "bf16": bf16,
         "kernels": kernels, "emulation": emulation, "precision": precision,
         "precision_budgets": precision_budgets, "decode": decode, "accuracy": accuracy,
         "search": search, "search_efforts": search_efforts,
         "stability": stability, "training": training, "memory": memory,
         "gpu_h100": gpu, "gpu_h100_state": gpu, "gpu_h100_offload": offload,
         "gpu_h200": gpu, "gpu_errors": gpu_errors, "gpu_products": gpu_products,
         "gpu_shapes": gpu_shapes, "gpu_precision": gpu_precision, "bandwidth": bandwidth,
         "proofs": proofs, "generator_growth": growth, "rules": rules,
         "referee": referee, "referee_faults": referee_faults,
         "referee_open": referee_open,
         "pet": pet}


def date_of(section, report):
    """When it was measured: the section says so, or else the file."""
    machine = report.get("machine", {}) if report else {}
    found = section.get("date") or (report or {}).get("date") or machine.get("date")
    if not found and report:
        found = ", ".join(sorted({row["date"] for row in report["rows"] if "date" in row}))
    return found


def section_text(section, data):
    for key in REQUIRED:
        if not section.get(key):
            raise ValueError(f"section {section.get('title')!r} has no {key!r}")
    report = None
    columns, lines, after = section.get("columns"), section.get("rows"), ""
    if "source" in section:
        report = json.loads((data / section["source"]).read_text())
        view = section.get("view", pathlib.Path(section["source"]).stem)
        columns, lines, after = VIEWS[view](report)
    date = date_of(section, report)
    if not date:
        raise ValueError(f"section {section['title']!r} has no date")
    lines = [list(map(str, line)) for line in lines]
    if any(len(line) != len(columns) for line in lines):
        raise ValueError(f"section {section['title']!r}: a row has not {len(columns)} cells")
    page = section["page"]
    target = page[len("docs/"):] if page.startswith("docs/") else f"../{page}"
    commands = section["command"]
    commands = [commands] if isinstance(commands, str) else commands
    where = "; ".join([date, section["machine"], *(f"`{command}`" for command in commands)])
    if report:
        where += f"; [{section['source']}](../{DATA}/{section['source']})"
    parts = [f"### {section['title']}", f"{where}; [{page}]({target})", section.get("text", ""),
             gpu_table.table(columns, lines), after]
    notes = section.get("notes", [])
    parts += [note for note in notes if note.startswith("!")]
    parts.append("\n".join(f"- {note}" for note in notes if not note.startswith("!")))
    return "\n\n".join(part for part in parts if part)


def page_text(root):
    data = root / DATA
    sections = json.loads((data / "page.json").read_text())["sections"]
    parts, group = [HEAD.strip()], None
    for section in sections:
        if section["group"] != group:
            group = section["group"]
            parts.append(f"## {group}")
        parts.append(section_text(section, data))
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(
        prog="tools/gen_measurements",
        description="Writes docs/measurements.md from data/measurements. page.json lists the"
                    " sections; the tables come from the files that the benchmarks write.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit status 1 if the page is out of date")
    flags = parser.parse_args()
    text = page_text(ROOT)
    if not flags.check:
        (ROOT / PAGE).write_text(text)
        return 0
    have = (ROOT / PAGE).read_text() if (ROOT / PAGE).exists() else ""
    if have == text:
        return 0
    diff = difflib.unified_diff(have.splitlines(), text.splitlines(), str(PAGE), "generated", "", "",
                                1, "")
    print("\n".join(list(diff)[:40]), file=sys.stderr)
    print(f"{PAGE} is out of date; tools/gen_measurements writes it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
