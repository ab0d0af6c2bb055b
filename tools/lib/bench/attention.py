"""Times attention beside ONNX Runtime and another lemma; see tools/bench --help."""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.inference import ROOT, Server, alternate, machine, ratio

HEADS, WIDTH = 12, 64
# name -> tokens, whether a mask is added to the scores
CASES = {"128": (128, True), "512": (512, True), "2048": (2048, True),
         "2048, no mask": (2048, False), "8192, no mask": (8192, False)}


def write(tokens, masked, folder):
    """Writes the model and its inputs; returns their paths."""
    names = ["q", "k", "v"]
    shapes = [[1, HEADS, tokens, WIDTH], [1, HEADS, WIDTH, tokens], [1, HEADS, tokens, WIDTH]]
    nodes = [helper.make_node("MatMul", ["q", "k"], ["products"]),
             helper.make_node("Div", ["products", "root"], ["scores"])]
    scores = "scores"
    if masked:
        names.append("mask")
        shapes.append([1, 1, tokens, tokens])
        nodes.append(helper.make_node("Add", [scores, "mask"], ["masked"]))
        scores = "masked"
    nodes += [helper.make_node("Softmax", [scores], ["weights"], axis=-1),
              helper.make_node("MatMul", ["weights", "v"], ["y"])]
    root = numpy_helper.from_array(numpy.array(WIDTH**0.5, numpy.float32), "root")
    graph = helper.make_graph(
        nodes, "attention",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, shapes)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes[0])], [root])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    path = folder / "attention.onnx"
    onnx.save(model, str(path))
    random = numpy.random.default_rng(1)
    inputs = []
    for name, shape in zip(names, shapes):
        inputs.append(folder / f"{name}.pb")
        tensor = numpy_helper.from_array(random.standard_normal(shape, numpy.float32), name)
        inputs[-1].write_bytes(tensor.SerializeToString())
    return path, inputs


def resident_bytes(pid):
    """Peak resident memory of a process so far."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status).group(1))


def peak(server):
    """Peak resident memory of the process and its children, in bytes."""
    pids, total = [server.process.pid], 0
    for pid in pids:
        total += resident_bytes(pid)
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            pids += [int(child) for child in (task / "children").read_text().split()]
    return total


def measure(flags, name, folder):
    model, inputs = write(*CASES[name], folder)
    run = ["run", str(model), "--serve", "--inputs", ",".join(map(str, inputs))]
    servers = {}
    try:
        servers["lemma"] = Server([flags.lemma] + run)
        if flags.other:
            servers["other"] = Server([flags.other] + run)
        servers["onnxruntime"] = Server(
            [str(ROOT / "tools/ort_run"), "serve", str(model), *map(str, inputs)])
        medians = alternate(servers, flags.rounds)
        peaks = {key: peak(server) for key, server in servers.items()}
    finally:
        for server in servers.values():
            server.close()
    return {"case": name,
            "ms": {key: statistics.median(values) for key, values in medians.items()},
            "peak_bytes": peaks,
            "to": {key: ratio(medians, "lemma", key) for key in servers if key != "lemma"}}


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench attention")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--other")
    parser.add_argument("--models", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/attention.json")
    flags = parser.parse_args(arguments)
    names = flags.models.split(";") if flags.models else list(CASES)
    for name in names:
        if name not in CASES:
            parser.error(f"no case {name!r}; there are: {'; '.join(CASES)}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        for name in names:
            row = measure(flags, name, pathlib.Path(work))
            rows.append(row)
            print(f"{name:<16}" + "".join(
                f"{key} {row['ms'][key]:.2f} ms {row['peak_bytes'][key] / 1e6:.0f} MB"
                + (f" ({row['to'][key]:.3f})" if key in row["to"] else "") + "   "
                for key in row["ms"]), flush=True)
    flags.out.write_text(json.dumps({"machine": machine(flags.lemma), "rows": rows}, indent=1) + "\n")
    print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
