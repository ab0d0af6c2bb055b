"""Operators of one's own."""

import os
import pathlib
import re
from typing import Any, Dict, List, Union

from lemma import _command, _errors, _files

# Folders with texts that were given instead of files. They are kept until the process ends.
_TEXTS: List[_files.Folder] = []


def define(operators: Union[str, "os.PathLike[str]"]) -> List[Dict[str, Any]]:
    """Defines operators, which every later call of the package knows.

    `operators` is a file or its text (docs/operators-of-your-own.md). Each operator is tried on
    random values. Returns a dict for each operator: `name`, `differentiable`, `applications` (the
    number of applications tried), `execution_error` and `gradient_error`, among others.
    InternalError if the kernels or the gradient of an operator differ from its definition.
    """
    path = os.fspath(operators)
    if _files.is_text(operators):
        folder = _files.Folder()
        _TEXTS.append(folder)
        text, path = path, os.path.join(folder.name, "operators.txt")
        pathlib.Path(path).write_text(text)
    _, json = _command.run(["define", path])
    problems = [problem for operator in json["operators"] for problem in operator["problems"]]
    if problems:
        raise _errors.exception("INTERNAL", "; ".join(problems))
    path = os.path.abspath(path)
    if path not in _command.DEFINITIONS:
        _command.DEFINITIONS.append(path)
    return json["operators"]
