"""Errors of the command as Python's exceptions.

Each is an `Error`, with the message, the code and the exit status. It is also one of Python's own
exceptions: for a wrong model, the error is an `InputError`, which is a `ValueError`.
"""

import re
import tempfile
from typing import Optional

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")

# What the command advises for rules without proofs, and what to do in Python. A rule that is false
# needs no advice.
_UNPROVED = re.compile(r"; lemma verify (.+) -o \1 proves the rules and records it; --allow-unproved does without")
_PROVE = (
    "; answer = lemma.verify(rules) proves the rules; give this answer as rules, or its file:"
    " answer.save(path); allow_unproved=True does without"
)


class Error(Exception):
    """The command reported an error."""

    #: The name of the absl::StatusCode, such as "INVALID_ARGUMENT".
    code: str = "INTERNAL"
    #: The exit status of the command; minus the signal's number if a signal ended it.
    exit_status: int = 2

    @property
    def message(self) -> str:
        """The message, with the names of arguments in place of flags."""
        return str(self)


class InputError(Error, ValueError):
    """An argument, a model, a rule or a shape is wrong."""


class MissingFileError(Error, FileNotFoundError):
    """A file is missing."""


class AccessError(Error, PermissionError):
    """A file may not be read or written."""


class ExistsError(Error, FileExistsError):
    """A file exists already."""


class OutOfMemoryError(Error, MemoryError):
    """The model needs more memory than there is."""


class UnsupportedError(Error, NotImplementedError):
    """An operator cannot be executed."""


class InternalError(Error, RuntimeError):
    """A fault of Lemma; please report it."""

    exit_status = 3


# Code of the status -> exception. A file that is missing is a MissingFileError, see `exception`.
_EXCEPTIONS = {
    "INVALID_ARGUMENT": InputError,
    "OUT_OF_RANGE": InputError,
    "FAILED_PRECONDITION": InputError,
    "ALREADY_EXISTS": ExistsError,
    "PERMISSION_DENIED": AccessError,
    "NOT_FOUND": MissingFileError,
    "RESOURCE_EXHAUSTED": OutOfMemoryError,
    "UNIMPLEMENTED": UnsupportedError,
}


def in_python(message: str) -> str:
    """The message in terms of the package.

    It has the names of arguments in place of flags: cost_db in place of --cost-db. Files that the
    package wrote to a temporary folder are named without the folder, which is removed.
    """
    message = _UNPROVED.sub("" if " it is false: " in message else _PROVE, message)
    message = re.sub(re.escape(tempfile.gettempdir()) + r"/lemma-\w+/", "", message)
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), message)


def exception(code: str, message: str, status: Optional[int] = None) -> BaseException:
    """The exception for a code; `status` is the exit status of the command, if it has ended."""
    message = in_python(message)
    if code == "CANCELLED":
        return KeyboardInterrupt(message)
    kind = _EXCEPTIONS.get(code, InternalError)
    if "(No such file or directory)" in message:
        kind = MissingFileError
    failure = kind(message)
    failure.code = code
    if status is not None:
        failure.exit_status = status
    return failure


def ended(message: str, status: int) -> InternalError:
    """The exception for a command that ended without reporting an error."""
    failure = InternalError(message)
    failure.exit_status = status
    return failure
