"""Runs and optimizes real models end to end; see tools/check_models."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx

import plan_models

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIGHT = ROOT / "data" / "models" / "light"
NORMAL = ["squeezenet1_1", "shufflenet_v2", "bert_2layer"]
# Random weights of the light models: the published ones repeat one value, which hides mistakes in
# the order of channels.
RESEED = ["--reseed-weights", "1"]


class Failure(Exception):
    pass


def call(command):
    """Returns standard output; Failure with the last line of what was said if it fails."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        said = (result.stderr.strip() or result.stdout.strip() or "no message").splitlines()
        raise Failure(f"exit status {result.returncode}: {said[-1]}")
    return result.stdout


class Checker:
    def __init__(self, lemma, ort, folder):
        self.lemma, self.ort, self.folder = lemma, ort, folder
        self.passed = self.failed = 0

    def check(self, name, what, action):
        try:
            detail = action()
            self.passed += 1
            print(f"ok      {name:18} {what:9} {detail or ''}", flush=True)
            return True
        except Failure as failure:
            self.failed += 1
            print(f"FAILED  {name:18} {what:9} {failure}", flush=True)
            return False

    def run(self, model, *flags):
        report = json.loads(call([self.lemma, "run", model, "--json", "--runs", 3, *flags]))
        text = f"{report['median_ms']:.2f} ms"
        if "difference" in report:
            text += f", differs by {report['difference']:.1e} of {report['allowed']:.1e} allowed"
        return text

    def optimize(self, model, output, *flags):
        report = json.loads(
            call([self.lemma, "optimize", model, "-o", output, "--json", *flags]))
        if "ratio" not in report:
            raise Failure("was not executed: it has operators without a definition")
        # A result that cannot be slower, as both plans show, is accepted unless it is slower by 1 %
        # with confidence (docs/search.md, "Comparing plans"). So the low end of the interval counts.
        if report.get("found_ratio_low", report["ratio"]) > 1.01 and not report["kept_input"]:
            raise Failure(f"{report['ratio']:.3f} times as slow as the input")
        kept = " (kept the input)" if report["kept_input"] else ""
        return (f"{report['operators_before']} -> {report['operators_after']} operators, time ratio "
                f"{report['ratio']:.3f}{kept}, differs by {report['difference']:.1e} of "
                f"{report['allowed']:.1e} allowed")

    def certificate(self, model, output, *flags):
        command = [self.lemma, "check", model, output, f"{output}.cert", "--json", *flags]
        report = json.loads(call(command))
        return (f"{report['steps']} steps by {report['rules']} rules, {report['folds']} constants, "
                f"{report['contract']}")

    def with_ort(self, model, inputs, *flags):
        """ONNX Runtime's outputs on `model`, held against Lemma's."""
        out = self.folder / "ort"
        call([ROOT / "tools" / "ort_run", "run", model, *inputs, "--out", out])
        io = ["--inputs", ",".join(map(str, inputs))]
        return self.run(model, *io, "--expect", out, *flags)

    def model(self, path, io, reseed):
        name = path.stem
        output = self.folder / f"{name}.optimized.onnx"
        flags = RESEED if reseed else []
        inputs = sorted(io.glob("input_*.pb")) if io else []
        given = ["--inputs", ",".join(map(str, inputs))] if inputs else []
        if io:
            self.check(name, "run", lambda: self.run(path, *given, "--expect", io))
        if not self.check(name, "optimize", lambda: self.optimize(path, output, *given, *flags)):
            return
        if io:
            self.check(name, "rerun", lambda: self.run(output, *given, "--expect", io))
        self.check(name, "valid", lambda: check_valid(output))
        self.check(name, "cert", lambda: self.certificate(path, output, *flags))
        if self.ort:
            if not inputs:
                inputs = save_inputs(path, self.folder)
            if not reseed:
                self.check(name, "ort", lambda: self.with_ort(path, inputs))
            self.check(name, "ort after", lambda: self.with_ort(output, inputs))


def save_inputs(path, folder):
    """Random inputs of a model that comes without."""
    import numpy
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    weights = {weight.name for weight in graph.initializer}
    rng = numpy.random.RandomState(1)
    files = []
    for port in (p for p in graph.input if p.name not in weights):
        shape = [max(1, d.dim_value) for d in port.type.tensor_type.shape.dim]
        tensor = numpy_helper.from_array(rng.randn(*shape).astype(numpy.float32), port.name)
        files.append(folder / f"input_{len(files)}.pb")
        files[-1].write_bytes(tensor.SerializeToString())
    return files


def check_valid(path):
    try:
        onnx.checker.check_model(str(path))
    except onnx.checker.ValidationError as error:
        raise Failure(f"onnx.checker: {str(error).splitlines()[0]}") from error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--ort", action="store_true")
    parser.add_argument("--plan", metavar="BACKEND")
    parser.add_argument("--lemma")
    parser.add_argument("--models", type=pathlib.Path,
                        default=pathlib.Path.home() / ".cache" / "lemma" / "models")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()

    exportable = call([ROOT / "tools" / "export_models", "--list"]).split()
    light = sorted(path.stem for path in LIGHT.glob("*.onnx"))
    quick = NORMAL + (light if args.plan else ["light_resnet50"])
    names = args.names or (exportable + light if args.all else quick)
    unknown = [name for name in names if name not in exportable + light]
    if unknown:
        print(f"check_models: no model {unknown[0]}; there are {' '.join(exportable + light)}",
              file=sys.stderr)
        return 2
    wanted = [name for name in names if name in exportable]
    if wanted:
        call([ROOT / "tools" / "export_models", "--out", args.models, *wanted])
    lemma = args.lemma
    if lemma is None:
        subprocess.run(["bazel", "build", "//cli:lemma"], cwd=ROOT, check=True)
        lemma = ROOT / "bazel-bin" / "cli" / "lemma"
    if args.plan:
        paths = [(name, (LIGHT if name in light else args.models) / f"{name}.onnx")
                 for name in names]
        return 1 if plan_models.plan_all(call, lemma, args.plan, paths, light, Failure,
                                         args.all) else 0
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(lemma, args.ort, pathlib.Path(folder))
        for name in names:
            if name in light:
                checker.model(LIGHT / f"{name}.onnx", None, True)
            else:
                checker.model(args.models / f"{name}.onnx", args.models / f"{name}.io", False)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return 1 if checker.failed or not checker.passed else 0


if __name__ == "__main__":
    sys.exit(main())
