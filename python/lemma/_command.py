"""Runs the command `lemma`, which is in the folder bin beside this file."""

import contextlib
import json
import logging
import pathlib
import signal
import subprocess
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

from lemma import _errors
from lemma._progress import Progress, listener

_HERE = pathlib.Path(__file__).resolve().parent
_LOG = logging.getLogger("lemma")
_NO_LIBRARY = "error while loading shared libraries: "
_TICK_SECONDS = 0.05


def binary() -> str:
    """The path of the command."""
    path = _HERE / "bin" / "lemma"
    if not path.exists():
        raise ImportError(f"{path} is missing: install the wheel that tools/build_wheel makes")
    return str(path)


class Errors:
    """Reads the lines that a process writes to standard error."""

    def __init__(self, stream):
        self._stream = stream
        self._latest: Optional[str] = None
        self._error: Optional[Tuple[str, str]] = None  # code and message
        self._failure: Optional[BaseException] = None
        self._last = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for raw in self._stream:
            line = raw.decode(errors="replace").rstrip("\n")
            kind, _, text = line.partition(": ")
            if kind == "progress":
                self._latest = text
            elif kind == "error":
                code, _, message = text.partition(": ")
                self._error = code, message
            elif line.startswith("lemma: out of memory"):
                self._error = "RESOURCE_EXHAUSTED", text
            elif line.startswith("lemma: note: "):
                _LOG.info("%s", text[len("note: "):])
            elif _NO_LIBRARY in line:
                library = line.split(_NO_LIBRARY, 1)[1]
                self._failure = ImportError(
                    f"{library}; the wheel that tools/build_wheel makes brings the libraries (docs/python.md)"
                )
            elif line:
                self._last = text if kind == "lemma" else line
                _LOG.warning("%s", self._last)
        self._stream.close()

    def news(self) -> Optional[str]:
        """The latest line about progress; None if there is none since the last call."""
        news, self._latest = self._latest, None
        return news

    def failure(self, status: int) -> BaseException:
        """Why the process ended with this exit status."""
        self._thread.join()
        if self._failure is not None:
            return self._failure
        if self._error is not None:
            return _errors.exception(*self._error, status)
        if status < 0:
            return _errors.ended(f"lemma was ended by {signal.Signals(-status).name}", status)
        return _errors.ended(self._last or f"lemma ended with status {status}", status)

    def close(self) -> None:
        self._thread.join()


# The files of lemma.define; every command gets them (--define).
DEFINITIONS: List[str] = []


def start(arguments: Sequence[str], **pipes: Any) -> subprocess.Popen:
    """Starts the command in a new process group, so Ctrl-C interrupts only the Python process."""
    known = [f"--define={path}" for path in DEFINITIONS]
    return subprocess.Popen(
        [binary(), "--pipe", *arguments, *known],
        stderr=subprocess.PIPE,
        start_new_session=True,
        **pipes,
    )


def stop(process: subprocess.Popen) -> None:
    """Ends the process, by SIGKILL if it does not end within two seconds, and waits for its end."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


# The exit statuses of answers: yes, no and unknown. All others are errors.
_ANSWERS = (0, 1, 4)


def text_of(arguments: Sequence[str], progress: Progress = None) -> Tuple[int, str]:
    """Runs a command. Returns its exit status, one of _ANSWERS, and its standard output.

    For any other status, raises the command's error. If the progress function raises an exception,
    or Ctrl-C is pressed, ends the command.
    """
    process = start(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    printed: List[bytes] = []
    reader = threading.Thread(target=lambda: printed.append(process.stdout.read()), daemon=True)
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(process.stdout.close)
        cleanup.callback(stop, process)
        errors = Errors(process.stderr)
        reader.start()
        tell = cleanup.enter_context(listener(progress))
        while reader.is_alive():
            reader.join(_TICK_SECONDS)
            _pass_on(errors, tell)
        status = process.wait()
        errors.close()
        _pass_on(errors, tell)
    text = printed[0].decode() if printed else ""
    if status not in _ANSWERS or not text.strip():
        raise errors.failure(status)
    return status, text


def _pass_on(errors: Errors, tell) -> None:
    news = errors.news()
    if news is not None:
        tell(news)


def run(arguments: Sequence[str], progress: Progress = None) -> Tuple[int, Dict[str, Any]]:
    """As `text_of`, with --json: returns the exit status and the printed object."""
    status, text = text_of([*arguments, "--json"], progress)
    return status, json.loads(text)
