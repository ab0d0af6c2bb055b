"""Times attention beside ONNX Runtime, PyTorch and another lemma; see tools/bench --help."""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from bench.inference import ROOT, Server, alternate, machine, ratio

HEADS, WIDTH = 12, 64
# name -> tokens, whether a mask is added to the scores
CASES = {"128": (128, True), "512": (512, True), "2048": (2048, True),
         "2048, no mask": (2048, False), "8192, no mask": (8192, False)}


def as_rows(x):
    """[1, heads, tokens, width] as [1, tokens, heads * width]."""
    return x.transpose(0, 2, 1, 3).reshape(1, x.shape[2], HEADS * WIDTH)


def write_fused(values, folder):
    """Writes attention as ONNX Runtime's own operator, and its inputs; returns their paths."""
    rows = {"q": as_rows(values["q"]), "k": as_rows(values["k"].transpose(0, 1, 3, 2)),
            "v": as_rows(values["v"])}
    operands = ["q", "k", "v"]
    if "mask" in values:
        rows["mask"] = values["mask"]
        operands += ["", "", "mask"]
    node = helper.make_node("MultiHeadAttention", operands, ["y"], domain="com.microsoft",
                            num_heads=HEADS)
    graph = helper.make_graph(
        [node], "fused",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in rows.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, rows["q"].shape)])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)])
    path = folder / "fused.onnx"
    onnx.save(model, str(path))
    inputs = []
    for name, x in rows.items():
        inputs.append(folder / f"fused_{name}.pb")
        tensor = numpy_helper.from_array(numpy.ascontiguousarray(x), name)
        inputs[-1].write_bytes(tensor.SerializeToString())
    return path, inputs


def read(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def serve_torch(paths):
    """Computes the attention of the tensors in files, eager, on one thread; obeys as ort_run serve."""
    torch.set_num_threads(1)
    q, k, v, *mask = (torch.from_numpy(read(pathlib.Path(path)).copy()) for path in paths)
    print(json.dumps({"ready": True}), flush=True)
    with torch.inference_mode():
        for line in sys.stdin:
            verb, *rest = line.split()
            if verb == "quit":
                return
            if verb == "save":
                tensor = numpy_helper.from_array(y.numpy(), "y")
                (pathlib.Path(rest[0]) / "output_0.pb").write_bytes(tensor.SerializeToString())
                print(json.dumps({"saved": 1}), flush=True)
                continue
            times = []
            for _ in range(int(rest[0])):
                start = time.perf_counter()
                scores = (q @ k) / WIDTH**0.5
                for m in mask:
                    scores = scores + m
                y = torch.softmax(scores, -1) @ v
                times.append(1e3 * (time.perf_counter() - start))
            print(json.dumps({"ms": times}), flush=True)


def write(tokens, masked, folder):
    """Writes the model and its inputs; returns their paths, and the inputs' values by name."""
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
    inputs, values = [], {}
    for name, shape in zip(names, shapes):
        inputs.append(folder / f"{name}.pb")
        values[name] = random.standard_normal(shape, numpy.float32)
        inputs[-1].write_bytes(numpy_helper.from_array(values[name], name).SerializeToString())
    return path, inputs, values


def saved(server, folder):
    """The output of the server's last run."""
    folder.mkdir()
    server.ask(f"save {folder}", "saved")
    return read(next(folder.glob("output_*.pb")))


def check_equal(servers, folder):
    """Fails unless all engines computed the same."""
    folder.mkdir()
    outputs = {key: saved(server, folder / key) for key, server in servers.items()}
    for key, y in outputs.items():
        y = as_rows(y) if y.ndim == 4 else y
        worst = numpy.abs(y - as_rows(outputs["onnxruntime"])).max()
        if not worst < 1e-4:
            raise RuntimeError(f"{key} differs from ONNX Runtime by {worst}")


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
    model, inputs, values = write(*CASES[name], folder)
    fused, fused_inputs = write_fused(values, folder)
    run = ["run", str(model), "--serve", "--inputs", ",".join(map(str, inputs))]
    servers = {}
    try:
        servers["lemma"] = Server([flags.lemma] + run)
        if flags.other:
            servers["other"] = Server([flags.other] + run)
        servers["onnxruntime"] = Server(
            [str(ROOT / "tools/ort_run"), "serve", str(model), *map(str, inputs)])
        servers["fused"] = Server(
            [str(ROOT / "tools/ort_run"), "serve", str(fused), *map(str, fused_inputs)])
        servers["pytorch"] = Server(
            [sys.executable, "-m", "bench.attention", "--torch", *map(str, inputs)])
        medians = alternate(servers, flags.rounds)
        peaks = {key: peak(server) for key, server in servers.items()}
        check_equal(servers, folder / "outputs")
    finally:
        for server in servers.values():
            server.close()
    return {"case": name,
            "ms": {key: statistics.median(values) for key, values in medians.items()},
            "peak_bytes": peaks,
            "to": {key: ratio(medians, "lemma", key) for key in servers if key != "lemma"}}


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench attention")
    parser.add_argument("--torch", nargs="+", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--lemma", required="--torch" not in arguments)
    parser.add_argument("--other")
    parser.add_argument("--models", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/attention.json")
    flags = parser.parse_args(arguments)
    if flags.torch:
        return serve_torch(flags.torch)
    names = flags.models.split(";") if flags.models else list(CASES)
    for name in names:
        if name not in CASES:
            parser.error(f"no case {name!r}; there are: {'; '.join(CASES)}")
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
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
