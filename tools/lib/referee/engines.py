"""ONNX Runtime as a second opinion, and how far outputs are apart."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]


class OnnxRuntime:
    """Runs models at one level of optimization, many in one process."""

    def __init__(self, level="disabled"):
        self.process = subprocess.Popen(
            [ROOT / "tools" / "ort_run", "each", "--optimize", level], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.folder = tempfile.TemporaryDirectory()
        if "ready" not in self.process.stdout.readline():
            sys.exit("make_referee_corpus: tools/ort_run did not start; see tools/ort_run --help")

    def run(self, data, inputs):
        """The outputs, or the message with which ONNX Runtime refuses the model."""
        folder = pathlib.Path(self.folder.name)
        for old in folder.iterdir():
            old.unlink()
        (folder / "model.onnx").write_bytes(data)
        for i, value in enumerate(inputs):
            (folder / f"input_{i}.pb").write_bytes(value)
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            return answer["error"]
        return [numpy_helper.to_array(onnx.load_tensor(str(folder / f"output_{i}.pb")))
                for i in range(answer["outputs"])]


def distance(before, after):
    """The largest difference of two lists of outputs, in parts of the largest value."""
    worst = 0.0
    for a, b in zip(before, after):
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        if same.all():
            continue
        if not (numpy.isfinite(a) | same).all() or not (numpy.isfinite(b) | same).all():
            return numpy.inf
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        scale = max(abs(a[finite]).max(), abs(b[finite]).max())
        worst = max(worst, abs(a - b)[finite].max() / scale)
    return worst
