"""Generates rules."""

import pathlib
import tempfile
from typing import Optional, Sequence, Union

from lemma import _arguments, _command
from lemma._rules import Rules


@_arguments.checked
def generate(
    ops: Union[str, Sequence[str]] = "taso",
    *,
    max_ops: int = 2,
    threads: int = 1,
    memory: Union[int, str, None] = None,
    seed: int = 1,
    progress: _command.Progress = None,
) -> Rules:
    """Enumerates graphs over a set of operators, and proves rules for graphs that seem equal.

    `ops` is the name of an operator set, a file with one, or a list of such a name and some of the
    set's operators: `["taso", "matmul", "transpose"]`. Graphs have up to `max_ops` operators, at
    most 5. `memory` limits the memory of the enumeration, such as "2G". Returns the proved rules.
    An interrupted call keeps nothing; only the command `lemma generate` can resume a run.
    """
    names = ops if isinstance(ops, str) else ",".join(ops)
    with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        path = pathlib.Path(folder, "rules.txt")
        arguments = ["generate", f"--ops={names}", f"--max-ops={max_ops}", "-o", str(path)]
        arguments += [f"--threads={threads}", f"--seed={seed}"]
        if memory is not None:
            arguments.append(f"--memory={memory}")
        _, json = _command.run(arguments, progress)
        text = path.read_text() if path.exists() else ""
    return Rules(text, json)
