"""Draws graphs as SVG, with colors for light and dark pages."""

from typing import Dict, List, NamedTuple, Sequence, Tuple
from xml.sax.saxutils import escape, quoteattr

from lemma import _layout

_CHARACTER = 6.9  # the width of a character, roughly
_LINE = 15.0
_MARGIN = 12.0
_FONT = "font-family='Helvetica,Arial,sans-serif' font-size='12'"
# A drawing has its own background, so it does not depend on the page's colors. A viewer that
# ignores the style shows the light colors, which are attributes of the elements.
_DARK = (
    "<style>@media (prefers-color-scheme: dark) {"
    ".lemma-page{fill:#1b1f23}.lemma-op{fill:#2b323a;stroke:#8b98a5}"
    ".lemma-value{fill:#17324d;stroke:#6ea8dc}.lemma-new{fill:#4d3610;stroke:#e0a345}"
    ".lemma-text{fill:#e6e9ec}"
    ".lemma-edge{stroke:#a3adb8}.lemma-head{fill:#a3adb8}}</style>"
)
_FILL = {
    "op": ("#f4f6f8", "#5b6770"),
    "value": ("#e6f0fa", "#3a6ea5"),
    "new": ("#fff0d4", "#b36b00"),
}


class Node(NamedTuple):
    """A box: its lines of text, its kind (a key of `_FILL`), and the text that hovering shows."""

    lines: Tuple[str, ...]
    kind: str
    tip: str = ""


class Drawn(NamedTuple):
    """SVG elements of a picture whose top left corner is (0, 0), and the picture's size."""

    elements: List[str]
    width: float
    height: float


def draw(nodes: Dict[str, Node], edges: Sequence[Tuple[str, str]]) -> Drawn:
    """Draws a graph, operands above their readers."""
    sizes = {}
    for name, node in nodes.items():
        widest = max(map(len, node.lines))
        sizes[name] = (16 + _CHARACTER * widest, 8 + _LINE * len(node.lines))
    placed = _layout.place(list(nodes), edges, sizes)
    elements = [_edge(line) for line in placed.lines]
    for name, node in nodes.items():
        elements.append(_box(node, placed.centers[name], sizes[name]))
    return Drawn(elements, placed.width, placed.height)


def _edge(line: Sequence[Tuple[float, float]]) -> str:
    path = [f"M{line[0][0]:.1f},{line[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in zip(line, line[1:]):
        middle = (y0 + y1) / 2
        if x0 == x1:
            path.append(f"V{y1:.1f}")
            continue
        path.append(f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}")
    x, y = line[-1]
    return (
        f"<path class='lemma-edge' d='{' '.join(path)}' fill='none' stroke='#5b6770'/>"
        f"<path class='lemma-head' d='M{x - 3.5:.1f},{y - 6:.1f}h7l-3.5,6z' fill='#5b6770'/>"
    )


def _box(node: Node, center: Tuple[float, float], size: Tuple[float, float]) -> str:
    (x, y), (width, height) = center, size
    fill, stroke = _FILL[node.kind]
    radius = height / 2 if node.kind == "value" else 4
    parts = [f"<g><title>{escape(node.tip)}</title>" if node.tip else "<g>"]
    parts.append(
        f"<rect class='lemma-{node.kind}' x='{x - width / 2:.1f}' y='{y - height / 2:.1f}'"
        f" width='{width:.1f}' height='{height:.1f}' rx='{radius:.1f}' fill='{fill}' stroke='{stroke}'/>"
    )
    first = y - _LINE * (len(node.lines) - 1) / 2 + 4
    for i, line in enumerate(node.lines):
        parts.append(_text(x, first + i * _LINE, line))
    return "".join(parts) + "</g>"


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return (
        f"<text class='lemma-text' x='{x:.1f}' y='{y:.1f}' text-anchor='middle' fill='#1b1f23'{more}>"
        f"{escape(text)}</text>"
    )


def page(pictures: Sequence[Drawn], between: str = "", title: str = "") -> str:
    """One SVG with the pictures side by side, and the text `between` between them."""
    gap = 40.0 if between else 20.0
    height = max((picture.height for picture in pictures), default=0.0)
    width = sum(picture.width for picture in pictures) + gap * max(0, len(pictures) - 1)
    parts, x = [], _MARGIN
    for i, picture in enumerate(pictures):
        if i > 0:
            parts.append(_text(x - gap / 2, _MARGIN + height / 2 + 6, between, " style='font-size:20px'"))
        top = _MARGIN + (height - picture.height) / 2
        parts.append(f"<g transform='translate({x:.1f},{top:.1f})'>{''.join(picture.elements)}</g>")
        x += picture.width + gap
    width, height = width + 2 * _MARGIN, height + 2 * _MARGIN
    name = f" role='img' aria-label={quoteattr(title)}" if title else ""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}'"
        f" viewBox='0 0 {width:.1f} {height:.1f}' {_FONT}{name}>{_DARK}"
        f"<rect class='lemma-page' width='100%' height='100%' fill='#ffffff'/>{''.join(parts)}</svg>"
    )
