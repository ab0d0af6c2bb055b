"""Operators of one's own."""

import os
import pathlib
import re
from typing import Any, Dict, List, Set, Union

from lemma import _command, _errors, _files

# File -> its folder, for texts that were given instead of files. They are kept until they are
# replaced, or the process ends.
_TEXTS: Dict[str, _files.Folder] = {}
_OPERATOR = re.compile(r"#[^\n]*|\boperator\s+(\w+)")


def _parts(text: str) -> Dict[str, str]:
    """The part of the text that defines each operator, by its name."""
    heads = [match for match in _OPERATOR.finditer(text) if match[1]]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[1]: text[head.start():end] for head, end in zip(heads, ends)}


def _write(text: str) -> str:
    folder = _files.Folder()
    path = os.path.join(folder.name, "operators.txt")
    pathlib.Path(path).write_text(text)
    _TEXTS[path] = folder
    return path


def _without(names: Set[str]) -> List[str]:
    """The files with definitions of all operators but these."""
    kept: List[str] = []
    for path in _command.DEFINITIONS:
        parts = _parts(pathlib.Path(path).read_text()) if os.path.exists(path) else {}
        again = sorted(names & parts.keys())
        if not again:
            kept.append(path)
        elif len(again) == len(parts):
            continue
        elif path in _TEXTS:
            kept.append(_write("".join(part for name, part in parts.items() if name not in names)))
        else:
            message = (
                f"{path} defines {', '.join(again)}, and other operators;"
                " change it there and define this file"
            )
            raise _errors.exception("INVALID_ARGUMENT", message)
    return kept


def define(operators: Union[str, "os.PathLike[str]"]) -> List[Dict[str, Any]]:
    """Defines operators, which every later call of the package knows.

    `operators` is a file or its text (docs/operators-of-your-own.md). A definition replaces an
    earlier one of the same name. Each operator is tried on random values. Returns a dict for each
    operator: `name`, `differentiable`, `applications` (the number of applications tried),
    `execution_error` and `gradient_error`, among others. InternalError if the kernels or the
    gradient of an operator differ from its definition.
    """
    path = os.fspath(operators)
    path = _write(path) if _files.is_text(operators) else os.path.abspath(path)
    before = list(_command.DEFINITIONS)
    try:
        _command.DEFINITIONS[:] = [known for known in before if known != path]
        if os.path.isfile(path):
            _command.DEFINITIONS[:] = _without(set(_parts(pathlib.Path(path).read_text())))
        _, json = _command.run(["define", path])
        problems = [problem for operator in json["operators"] for problem in operator["problems"]]
        if problems:
            raise _errors.exception("INTERNAL", "; ".join(problems))
        _command.DEFINITIONS.append(path)
    except BaseException:
        _command.DEFINITIONS[:] = before
        raise
    finally:
        for text in set(_TEXTS) - set(_command.DEFINITIONS):
            del _TEXTS[text]
    return json["operators"]
