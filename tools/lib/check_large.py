"""Checks that a large model is optimized in little memory; see tools/check_large."""

import argparse
import filecmp
import pathlib
import re
import shutil
import subprocess
import sys
import time

import numpy
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED_MB = 500


def make_model(path, gigabytes):
    """Writes a chain of products whose weights lie in `path`.data; returns the size of one in MB.

    The first two weights multiply the same value, and their products are added up.
    """
    count = 22
    size = max(64, round((gigabytes * 1e9 / (4 * count)) ** 0.5 / 64) * 64)
    nodes, initializers = [], []
    random = numpy.random.default_rng(1)
    block = random.standard_normal((size, size), numpy.float32) / numpy.float32(size**0.5)
    with open(f"{path}.data", "wb") as data:
        for i in range(count):
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[size, size])
            tensor.data_location = TensorProto.EXTERNAL
            values = {"location": f"{path.name}.data", "offset": data.tell(),
                      "length": block.nbytes}
            for key, value in values.items():
                tensor.external_data.add(key=key, value=str(value))
            initializers.append(tensor)
            data.write(block * numpy.float32(1 + i / 64))
    for i in (0, 1):
        nodes.append(helper.make_node("MatMul", ["x", f"w{i}"], [f"p{i}"], name=f"product_{i}"))
    nodes.append(helper.make_node("Add", ["p0", "p1"], ["s"], name="sum"))
    nodes.append(helper.make_node("Tanh", ["s"], ["h1"], name="tanh_1"))
    for i in range(2, count):
        nodes.append(helper.make_node("MatMul", [f"h{i - 1}", f"w{i}"], [f"m{i}"],
                                      name=f"product_{i}"))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"h{i}"], name=f"tanh_{i}"))
    graph = helper.make_graph(
        nodes, "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size])],
        [helper.make_tensor_value_info(f"h{count - 1}", TensorProto.FLOAT, [1, size])],
        initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    path.write_bytes(model.SerializeToString())
    return block.nbytes / 1e6


class Run:
    """A finished process, with the largest memory that was sampled, in MB."""

    def __init__(self, command):
        self.anonymous = self.resident = 0
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while process.poll() is None:
            self.sample(process.pid)
            time.sleep(0.005)
        self.seconds = time.monotonic() - start
        self.output = process.stdout.read()
        self.status = process.returncode

    def sample(self, pid):
        try:
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        for field, name in (("RssAnon", "anonymous"), ("VmRSS", "resident")):
            found = re.search(rf"{field}:\s+(\d+) kB", text)
            if found:
                setattr(self, name, max(getattr(self, name), int(found[1]) * 1024 / 1e6))


class Checker:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, run, allowed, problem=""):
        if run.status != 0:
            problem = problem or f"exit status {run.status}: {run.output.strip()[-300:]}"
        if not problem and allowed and run.anonymous > allowed:
            problem = f"more than {allowed:.0f} MB"
        figures = (f"anonymous {run.anonymous:.0f} MB, resident with mapped files "
                   f"{run.resident:.0f} MB, {run.seconds:.1f} s")
        print(f"{'FAILED' if problem else 'ok':7} {name:9} {figures}  {problem}", flush=True)
        self.passed += not problem
        self.failed += bool(problem)


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/check_large")
    parser.add_argument("--gb", type=float, default=6)
    parser.add_argument("--lemma", default=ROOT / "bazel-bin" / "cli" / "lemma")
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path("~/.cache/lemma").expanduser())
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--execute", action="store_true")
    flags = parser.parse_args(arguments)
    place = flags.out / "check_large"
    folder = place / "kept"
    folder.mkdir(parents=True, exist_ok=True)
    model, output = place / "large.onnx", place / "optimized.onnx"
    changed = make_model(model, flags.gb)
    checker = Checker()
    optimize = [flags.lemma, "optimize", model, "--execution=off", "--cost=analytic"]

    run = Run([*optimize, "-o", output])
    problem = ""
    if run.status == 0:
        names = [node.name for node in onnx.load(output, load_external_data=False).graph.node]
        if "sum" in names:
            problem = f"nothing was rewritten: {run.output.strip()[-300:]}"
    checker.check("optimize", run, ALLOWED_MB + changed, problem)
    checker.check("check", Run([flags.lemma, "check", model, output, f"{output}.cert"]), None)
    checker.check("show", Run([flags.lemma, "show", output]), ALLOWED_MB)
    copy = folder / "large.onnx"
    run = Run([*optimize, "-o", copy, "--only=relu_of_relu"])
    same = run.status == 0 and all(
        filecmp.cmp(place / name, folder / name, shallow=False)
        for name in ("large.onnx", "large.onnx.data"))
    checker.check("kept", run, ALLOWED_MB, "" if same else f"no copy: {run.output.strip()[-300:]}")
    if flags.execute:
        run = Run([flags.lemma, "optimize", model, "-o", place / "executed.onnx", "--runs=3",
                   "--cost=analytic", f"--max-memory-gb={4 * flags.gb + 1}"])
        checker.check("execute", run, None)
    if not flags.keep:
        shutil.rmtree(place)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return 0 if checker.passed and not checker.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
