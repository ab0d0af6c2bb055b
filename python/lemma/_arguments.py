"""Errors about names of arguments say which name was meant."""

import difflib
import functools
import inspect
import re
from typing import Any, Callable, Mapping, Optional, TypeVar

from lemma import _errors

Function = TypeVar("Function", bound=Callable[..., Any])

# Flags of the command that may be repeated, and arguments that take all their values.
_LISTS = {"dim": "dims", "hint": "hints", "range": "ranges"}
_UNKNOWN = re.compile(r"unknown flag (\w+)(?:; did you mean (\w+)\?|; see lemma .*)?$")


def _meant(name: str, known: Mapping[str, Any]) -> Optional[str]:
    for one, many in _LISTS.items():
        if name in (one, many):
            return next((other for other in (one, many) if other in known), None)
    return next(iter(difflib.get_close_matches(name, known, 1, 0.6)), None)


def _message(function: str, name: str, meant: Optional[str]) -> str:
    advice = f"; did you mean {meant}?" if meant else f"; see help(lemma.{function})"
    return f"{function} has no argument '{name}'{advice}"


def checked(function: Function) -> Function:
    """The function, with a TypeError for an unknown argument that names the one that was meant.

    If the function passes arguments on as flags, those that the command refuses are InputErrors.
    """
    known = dict(inspect.signature(function).parameters)
    passes = known and list(known.values())[-1].kind is inspect.Parameter.VAR_KEYWORD
    if passes:
        known.popitem()
    name_of_function = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for name, value in given.items():
            is_list = name in _LISTS and _LISTS[name] in known and not isinstance(value, str)
            if name not in known and (is_list or not passes):
                raise TypeError(_message(name_of_function, name, _meant(name, known)))
        try:
            return function(*args, **given)
        except _errors.InputError as failure:
            unknown = _UNKNOWN.match(failure.message)
            if unknown and unknown[1] in given:
                meant = _LISTS.get(unknown[2], unknown[2]) or _meant(unknown[1], known)
                failure.args = (_message(name_of_function, unknown[1], meant),)
            raise

    return call  # type: ignore[return-value]
