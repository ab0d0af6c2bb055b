"""Proofs that two models are equal, proofs of rules, and checks of certificates."""

import contextlib
import os
import pathlib
import tempfile
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from lemma import _arguments, _command, _files, _models, _rules, _tables


class Answer:
    """An answer of the prover, the referee or a checker. Its truth value says if it is yes.

    The members of the object that the command prints with --json are attributes.
    """

    def __init__(self, ok: bool, json: Dict[str, Any]):
        self.ok = ok
        self.json = json  # the object that the command prints with --json

    def __bool__(self) -> bool:
        return self.ok

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["json"][name]
        except KeyError:
            raise AttributeError(f"the answer has no '{name}'") from None

    def _repr_html_(self) -> str:
        json = self.json
        if isinstance(json.get("rules"), list):  # of `verify`
            heads = ("rule", "verdict", "contract", "reason")
            rows = [(r["rule"], r["verdict"], r.get("contract", ""), r.get("reason", "")) for r in json["rules"]]
            return _tables.columns(self._title(), heads, rows)
        rows = [(name.replace("_", " "), json[name]) for name in _SHOWN if name in json]
        if json.get("regions"):
            rows.append(("regions", len(json["regions"])))
        difference = json.get("refutation", {})
        rows += [(name, difference[name]) for name in _DIFFERENCE if name in difference]
        return _tables.pairs(self._title(), rows)

    def _title(self) -> str:
        if "proved" in self.json:
            counts = [f"{self.json[kind]} {kind}" for kind in ("proved", "refuted", "unknown")]
            return ", ".join(counts)
        return str(self.json.get("verdict", "yes" if self else "no")).replace("_", " ")

    def __repr__(self) -> str:
        return f"<lemma.Answer: {self.json}>"


class Verified(Answer):
    """The answer of `verify`. Other calls take it as rules: optimize(model, rules=answer)."""

    def __init__(self, ok: bool, json: Dict[str, Any], text: str):
        super().__init__(ok, json)
        self.text = text  # the rules, with the record of its proof after each rule

    def save(self, path: _files.Path) -> None:
        """Writes the rules with their records. PATH may be the file that they were read from."""
        _files.write_text(path, self.text)


# The members of an answer that a notebook shows, in this order, and those of its `refutation`.
_SHOWN = ("contract", "coverage", "accepted", "reason", "problem", "steps", "samples", "counterexample")
_DIFFERENCE = ("failure", "output", "index", "before", "after", "explained")


@_arguments.checked
def prove(
    a: _models.ModelLike,
    b: _models.ModelLike,
    *,
    dims: Optional[Mapping[str, int]] = None,
) -> Answer:
    """Proves that two models are equal, or finds where they differ.

    `dims` fixes symbolic dimensions. `verdict` of the answer is "proved", "refuted" or "unknown".
    Weights that both models have stand for any values. If the models differ for such values, but no
    difference is found with the stored ones, the verdict is "unknown", and `reason` says so;
    `referee` compares models with their stored weights.
    """
    with _models.as_file(a) as path_a, _models.as_file(b) as path_b:
        arguments = ["prove", path_a, path_b]
        arguments += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
        status, json = _command.run(arguments)
    return Answer(status == 0, json)


