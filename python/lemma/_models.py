"""Models and tensors as files, because the command reads and writes files only."""

import contextlib
import numbers
import os
import pathlib
import tempfile
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Union

from lemma import _arrays, _files

# A path, the text form, an onnx.ModelProto, or its bytes.
ModelLike = Union[str, "os.PathLike[str]", Any]


def is_proto(model: Any) -> bool:
    return hasattr(model, "SerializeToString")


def _is_torch(model: Any) -> bool:
    return any(base.__module__.startswith("torch.nn") for base in type(model).__mro__)


def path_of(model: ModelLike) -> Optional[str]:
    """The absolute path of a model that is a file; None for a model that is given itself."""
    if isinstance(model, os.PathLike) or (isinstance(model, str) and not _files.is_text(model)):
        return os.path.abspath(os.fspath(model))
    return None


@contextlib.contextmanager
def as_file(model: ModelLike) -> Iterator[str]:
    """The path of a model's file. A model that is no file is written to a temporary one."""
    given = path_of(model)
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        if is_proto(model):
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model.SerializeToString())
        elif isinstance(model, bytes):
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(model)
        elif isinstance(model, str):
            path = pathlib.Path(folder, "model.txt")
            path.write_text(model)
        else:
            raise TypeError(
                "a model is a path, an onnx.ModelProto, its bytes, or the text form, not "
                + type(model).__name__
                + ("; lemma.from_torch(model, args) makes one of it" if _is_torch(model) else "")
            )
        yield str(path)


def flags(given: Mapping[str, Any]) -> List[str]:
    """Arguments as flags of the command: clip_norm=1.0 is --clip-norm=1.0, nesterov=True --nesterov.

    A list is joined by commas.
    """
    result: List[str] = []
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if not isinstance(value, (str, os.PathLike, numbers.Number)):
            raise TypeError(f"{name}: needs a number, a text or a list, not {type(value).__name__}")
        result += [flag] * bool(value) if isinstance(value, bool) else [f"{flag}={value}"]
    return result


@contextlib.contextmanager
def tensor_files(tensors: Sequence[Any]) -> Iterator[List[str]]:
    """The paths of the tensors' files, in order. An array is written to a temporary file."""
    import numpy

    with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        paths = []
        for i, tensor in enumerate(tensors):
            if isinstance(tensor, (str, os.PathLike)):
                paths.append(os.path.abspath(tensor))
                continue
            paths.append(os.path.join(folder, f"input_{i}.npy"))
            numpy.save(paths[-1], _arrays.as_numpy(tensor, f"inputs: number {i}"))
        yield paths


@contextlib.contextmanager
def samples_file(calibration: Any) -> Iterator[Optional[str]]:
    """The value of the flag --calibration. Arrays are written to a temporary file; None gives None."""
    import numpy

    if calibration is None or (isinstance(calibration, str) and calibration.split(":")[0] == "synthetic"):
        yield calibration
    elif isinstance(calibration, (str, os.PathLike)):
        yield os.path.abspath(calibration)
    elif isinstance(calibration, Mapping):
        arrays = {name: _arrays.as_numpy(value, f"calibration: '{name}'") for name, value in calibration.items()}
        with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
            path = os.path.join(folder, "samples.npz")
            numpy.savez(path, **arrays)
            yield path
    else:
        raise TypeError(
            "calibration: a dict with an array for each input, by name; a .npz file; a folder;"
            f' or "synthetic:N"; not {type(calibration).__name__}'
        )
