"""Writes files under temporary names and renames them when they are complete."""

import contextlib
import os
import pathlib
import re
import secrets
import shutil
import tempfile
import weakref
from typing import Iterable, Iterator, List, Optional, Tuple, Union

from lemma import _errors

Path = Union[str, "os.PathLike[str]"]


_TEXT = re.compile(r"\s*(?:graph|rule|operator)(?:\s*\(|\s+\w)")


def is_text(source: object) -> bool:
    """Whether `source` is a model, rules or operators as text, and not the name of a file.

    It is a text if it has several lines or begins with "graph", "rule" or "operator", and a blank
    or parenthesis; unless it ends in a suffix of a file's name, as in "rule one.txt", or there is
    such a file.
    """
    if not isinstance(source, str):
        return False
    if "\n" in source:
        return True
    return bool(_TEXT.match(source)) and not pathlib.Path(source).suffix[1:].isalnum() and not os.path.exists(source)


class Folder:
    """A temporary folder, which is removed with this object."""

    def __init__(self):
        self.name = tempfile.mkdtemp(prefix="lemma-")
        self._remove = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)

    def cleanup(self) -> None:
        self._remove()


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[str]:
    """A new file beside PATH, with its mode; removed at the end of the block unless renamed."""
    path = os.path.realpath(path)
    temporary = f"{path}.lemma-{secrets.token_hex(4)}"
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _are_one(one: Path, other: Path) -> bool:
    """Whether both names are of one file, also through links."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def check_output(path: Path, inputs: Iterable[Optional[Path]]) -> None:
    """InputError if PATH is one of the files that were read; None stands for what was no file."""
    path = os.fspath(path)
    for given in inputs:
        if given is None or not _are_one(path, given):
            continue
        named = "" if os.path.abspath(path) == given else f" {given}"
        message = f"{path}: would overwrite the input{named}; give another name"
        raise _errors.exception("INVALID_ARGUMENT", message)


def copy_all(pairs: List[Tuple[Path, Path]]) -> None:
    """Copies the first file of each pair to the second; renames when all copies are complete."""
    with contextlib.ExitStack() as stack:
        ready = []
        for source, target in pairs:
            temporary = stack.enter_context(_beside(target))
            shutil.copyfile(source, temporary)
            ready.append((temporary, os.path.realpath(target)))
        for temporary, target in ready:
            os.replace(temporary, target)


def write_text(path: Path, text: str) -> None:
    """Writes a text file."""
    with _beside(path) as temporary:
        pathlib.Path(temporary).write_text(text)
        os.replace(temporary, os.path.realpath(path))
