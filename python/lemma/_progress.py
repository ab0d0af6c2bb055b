"""Shows progress: by a function of the caller, by tqdm, or as lines."""

import contextlib
import re
import sys
from typing import Callable, Iterator, Union

# A function that takes a line of text; True: a progress bar or lines; None or False: nothing.
Progress = Union[Callable[[str], None], bool, None]

_COUNT = re.compile(r"(\d+) of (\d+)\b")


@contextlib.contextmanager
def listener(progress: Progress) -> Iterator[Callable[[str], None]]:
    """The function that is called with each line about progress."""
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda text: None
    else:
        shown = _bar() or _Lines()
        try:
            yield shown.tell
        finally:
            shown.close()


def _bar() -> "Union[_Bar, None]":
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return _Bar(tqdm)


class _Bar:
    """A bar of tqdm: "N of M" in the text moves the bar; any other text is shown as it is."""

    def __init__(self, tqdm):
        self._bar = tqdm(desc="lemma", bar_format="{desc} [{elapsed}]")

    def tell(self, text: str) -> None:
        count = _COUNT.search(text)
        if count is None:
            self._bar.set_description_str(text)
            return
        what = text[: count.start()].rstrip(": ")
        self._bar.bar_format = None
        self._bar.total = int(count[2])
        self._bar.n = int(count[1])
        self._bar.set_description_str(what or "lemma", refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Lines:
    """On a terminal, one line that is overwritten; elsewhere, a new line for each text."""

    def __init__(self):
        self._terminal = sys.stderr.isatty()
        self._width = 0

    def tell(self, text: str) -> None:
        if self._terminal:
            text = text[:100]
            sys.stderr.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
