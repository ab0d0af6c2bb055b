"""Computes a model's operators on integers or rounded floats."""

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from lemma import _arguments, _command, _files, _graph, _models, _tables


class Quantized:
    """A quantized model. Its file is removed with this object."""

    def __init__(self, folder: _files.Folder, path: str, json: Dict[str, Any], source: Optional[str] = None):
        self._folder = folder
        self._read = source
        self.path = path
        self.json = json  # the object that `lemma quantize --json` prints
        #: Milliseconds of a run of the model in f32 and of the quantized one; None if nothing was
        #: timed.
        self.ms_before: Optional[float] = json.get("f32_ms")
        self.ms_after: Optional[float] = json.get("quantized_ms")
        #: The largest relative error of an output, on the samples for calibration and those held
        #: out.
        self.error: float = json["worst"]

    @property
    def operators(self) -> List[Dict[str, Any]]:
        """A dict for each operator: name, type, whether it is quantized, bounds and errors."""
        return self.json["operators"]

    @property
    def model(self) -> Any:
        """The model as onnx.ModelProto. ImportError without the package onnx."""
        import onnx

        return onnx.load(self.path)

    def save(self, path: _files.Path) -> None:
        """Writes the model. After an error, an old file of this name is unchanged.

        InputError if PATH is the file of the model that was quantized.
        """
        _files.check_output(path, [self._read])
        _files.copy_all([(self.path, path)])

    def show(self) -> _graph.Graph:
        return _graph.show(self.path)

    def _repr_html_(self) -> str:
        count = sum(operator["quantized"] for operator in self.operators)
        before, after = self.json["bytes_before"], self.json["bytes_after"]
        rows = [
            ("quantized operators", f"{count} of {len(self.operators)}"),
            ("largest relative error", f"{self.error:.3g}"),
            ("samples", "random" if self.json["synthetic"] else self.json["calibration_samples"]),
            ("time before", _tables.milliseconds(self.ms_before)),
            ("time after", _tables.milliseconds(self.ms_after)),
            ("file", f"{before / 1e6:.2f} MB → {after / 1e6:.2f} MB"),
        ]
        return _tables.pairs("Quantized", rows)

    def __repr__(self) -> str:
        count = sum(operator["quantized"] for operator in self.operators)
        return f"<lemma.Quantized: {count} quantized operators, relative error {self.error:.3g}>"


@_arguments.checked
def quantize(
    model: _models.ModelLike,
    *,
    calibration: Union[str, "os.PathLike[str]", Mapping[str, Any], None] = None,
    form: str = "static",
    max_error: Optional[float] = None,
    keep: Sequence[str] = (),
    dims: Optional[Mapping[str, int]] = None,
    **flags: Any,
) -> Quantized:
    """Computes operators of an ONNX model on integers or rounded floats (docs/quantization.md).

    `calibration` has samples of the inputs: a dict with an array for each input, by name; or a .npz
    file; or a folder; or "synthetic:N", N random samples. The array has one more axis than the
    input, in front; it counts the samples. Without `calibration`, samples are random, and the errors say nothing about real data.
    `max_error` limits the relative error of each output: as many operators as necessary stay in
    floating point. ValueError if no operator can be quantized within this limit. `keep` names
    operators that stay in floating point. Further arguments are the flags of `lemma quantize`, such
    as bits=4.
    """
    folder = _files.Folder()
    output = os.path.join(folder.name, "quantized.onnx")
    try:
        with _models.as_file(model) as path, _models.samples_file(calibration) as samples:
            arguments = ["quantize", path, "-o", output, f"--form={form}"]
            if calibration is not None:
                arguments.append(f"--calibration={samples}")
            if max_error is not None:
                arguments.append(f"--max-error={max_error}")
            if keep:
                arguments.append("--keep=" + ",".join(keep))
            arguments += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
            arguments += _models.flags(flags)
            status, json = _command.run(arguments)
        if status != 0:
            raise ValueError(f"max_error: no operator can be quantized within {max_error}")
    except BaseException:
        folder.cleanup()
        raise
    return Quantized(folder, output, json, _models.path_of(model))
