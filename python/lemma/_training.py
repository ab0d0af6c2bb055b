"""Makes training steps."""

import os
import pathlib
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from lemma import _arguments, _command, _files, _models


class TrainingStep:
    """A training step that `train` made. Its files are removed with this object."""

    def __init__(self, folder: _files.Folder, path: str, json: Dict[str, Any], source: Optional[str] = None):
        self._folder = folder
        self._read = source
        self.path = path  # the file of the step, in ONNX
        self.state_path = path + ".safetensors"  # the initial state: weights, moments, …
        self.json = json  # the object that `lemma train --json` prints

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the step, and its state as PATH.safetensors. PATH must end in .onnx.

        InputError if the file of the model would be overwritten.
        """
        path = os.fspath(path)
        if pathlib.Path(path).suffix != ".onnx":
            raise ValueError(f"{path}: the step is ONNX, so the name must end in .onnx")
        pairs = [(self.path, path), (self.state_path, path + ".safetensors")]
        for _, target in pairs:
            _files.check_output(target, [self._read])
        _files.copy_all(pairs)

    def __repr__(self) -> str:
        return f"<lemma.TrainingStep: {self.json['operators']} operators>"


@_arguments.checked
def train(
    model: _models.ModelLike,
    *,
    loss: str = "cross-entropy",
    update: str = "sgd",
    lr: Optional[float] = None,
    dims: Optional[Mapping[str, int]] = None,
    freeze: Sequence[str] = (),
    **flags: Any,
) -> TrainingStep:
    """Makes a training step of a model: forward pass, loss, backward pass and weight update.

    `lr` is the learning rate, and `freeze` names weights that are not trained. Further arguments
    are the flags of `lemma train`, such as momentum=0.9 or clip_norm=1.0.
    """
    folder = _files.Folder()
    output = os.path.join(folder.name, "step.onnx")
    try:
        with _models.as_file(model) as path:
            arguments = ["train", path, "-o", output, f"--loss={loss}", f"--update={update}"]
            if lr is not None:
                arguments.append(f"--lr={lr}")
            if freeze:
                arguments.append("--freeze=" + ",".join(freeze))
            arguments += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
            arguments += _models.flags(flags)
            _, json = _command.run(arguments)
    except BaseException:
        folder.cleanup()
        raise
    return TrainingStep(folder, output, json, _models.path_of(model))
