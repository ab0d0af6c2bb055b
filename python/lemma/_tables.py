"""Short tables (HTML) for notebooks. They set no colors, so the page's colors apply."""

from html import escape
from typing import Any, Iterable, Sequence, Tuple

_CELL = "style='text-align:left;padding:2px 10px'"


def pairs(title: str, rows: Iterable[Tuple[str, Any]]) -> str:
    """A table of names and values; values that are None or "" are left out."""
    lines = [
        f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL}>{escape(str(value))}</td></tr>"
        for name, value in rows
        if value is not None and value != ""
    ]
    return f"<table><caption {_CELL}><b>{escape(title)}</b></caption>{''.join(lines)}</table>"


def columns(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], most: int = 20) -> str:
    """A table with a line for each row, at most `most` of them."""
    lines = ["<tr>" + "".join(f"<th {_CELL}>{escape(head)}</th>" for head in heads) + "</tr>"]
    for row in rows[:most]:
        lines.append("<tr>" + "".join(f"<td {_CELL}>{escape(str(cell))}</td>" for cell in row) + "</tr>")
    if len(rows) > most:
        lines.append(f"<tr><td {_CELL} colspan='{len(heads)}'>… and {len(rows) - most} more</td></tr>")
    return f"<table><caption {_CELL}><b>{escape(title)}</b></caption>{''.join(lines)}</table>"


def milliseconds(value: "float | None") -> str:
    return "" if value is None else f"{value:.3f} ms"
