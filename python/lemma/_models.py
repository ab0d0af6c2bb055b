"""Models as files: the command reads and writes nothing else."""

import contextlib
import os
import pathlib
import tempfile
from typing import Any, Iterator, Union

# A path, the text form (a string with line breaks), or an onnx.ModelProto.
ModelLike = Union[str, "os.PathLike[str]", Any]


def is_proto(model: Any) -> bool:
    return hasattr(model, "SerializeToString")


def _is_torch(model: Any) -> bool:
    return any(base.__module__.startswith("torch.nn") for base in type(model).__mro__)


@contextlib.contextmanager
def as_file(model: ModelLike) -> Iterator[str]:
    """The path of a model; a temporary one if it is no file."""
    if isinstance(model, os.PathLike) or (isinstance(model, str) and "\n" not in model):
        yield os.path.abspath(os.fspath(model))
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
