"""Operators of one's own."""

import os
import pathlib
import re
from typing import Any, Dict, List, Union

from lemma import _command, _errors, _files

# Texts that were given instead of files; they live as long as the process.
_TEXTS: List[_files.Folder] = []


def define(operators: Union[str, "os.PathLike[str]"]) -> List[Dict[str, Any]]:
    """Defines operators, which every later call of the package knows.

    `operators` is a file or its text (docs/operators-of-your-own.md). Returns for each operator what
    trying it showed: `name`, `differentiable`, `applications` (how many were tried),
    `execution_error` and `gradient_error`. An operator whose kernels or gradient differ from the
    definition raises InternalError.
    """
    path = os.fspath(operators)
    if re.search(r"\boperator\b[^{]*\(", path):
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
