"""Errors of the command as Python's exceptions."""

import re

# Code of the status -> exception. A file that is missing is a FileNotFoundError, see `exception`.
_EXCEPTIONS = {
    "INVALID_ARGUMENT": ValueError,
    "OUT_OF_RANGE": ValueError,
    "FAILED_PRECONDITION": ValueError,
    "ALREADY_EXISTS": FileExistsError,
    "PERMISSION_DENIED": PermissionError,
    "NOT_FOUND": FileNotFoundError,
    "RESOURCE_EXHAUSTED": MemoryError,
    "UNIMPLEMENTED": NotImplementedError,
    "CANCELLED": KeyboardInterrupt,
}
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


class InternalError(RuntimeError):
    """A fault of Lemma; please report it."""


def in_python(message: str) -> str:
    """The message with the names of arguments in the place of flags: --cost-db is cost_db."""
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), message)


def exception(code: str, message: str) -> BaseException:
    """The exception for a status."""
    message = in_python(message)
    if "(No such file or directory)" in message:
        return FileNotFoundError(message)
    return _EXCEPTIONS.get(code, InternalError)(message)
