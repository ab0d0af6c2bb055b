"""Times a token of a decoder with weights of 32, 8 and 4 bits; see tools/bench --help."""

import argparse
import concurrent.futures
import ctypes
import json
import pathlib
import statistics
import sys
import tempfile
import time

import numpy
import onnx
import onnx.numpy_helper
import torch

from bench.inference import ROOT, Server, alternate, check, machine, ratio
from decoder import Decoder

PAST = 64
FORMS = {"8 bits": [], "4 bits": ["--bits=4", "--block=32"]}


class Reader:
    """Reads memory on all threads, as a Server: libc's memchr looks for a byte that is not there."""

    def __init__(self, threads, megabytes=512):
        self.memory = numpy.ones(megabytes << 20, numpy.uint8)
        self.parts = numpy.array_split(self.memory, threads)
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.find = ctypes.CDLL(None).memchr
        self.find.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

    def run(self, count):
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            list(self.pool.map(lambda part: self.find(part.ctypes.data, 7, part.nbytes), self.parts))
            times.append((time.perf_counter() - begin) * 1e3)
        return times

    def stop(self):
        pass

    resume = close = stop


def export(work):
    """Writes the model and its inputs; returns their paths."""
    torch.manual_seed(0)
    decoder = Decoder().eval()
    inputs = decoder.example(PAST)
    names, results = decoder.names()
    model, io = work / "decoder.onnx", work / "io"
    torch.onnx.export(decoder, inputs, str(model), opset_version=17, input_names=names,
                      output_names=results)
    io.mkdir()
    for i, (name, tensor) in enumerate(zip(names, inputs)):
        tensor = onnx.numpy_helper.from_array(tensor.numpy(), name)
        (io / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
    return model, io


def weight_bytes(path):
    """The bytes of the weights of products, which every token reads."""
    graph = onnx.load(str(path)).graph
    sizes = {t.name: len(t.raw_data) or 4 * len(t.float_data) for t in graph.initializer}
    made = {node.output[0]: node for node in graph.node}
    total = 0
    pending = [name for node in graph.node if node.op_type in ("MatMul", "Gemm", "MatMulNBits")
               for name in node.input[1:]]
    while pending:
        name = pending.pop()
        total += sizes.get(name, 0)
        if name in made and made[name].op_type in ("DequantizeLinear", "Transpose"):
            pending += made[name].input
    return total


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench decode")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/decode.json")
    flags = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as folder:
        work = pathlib.Path(folder)
        model, io = export(work)
        models = {"f32": model}
        for form, options in FORMS.items():
            models[form] = work / f"{form.split()[0]}.onnx"
            check([flags.lemma, "quantize", str(model), "-o", str(models[form]), "--form=weights",
                   "--calibration", str(io), "--alone=off", "--runs=0", *options])
        inputs = [str(path) for path in sorted(io.glob("*.pb"), key=lambda p: int(p.stem[6:]))]
        for threads in (int(n) for n in flags.threads.split(",")):
            servers = {"memory": Reader(threads)}
            try:
                for form, path in models.items():
                    common = ["--threads", str(threads)]
                    servers[form] = Server([flags.lemma, "run", str(path), "--serve", "--inputs",
                                            str(io), *common])
                    servers[f"ort {form}"] = Server([str(ROOT / "tools/ort_run"), "serve",
                                                     str(path), *inputs, *common])
                medians = alternate(servers, flags.rounds)
            finally:
                for server in servers.values():
                    server.close()
            reader = servers["memory"]
            for form, path in models.items():
                size = weight_bytes(path)
                # Bytes of weights in a second, of the bytes that are read in the same round.
                share = statistics.median(
                    (size / token) / (reader.memory.nbytes / read)
                    for token, read in zip(medians[form], medians["memory"]))
                ms = {key: statistics.median(medians[key]) for key in (form, f"ort {form}")}
                rows.append({
                    "weights": form, "threads": threads, "bytes": size, "ms": ms[form],
                    "ort_ms": ms[f"ort {form}"], "to_f32": ratio(medians, form, "f32"),
                    "to_ort": ratio(medians, form, f"ort {form}"),
                    "read_gb_s": reader.memory.nbytes / statistics.median(medians["memory"]) / 1e6,
                    "share_of_read": share})
                print(f"{form:<8}{threads} threads  {ms[form]:7.2f} ms  {1e3 / ms[form]:6.1f} tokens/s"
                      f"  {share:.2f} of the read rate  ({rows[-1]['to_f32']:.3f} of f32, "
                      f"{rows[-1]['to_ort']:.3f} of ORT)", flush=True)
    flags.out.write_text(json.dumps({"machine": machine(flags.lemma), "rows": rows}, indent=1) + "\n")
    print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
