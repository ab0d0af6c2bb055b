"""Times quantized models beside their f32 and ONNX Runtime; see tools/bench --help."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from bench_inference import MODELS, ROOT, Server, alternate, check, machine, ratio

DEFAULT = "resnet18,resnet50,mobilenet_v2,squeezenet1_1,bert_2layer"


def measure(flags, name, work):
    model, io = MODELS / f"{name}.onnx", MODELS / f"{name}.io"
    quantized = work / f"{name}.onnx"
    check([flags.lemma, "quantize", str(model), "-o", str(quantized), "--calibration", "synthetic:2"])
    common = ["--serve", "--inputs", str(io)]
    inputs = [str(path) for path in sorted(io.glob("input_*.pb"))]
    servers = {}
    try:
        servers["f32"] = Server([flags.lemma, "run", str(model)] + common)
        servers["quantized"] = Server([flags.lemma, "run", str(quantized)] + common)
        if flags.other:
            servers["other"] = Server([flags.other, "run", str(quantized)] + common)
        for key, path in (("ort_f32", model), ("ort_quantized", quantized)):
            servers[key] = Server([str(ROOT / "tools/ort_run"), "serve", str(path), *inputs])
        medians = alternate(servers, flags.rounds)
    finally:
        for server in servers.values():
            server.close()
    return {"model": name,
            "ms": {key: statistics.median(values) for key, values in medians.items()},
            "to": {key: ratio(medians, "quantized", key) for key in servers if key != "quantized"}}


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench quantized")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--other")
    parser.add_argument("--models", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/quantized.json")
    flags = parser.parse_args(arguments)
    names = flags.models.split(",")
    for name in names:
        if not (MODELS / f"{name}.onnx").exists():
            parser.error(f"no model {name!r}; tools/export_models --list names them")
    rows = []
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        for name in names:
            row = measure(flags, name, pathlib.Path(work))
            rows.append(row)
            print(f"{name:<16}" + "".join(
                f"{key} {row['ms'][key]:.2f} ms"
                + (f" ({row['to'][key]:.3f})" if key in row["to"] else "") + "   "
                for key in row["ms"]), flush=True)
    flags.out.write_text(json.dumps({"machine": machine(flags.lemma), "rows": rows}, indent=1) + "\n")
    print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
