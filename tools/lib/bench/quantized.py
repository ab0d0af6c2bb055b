"""Times quantized models beside their f32 and ONNX Runtime; see tools/bench --help."""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

from bench import half as bench_half
from bench.inference import ROOT, Server, alternate, check, machine, ratio
from bench.onnxruntime import place

DEFAULT = ("resnet18,resnet50,mobilenet_v2,efficientnet_b0,squeezenet1_1,densenet121,shufflenet_v2,"
           "encoder,bert_base,bert_2layer,ocr_recognizer,ocr_classifier")


def find(name, work):
    """Returns the model and the folder of its inputs."""
    if name != "encoder":
        return place(name, work)
    bench_half.export(name, work)  # the encoder of tools/lib/sizes_zoo.py
    io = work / f"{name}.io"
    io.mkdir()
    (work / f"{name}.f32.pb").rename(io / "input_0.pb")
    return work / f"{name}.f32.onnx", io


def quantize(flags, name, work):
    """Returns the model, the quantized models by name, the folder of their inputs, the report."""
    model, io = find(name, work)
    quantized = work / f"{name}.quantized.onnx"
    report = json.loads(check(
        [flags.lemma, "quantize", str(model), "-o", str(quantized), "--calibration", "synthetic:2",
         f"--form={flags.form}", "--runs=0", "--json"]))
    files = {"quantized": quantized}
    if flags.own:
        files["own"] = work / f"{name}.own.onnx"
        # Its last line names the version.
        version = check([str(ROOT / "tools/lib/ort_quantize"), str(model), str(files["own"]), str(io)])
        report["own"] = version.splitlines()[-1]
    return model, files, io, report


def errors_of_operators(report):
    """What the report says of the quantized operators: how many are exact; median and largest of
    the errors of the others, relative to the largest magnitude of the operator's result; median
    and least signal-to-noise ratio of the results in the written model, in dB."""
    operators = [op for op in report["operators"] if op["quantized"]]
    result = {"operators": len(operators), "exact": sum(op["exact"] for op in operators)}
    for key in ("bound", "bound_for_inputs", "measured"):
        shares = [op[key] / op["magnitude"] for op in operators
                  if not op["exact"] and op.get(key) is not None and op.get("magnitude")]
        result[key] = [statistics.median(shares), max(shares)] if shares else None
    noise = [-20 * math.log10(op["in_all"]) for op in operators if op.get("in_all")]
    result["snr_db"] = [statistics.median(noise), min(noise)] if noise else None
    return result


def measure(flags, name, files, threads):
    model, quantized, io, report = files
    models = {"f32": model, **quantized}
    common = ["--serve", "--inputs", str(io), "--threads", str(threads)]
    inputs = [str(path) for path in sorted(io.glob("input_*.pb"))]
    servers = {}
    try:
        for key, path in models.items():
            servers[key] = Server([flags.lemma, "run", str(path)] + common)
        if flags.other:
            servers["other"] = Server([flags.other, "run", str(quantized["quantized"])] + common)
        for key, path in models.items():
            servers[f"ort_{key}"] = Server([str(ROOT / "tools/ort_run"), "serve", str(path), *inputs,
                                            "--threads", str(threads)])
        medians = alternate(servers, flags.rounds)
    finally:
        for server in servers.values():
            server.close()
    errors = errors_of_operators(report)
    return {"model": name, "threads": threads, "form": flags.form, "error": report["worst"],
            "bound": errors["bound_for_inputs"] and errors["bound_for_inputs"][1],
            "errors": errors, **({"own": report["own"]} if flags.own else {}),
            "ms": {key: statistics.median(values) for key, values in medians.items()},
            "to": {key: ratio(medians, "quantized", key) for key in servers if key != "quantized"}}


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench quantized")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--other")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--models", default=DEFAULT)
    parser.add_argument("--form", default="static")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path)
    flags = parser.parse_args(arguments)
    if flags.out is None:
        name = "quantized" if flags.form == "static" else flags.form
        flags.out = ROOT / f"data/measurements/{name}.json"
    rows = []
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        for name in flags.models.split(","):
            files = quantize(flags, name, pathlib.Path(work))
            for threads in (int(n) for n in flags.threads.split(",")):
                row = measure(flags, name, files, threads)
                rows.append(row)
                print(f"{name:<16}{threads} threads  " + "".join(
                    f"{key} {row['ms'][key]:.2f} ms"
                    + (f" ({row['to'][key]:.3f})" if key in row["to"] else "") + "   "
                    for key in row["ms"]), flush=True)
    flags.out.write_text(json.dumps({"machine": machine(flags.lemma), "rows": rows}, indent=1) + "\n")
    print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
