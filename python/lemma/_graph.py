"""Models as pictures."""

import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from lemma import _arguments, _command, _drawing, _files, _models, _tables

_NODE = re.compile(r'  (\w+) \[label="((?:[^"\\]|\\.)*)"(.*)\];$')
_TIP = re.compile(r'tooltip="((?:[^"\\]|\\.)*)"')
_EDGE = re.compile(r"  (\w+) -> (\w+);$")
# Graphs with more nodes are shown as a table.
MOST_NODES = 1000


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def _read_dot(dot: str) -> Tuple[Dict[str, _drawing.Node], List[Tuple[str, str]]]:
    nodes: Dict[str, _drawing.Node] = {}
    edges: List[Tuple[str, str]] = []
    for line in dot.splitlines():
        if edge := _EDGE.match(line):
            edges.append((edge[1], edge[2]))
        elif node := _NODE.match(line):
            tip = _TIP.search(node[3])
            kind = "value" if "style=rounded" in node[3] else "op"
            lines = tuple(_unquoted(node[2]).split("\n"))
            nodes[node[1]] = _drawing.Node(lines, kind, _unquoted(tip[1]) if tip else "")
    return nodes, edges


class Graph:
    """A model that shows itself in a notebook, as a picture or, if it is large, as a table."""

    def __init__(self, dot: str, json: Dict[str, Any], since: "Optional[Graph]" = None, path: Optional[str] = None):
        self.dot = dot  # the output of `lemma show --format=dot`
        self.json = json  # the object that `lemma show --json` prints
        self._read = [path, *(since._read if since is not None else ())]  # files of models
        self._nodes, self._edges = _read_dot(dot)
        if since is not None:
            known = set(since._nodes.values())
            for name, node in self._nodes.items():
                if node.kind == "op" and node not in known:
                    self._nodes[name] = node._replace(kind="new")

    @property
    def changed(self) -> List[str]:
        """The names of the values that operators without an equal in `since` compute."""
        return [node.tip.split("\n")[0] for node in self._nodes.values() if node.kind == "new"]

    @property
    def operators(self) -> int:
        return self.json["operators"]

    @property
    def by_operator(self) -> Dict[str, Dict[str, int]]:
        """For each operator, by name, a dict: count, flops and bytes."""
        return self.json["by_operator"]

    def svg(self) -> str:
        """The picture as SVG. For a large graph this takes seconds."""
        return _drawing.page([_drawing.draw(self._nodes, self._edges)], title=self.json["graph"])

    def save(self, path: _files.Path) -> None:
        """Writes the picture as SVG. InputError if PATH is a file of a model in it."""
        _files.check_output(path, self._read)
        _files.write_text(path, self.svg())

    def _is_picture(self) -> bool:
        return len(self._nodes) <= MOST_NODES

    def _repr_svg_(self) -> Optional[str]:
        return self.svg() if self._is_picture() else None

    def _repr_html_(self) -> str:
        if self._is_picture():
            return f"<div style='max-height:600px;overflow:auto'>{self.svg()}</div>"
        counts = sorted(self.by_operator.items(), key=lambda item: -item[1]["count"])
        rows = [(name, c["count"], f"{c['flops']:,}", f"{c['bytes']:,}") for name, c in counts]
        title = f"{self.json['graph']}: {self.operators} operators"
        return _tables.columns(title, ("operator", "count", "operations", "bytes"), rows)

    def __repr__(self) -> str:
        return f"<lemma.Graph: {self.operators} operators>"


@_arguments.checked
def show(
    model: _models.ModelLike,
    *,
    dims: Optional[Mapping[str, int]] = None,
    since: Optional[_models.ModelLike] = None,
) -> Graph:
    """A model as a graph that a notebook shows. `dims` fixes symbolic dimensions.

    Operators that the model `since` lacks have another color. Two operators count as the same if
    their attributes, the types of operands and result, and the name of the result are equal.
    """
    before = None if since is None else show(since, dims=dims)
    with _models.as_file(model) as path:
        arguments = ["show", path, *(f"--dim={name}={size}" for name, size in (dims or {}).items())]
        _, json = _command.run(arguments)
        _, dot = _command.text_of([*arguments, "--format=dot"])
    return Graph(dot, json, before, _models.path_of(model))