@_arguments.checked
def referee(
    before: _models.ModelLike,
    after: _models.ModelLike,
    *,
    accept: str = "real_only",
    dims: Optional[Mapping[str, int]] = None,
    ranges: Optional[Mapping[str, Tuple[int, int]]] = None,
    hint: Optional[Mapping[str, int]] = None,
    time_limit: Optional[float] = None,
    inputs: Sequence[Any] = (),
    counterexample: Union[str, "os.PathLike[str]", None] = None,
    certificate: Union[str, "os.PathLike[str]", None] = None,
    report: Union[str, "os.PathLike[str]", None] = None,
    progress: _command.Progress = None,
) -> Answer:
    """Decides whether an optimized model computes the same as the model that it was made from.

    `verdict` of the answer is "proved", "refuted", "unknown" or "different_interface". The answer
    is true if the models are proved equal with a contract that `accept` allows: "bit_exact",
    "reassociates" or "real_only". `dims` fixes symbolic dimensions. `ranges` gives the least and
    the largest size of dimensions that stay symbolic. `hint` gives sizes at which both models are
    executed. `time_limit` is in seconds (default: 300). `inputs` has arrays or files with values of
    the inputs, in order, or one folder with input_0.pb, …; both models are executed on these values
    too. `counterexample` is a folder for inputs that show a difference. `certificate` is a file
    with which `check` repeats the proof; it is written if the models are proved equal, and `before`
    and `after` must then be files. `report` is a file for a page (HTML) with the regions and both
    graphs. `progress` is a function that is called with a line of text at most ten times a second,
    or True for a progress bar.
    """
    with contextlib.ExitStack() as files:
        path_before, path_after = (files.enter_context(_models.as_file(m)) for m in (before, after))
        tensors = files.enter_context(_models.tensor_files(inputs))
        arguments = ["referee", path_before, path_after, f"--accept={accept}"]
        arguments += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
        arguments += [f"--range={name}={low}:{high}" for name, (low, high) in (ranges or {}).items()]
        if hint:
            arguments.append("--hint=" + ",".join(f"{name}={size}" for name, size in hint.items()))
        if time_limit is not None:
            arguments.append(f"--time-limit={time_limit}")
        if tensors:
            arguments.append("--inputs=" + ",".join(tensors))
        if counterexample is not None:
            arguments.append(f"--counterexample={os.path.abspath(counterexample)}")
        if certificate is not None:
            arguments.append(f"--certificate={os.path.abspath(certificate)}")
        if report is not None:
            arguments.append(f"--report={os.path.abspath(report)}")
        status, json = _command.run(arguments, progress)
    return Answer(status == 0, json)


@_arguments.checked
def verify(
    rules: _rules.Source,
    *,
    only: Sequence[str] = (),
    progress: _command.Progress = None,
) -> Verified:
    """Proves each rule of a file or a text.

    `only` has the names of the rules to prove; empty: all. The answer is true if each rule is
    proved with the contract that it claims. `rules` of the answer has a dict for each rule, with
    its verdict. `text` of the answer has the rules with the records of their proofs, without which
    `optimize` uses no rule: `optimize(model, rules=answer)` uses these rules, and
    `answer.save("mine.txt")` writes them, also over the file that they were read from.
    """
    with _rules.as_file(rules) as path, tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        output = pathlib.Path(folder, "proved.txt")
        arguments = ["verify", path, "-o", str(output)]
        if only:
            arguments.append("--only=" + ",".join(only))
        status, json = _command.run(arguments, progress)
        text = output.read_text()
    return Verified(status == 0, json, text)


@_arguments.checked
def check(
    before: Union[str, "os.PathLike[str]"],
    after: Union[str, "os.PathLike[str]"],
    certificate: Union[str, "os.PathLike[str]"],
    *,
    samples: int = 1,
    seed: Optional[int] = None,
    prove: bool = False,
    rules: Union[_rules.Source, Sequence[_rules.Source], None] = None,
) -> Answer:
    """Repeats the optimization, or the proof of `referee`, that a certificate records.

    The certificate is a file, or its text. The models are files, because a certificate contains the
    hashes of their files. `samples` is the number of comparisons on random values; `seed` repeats a
    check. With `prove`, the rules of an optimization are proved anew. Otherwise the proof records
    of the built-in rules are trusted or, if `rules` are given, the records of these rules instead;
    ["all", "mine.txt"] trusts both. `problem` of the answer says why the certificate is rejected.
    """
    with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        if _files.is_text(certificate):
            path = pathlib.Path(folder, "model.cert")
            path.write_text(certificate)
            certificate = path
        arguments = ["check", *map(os.fspath, (before, after, certificate)), f"--samples={samples}"]
        if seed is not None:
            arguments.append(f"--seed={seed}")
        if prove:
            arguments.append("--prove")
        with contextlib.ExitStack() as files:
            if rules is not None:
                arguments.append("--rules=" + files.enter_context(_rules.as_file(rules)))
            status, json = _command.run(arguments)
    return Answer(status == 0, json)
