"""Rules: texts, records, pictures."""

import contextlib
import os
import pathlib
import tempfile
from json import loads as read_json
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from lemma import _command, _drawing, _files, _tables


def _pattern(variables: List[Dict[str, str]], pattern: Dict[str, Any]) -> _drawing.Drawn:
    """One side of a rule: variables, operators, outputs."""
    nodes: Dict[str, _drawing.Node] = {}
    edges: List[Tuple[str, str]] = []
    sides = {v["name"]: f"{v['name']}: {v['dims']}" for v in variables}

    def operand(value: Dict[str, Any]) -> str:
        if "variable" not in value:
            return f"n{value['node']}"
        name = "v" + value["variable"]
        nodes.setdefault(name, _drawing.Node((sides[value["variable"]],), "value"))
        return name

    for i, node in enumerate(pattern["nodes"]):
        if "operator" in node:
            edges += [(operand(value), f"n{i}") for value in node["inputs"]]
            attributes = tuple(f"{name} = {value}" for name, value in node["attributes"].items())
            nodes[f"n{i}"] = _drawing.Node((node["operator"], *attributes), "op")
        else:
            nodes[f"n{i}"] = _drawing.Node((f"{node['constant']} fill {node['fill']}",), "value")
    outputs = pattern["outputs"]
    for i, value in enumerate(outputs):
        text = "output" if len(outputs) == 1 else f"output {i}"
        if value.get("output", 0) > 0:
            text += f" (value {value['output']})"
        edges.append((operand(value), f"out{i}"))
        nodes[f"out{i}"] = _drawing.Node((text,), "value")
    return _drawing.draw(nodes, edges)


def _exported(text: str) -> List[Dict[str, Any]]:
    """The object that `lemma rules export --format=json` prints for each rule of the text."""
    with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        path = pathlib.Path(folder, "rules.txt")
        path.write_text(text)
        _, printed = _command.text_of(["rules", "export", str(path), "--format=json"])
    return read_json(printed)["rules"]


class Rule:
    """A rule: a graph, its source, may be replaced by its target. A notebook shows both."""

    def __init__(self, json: Dict[str, Any]):
        self.json = json  # its entry in `lemma rules --json`
        self._patterns: Optional[Dict[str, Any]] = None

    @property
    def name(self) -> str:
        return self.json["rule"]

    @property
    def text(self) -> str:
        """The rule as text, as in a file of rules, with the record of its proof."""
        return self.json["text"]

    @property
    def contract(self) -> str:
        """"bit_exact", "reassociates", "real_only" or "bounded"."""
        return self.json["contract"]

    @property
    def proved(self) -> bool:
        """Whether the record says "proved" and is current, so that `optimize` may use the rule."""
        return self.json["record"] == "proved" and self.json["usable"]

    def svg(self) -> str:
        """A picture (SVG) of source and target side by side."""
        if self._patterns is None:
            (self._patterns,) = _exported(self.text)
        rule = self._patterns
        sides = [_pattern(rule["variables"], rule[side]) for side in ("source_pattern", "target_pattern")]
        return _drawing.page(sides, "\u2192", self.name)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f"<div style='overflow:auto'>{self.svg()}</div>{_tables.pairs(self.name, self._facts())}"

    def _facts(self) -> List[Tuple[str, Any]]:
        json = self.json
        proof = json["record"] + (f": {json['detail']}" if json["detail"] else "")
        facts = [("contract", self.contract), ("if", json["guard"]), ("proof", proof)]
        return [*facts, ("cannot be used", json["problem"])]

    def __repr__(self) -> str:
        return f"<lemma.Rule: {self.name}>"


class Rules:
    """A list of rules. `rules[0]` is the first rule, `rules["name"]` the rule with this name."""

    def __init__(self, text: str, json: Dict[str, Any]):
        self.text = text  # all rules, as in a file of rules
        self.json = json  # the object that the command that made them printed with --json
        self._rules: Optional[List[Rule]] = None

    @property
    def names(self) -> List[str]:
        return [line.split()[1].split("(")[0] for line in self.text.splitlines() if line.startswith("rule ")]

    def save(self, path: _files.Path) -> None:
        _files.write_text(path, self.text)

    def save_html(self, folder: _files.Path) -> None:
        """Writes a page for each rule, and index.html, a list of them that can be searched."""
        from lemma import _rule_pages

        for rule, patterns in zip(self, _exported(self.text)):
            rule._patterns = patterns
        _rule_pages.write(list(self), folder)

    def _all(self) -> List[Rule]:
        if self._rules is None:
            self._rules = list(rules(self.text)) if self.names else []
        return self._rules

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._all())

    def __getitem__(self, which: Union[int, str]) -> Rule:
        if isinstance(which, int):
            return self._all()[which]
        for rule in self._all():
            if rule.name == which:
                return rule
        raise KeyError(which)

    def __len__(self) -> int:
        return len(self.names)

    def _repr_html_(self) -> str:
        rows = [(r.name, r.json["source"], r.json["target"], r.contract, r.json["record"]) for r in self]
        return _tables.columns(f"{len(self)} rules", ("rule", "source", "target", "contract", "record"), rows)

    def __repr__(self) -> str:
        return f"<lemma.Rules: {len(self)}>"


# A file, a text, "starter" or "all", or an object with a text: Rules, a Rule, an answer of `verify`.
Source = Union[str, "os.PathLike[str]", Rules, Rule, Any]


@contextlib.contextmanager
def _as_temporary(text: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="lemma-") as folder:
        path = pathlib.Path(folder, "rules.txt")
        path.write_text(text)
        yield str(path)


@contextlib.contextmanager
def as_file(source: Union[Source, Sequence[Source]]) -> Iterator[str]:
    """The value of the flag --rules for `source`.

    A file gives its path; a text, or what has one (`Rules`, a `Rule`, the answer of `verify`), the
    path of a temporary file; "starter" and "all" stay as they are. A list gives the values of its
    elements, with commas.
    """
    if isinstance(source, (list, tuple)):
        with contextlib.ExitStack() as files:
            yield ",".join([files.enter_context(as_file(one)) for one in source])
        return
    text = getattr(source, "text", None)
    if isinstance(text, str):
        with _as_temporary(text) as path:
            yield path
    elif source in ("starter", "all"):
        yield str(source)
    elif _files.is_text(source):
        with _as_temporary(source) as path:
            yield path
    else:
        yield os.path.abspath(source)


def rules(source: Source = "starter") -> Rules:
    """The rules of a file or a text, or built-in ones: "starter" (written by hand) or "all".

    `source` may also be the answer of `verify`.
    """
    with as_file(source) as path:
        _, json = _command.run(["rules", path])
    found = Rules("\n".join(rule["text"] for rule in json["rules"]), json)
    found._rules = [Rule(rule) for rule in json["rules"]]
    return found
