"""Optimizes a model."""

import contextlib
import filecmp
import mmap
import os
import pathlib
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from lemma import _arguments, _command, _errors, _files, _graph, _models, _rules, _tables

_STEP = re.compile(r"step (\d+) (\S+) proof (\S+)$")


def _steps(certificate: str) -> List[Dict[str, Any]]:
    """The steps of a certificate: number, rule, proof, nodes, hash of the graph after it."""
    steps: List[Dict[str, Any]] = []
    inside = False
    for line in certificate.splitlines():
        if re.match(r"steps \d+$", line):
            inside = True
        elif inside and re.match(r"folds \d+$", line):
            break
        elif inside and (step := _STEP.match(line)):
            steps.append({"number": int(step[1]), "rule": step[2], "proof": step[3]})
        elif steps and line.startswith("  nodes "):
            steps[-1]["nodes"] = line.split()[1:]
        elif steps and line.startswith("  gives "):
            steps[-1]["gives"] = line.split()[1]
    return steps


def _names(path: str, name: str) -> bool:
    """Whether the model in the file PATH names a file with weights."""
    with open(path, "rb") as model, mmap.mmap(model.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(name.encode()) >= 0


class Quantization(dict):
    """What numerics="quantize" or "tf32" did: a dict that prints itself in one line."""

    @property
    def text(self) -> str:
        """A line that says why the model stays in f32, or how many operators are quantized."""
        if self["kept"]:
            return f"stays in f32: {_errors.in_python(self['kept'])}"
        operators = self["result"]["operators"]
        count = sum(operator["quantized"] for operator in operators)
        return f"{count} of {len(operators)} operators quantized, relative error {self['result']['worst']:.3g}"

    def __repr__(self) -> str:
        return f"<lemma.Quantization: {self.text}; keys: {', '.join(self)}>"


class Result:
    """The result of `optimize`. Its files are temporary; they are removed with this object."""

    def __init__(self, folder: _files.Folder, path: str, json: Dict[str, Any], source: _models.ModelLike):
        self._folder = folder
        self._source = _models.path_of(source) or source
        self._read = _models.path_of(source)
        self._path = path
        self.json = json  # the object that `lemma optimize --json` prints
        #: For numerics="quantize" or "tf32", a dict: `output`, `kept` (the reason if the model
        #: stayed in f32, or None) and `result` (the report of `lemma quantize`). None if nothing
        #: was to be quantized.
        self.quantized: Optional[Quantization] = Quantization(json["quantized"]) if json.get("quantized") else None
        # The certificate is about the optimized model in f32; a quantized model is another file.
        self._certified = json["output"]
        certificate = pathlib.Path(self._certified + ".cert")
        #: The text of the certificate; "" if there is none (certificate="none").
        self.certificate: str = certificate.read_text() if certificate.exists() else ""
        #: For each rewrite a dict with the keys number, rule, proof, nodes and gives
        #: (docs/certificates.md#the-format). Empty without a certificate.
        self.steps: List[Dict[str, Any]] = _steps(self.certificate)
        #: Whether the model is the input, because no better model was found.
        self.kept: bool = json["kept_input"]
        #: Medians of the times of a run in milliseconds; None if nothing was timed (opaque operators that the back
        #: end cannot execute, or a device that is absent).
        self.ms_before: Optional[float] = json.get("ms_before")
        self.ms_after: Optional[float] = json.get("ms_after")
        #: The median of time after / time before of paired runs, which may differ from ms_after /
        #: ms_before. 1 if the input is kept; None if nothing was timed.
        self.ratio: Optional[float] = json.get("ratio")
        if self.quantized and not self.quantized["kept"]:
            # Timed against the optimized model in f32.
            times = self.quantized["result"]
            gain = times["quantized_ms"] / times["f32_ms"]
            self.kept = False
            self.ms_after = None if self.ms_after is None else self.ms_after * gain
            self.ratio = None if self.ratio is None else self.ratio * gain
        self.operators_before: int = json["operators_before"]
        self.operators_after: int = json["operators_after"]

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        """The 95 % confidence interval of the ratio of the last graph timed, before quantization.

        Only graphs with right outputs are timed. If the input is kept, the last graph was not
        accepted. None if no graph was timed.
        """
        if "found_ratio_low" not in self.json:
            return None
        return self.json["found_ratio_low"], self.json["found_ratio_high"]

    @property
    def why(self) -> str:
        """The reason why the input was kept; "" if another model was found."""
        return _errors.in_python(self.json["why_kept"]) if self.kept else ""

    @property
    def model(self) -> Any:
        """The model as onnx.ModelProto. ImportError without the package onnx."""
        import onnx

        return onnx.load(self._path)

    @property
    def path(self) -> str:
        """The path of the model's file, which is removed with this object."""
        return self._path

    def save(self, path: Union[str, "os.PathLike[str]"], *, certificate: bool = True) -> None:
        """Writes the model and, unless `certificate` is False, its certificate as PATH.cert.

        If the model is quantized, the certificate is about the optimized model in f32. Both are
        written beside the model, as NAME.f32.onnx and NAME.f32.onnx.cert. Files with external
        weights are written too. ValueError unless PATH ends in .onnx. InputError if a file of the
        model that was optimized would be overwritten.
        """
        path = os.fspath(path)
        if pathlib.Path(path).suffix != ".onnx":
            raise ValueError(f"{path}: the model is ONNX, so the name must end in .onnx")
        folder = os.path.dirname(os.path.abspath(path))
        own = {self._path, self._certified, self._certified + ".cert"}
        # Also the files with external weights.
        names = sorted(os.listdir(self._folder.name))
        inside = [os.path.join(self._folder.name, name) for name in names]
        weights = [(file, os.path.join(folder, os.path.basename(file))) for file in inside if file not in own]
        pairs = [pair for pair in weights if not self._has_weights(*pair)]
        pairs.append((self._path, path))
        certified = path if self._certified == self._path else path[: -len(".onnx")] + ".f32.onnx"
        if certificate and self.certificate:
            if certified != path:
                pairs.append((self._certified, certified))
            pairs.append((self._certified + ".cert", certified + ".cert"))
        for _, target in pairs:
            _files.check_output(target, [self._read])
        _files.copy_all(pairs)

    def _has_weights(self, file: str, target: str) -> bool:
        """Whether TARGET holds the weights of FILE. InputError if it holds others of the input."""
        if self._read is None or not os.path.exists(target):
            return False
        if filecmp.cmp(file, target, shallow=False):
            return True
        beside = os.path.dirname(os.path.realpath(self._read)) == os.path.dirname(os.path.realpath(target))
        if beside and _names(self._read, os.path.basename(target)):
            message = f"{target}: would overwrite the input's weights; give another folder"
            raise _errors.exception("INVALID_ARGUMENT", message)
        return False

    def show(self) -> _graph.Graph:
        """The model as a graph that a notebook shows. Operators that the input lacks are colored.

        No operator is colored if the input was a file that no longer exists.
        """
        try:
            return _graph.show(self._path, since=self._source)
        except FileNotFoundError:
            return _graph.show(self._path)

    def _repr_html_(self) -> str:
        interval = self.interval and "{:.3f} to {:.3f}".format(*self.interval)
        counted = sorted(self.json["rules"].items(), key=lambda item: -item[1])
        rows = [
            ("time before", _tables.milliseconds(self.ms_before)),
            ("time after", _tables.milliseconds(self.ms_after)),
            ("after / before", None if self.ratio is None else f"{self.ratio:.3f}"),
            ("95 % interval" + (" of the last graph timed" if self.kept else ""), interval),
            ("operators", f"{self.operators_before} → {self.operators_after}"),
            ("rules", ", ".join(f"{count} × {name}" for name, count in counted)),
            ("kept, because", self.why),
            ("quantization", self.quantized and self.quantized.text),
        ]
        return _tables.pairs("The input is kept" if self.kept else "Optimized", rows)

    def __repr__(self) -> str:
        more = f"; {self.quantized.text}" if self.quantized else ""
        if self.kept:
            return f"<lemma.Result: the input is kept: {self.why}{more}>"
        time = f", {self.ms_before:.3f} -> {self.ms_after:.3f} ms" if self.ms_after else ""
        return f"<lemma.Result: {len(self.steps)} steps{time}{more}>"


@_arguments.checked
def optimize(
    model: _models.ModelLike,
    *,
    effort: Optional[str] = None,
    numerics: str = "reassociate",
    seconds: Optional[float] = None,
    search: Optional[str] = None,
    budget: Optional[int] = None,
    cost: str = "measured",
    cost_db: Union[str, "os.PathLike[str]", None] = None,
    objective: str = "time",
    memory_limit: Optional[int] = None,
    rules: Union[_rules.Source, Sequence[_rules.Source], None] = None,
    disable: Sequence[str] = (),
    only: Sequence[str] = (),
    dims: Optional[Mapping[str, int]] = None,
    ranges: Optional[Mapping[str, Tuple[int, int]]] = None,
    hints: Union[Mapping[str, int], Sequence[Mapping[str, int]]] = (),
    inputs: Sequence[Any] = (),
    calibration: Union[str, "os.PathLike[str]", Mapping[str, Any], None] = None,
    max_error: Optional[float] = None,
    report: Union[str, "os.PathLike[str]", None] = None,
    backend: str = "cpu",
    target: Optional[str] = None,
    onnxruntime: Union[str, "os.PathLike[str]", None] = None,
    threads: int = 1,
    runs: Optional[int] = None,
    progress: _command.Progress = None,
    **further: Any,
) -> Result:
    """Finds a model that computes the same and runs faster.

    The arguments are the flags of `lemma optimize` (docs/cli.md). Flags that are not listed here
    are arguments too, such as pet="on" or alpha=1.1. `dims` fixes symbolic dimensions. `ranges`
    gives the least and the largest size of dimensions that stay symbolic. `hints` gives sizes to
    optimize for: {"batch": 8}, or a list of such dicts. `inputs` has arrays or files with the
    values of the inputs, in order. `calibration` and `max_error` belong to numerics="quantize" and
    "tf32", and are as for `quantize`. `report` is a file for a page (HTML) about the optimization.
    `rules` is a file, a text, a `Rules`, the answer of `verify`, "starter", "all", or a list of
    these, such as ["all", "mine.txt"]. Only proved rules are used: verify(rules) proves them. `progress` is a function that is called with a line of text at most ten
    times a second, or True for a progress bar.

    Ctrl-C ends the command and raises KeyboardInterrupt. ValueError if no graph meets
    `memory_limit`.
    """
    flags: Dict[str, Any] = {
        "effort": effort,
        "numerics": numerics,
        "seconds": seconds,
        "search": search,
        "budget": budget,
        "cost": cost,
        "cost-db": cost_db and os.fspath(cost_db),
        "objective": objective,
        "memory-limit": memory_limit,
        "disable": ",".join(disable) or None,
        "only": ",".join(only) or None,
        "backend": backend if target is None else None,
        "target": target,
        "onnxruntime": onnxruntime and os.fspath(onnxruntime),
        "threads": threads,
        "runs": runs,
        "max-error": max_error,
        "report": report and os.path.abspath(report),
    }
    folder = _files.Folder()
    output = os.path.join(folder.name, "optimized.onnx")
    try:
        with contextlib.ExitStack() as files:
            arguments = ["optimize", files.enter_context(_models.as_file(model)), "-o", output]
            arguments += [f"--{name}={value}" for name, value in flags.items() if value is not None]
            arguments += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
            arguments += [f"--range={name}={low}:{high}" for name, (low, high) in (ranges or {}).items()]
            for hint in [hints] if isinstance(hints, Mapping) else hints:
                arguments.append("--hint=" + ",".join(f"{name}={size}" for name, size in hint.items()))
            if inputs:
                arguments.append("--inputs=" + ",".join(files.enter_context(_models.tensor_files(inputs))))
            samples = files.enter_context(_models.samples_file(calibration))
            if samples is not None:
                arguments.append(f"--calibration={samples}")
            if rules is not None:
                arguments.append("--rules=" + files.enter_context(_rules.as_file(rules)))
            arguments += _models.flags(further)
            status, json = _command.run(arguments, progress)
        if status != 0:
            raise ValueError("no graph that was found keeps to memory_limit")
    except BaseException:
        folder.cleanup()
        raise
    return Result(folder, output, json, model)
