"""Writes a page (HTML) for each rule, and a list of them with a search field."""

import os
import pathlib
from html import escape
from typing import Any, List, Sequence, Tuple

from lemma import _files

_STYLE = """<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8886; }
input { font: inherit; width: 100%; padding: .5rem; box-sizing: border-box; }
pre, .picture { overflow: auto; }
pre { padding: .75rem; border: 1px solid #8886; }
</style>"""
# Each word has to occur in a row. Without scripts the whole list is shown.
_SEARCH = """<script>
const field = document.getElementById("search"), count = document.getElementById("count");
const rows = [...document.querySelectorAll("tbody tr")];
const search = () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    row.hidden = !words.every((word) => row.dataset.text.includes(word));
    shown += !row.hidden;
  }
  count.textContent = `${shown} of ${rows.length} rules`;
  history.replaceState(null, "", words.length ? "#" + encodeURIComponent(field.value) : location.pathname);
};
field.value = decodeURIComponent(location.hash.slice(1));
field.addEventListener("input", search);
if (field.value) search();
</script>"""


def _page(title: str, body: str) -> str:
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title>{_STYLE}</head>\n<body>\n{body}\n</body></html>\n"
    )


def _file(name: str) -> str:
    return f"rule-{name}.html"


def _index(rules: Sequence[Any]) -> str:
    rows = []
    for rule in rules:
        cells = (rule.json["source"], rule.json["target"], rule.contract, rule.json["record"])
        text = " ".join((rule.name, *cells, rule.json["guard"])).lower()
        shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(
            f"<tr data-text='{escape(text, quote=True)}'>"
            f"<td><a href='{_file(rule.name)}'>{rule.name}</a></td>{shown}</tr>"
        )
    heads = "".join(f"<th>{head}</th>" for head in ("rule", "source", "target", "contract", "record"))
    return _page(
        "Rules",
        f"<h1>Rules</h1>\n<p><label for='search'>Names, operators, contracts:</label>"
        "<input id='search' type='search' placeholder='conv2d concat' autofocus></p>\n"
        f"<p id='count' aria-live='polite'>{len(rules)} rules</p>\n"
        f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n" + "\n".join(rows) + f"\n</tbody></table>\n{_SEARCH}",
    )


def _facts(rule: Any) -> List[Tuple[str, str]]:
    """Rows of the table. A rule's comments have its equation and changes that make it false."""
    comments = [line.strip() for line in rule.json["doc"].splitlines() if line.strip()]
    mutants = [line[len("mutant:"):].strip() for line in comments if line.startswith("mutant:")]
    meaning = [line for line in comments if not line.startswith("mutant:")]
    facts = [("meaning", " ".join(meaning))] + rule._facts()
    return facts + [("false with", text) for text in mutants] + [("proof id", rule.json["id"])]


def _rule(rule: Any, before: str, after: str) -> str:
    facts = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in _facts(rule)
        if value
    )
    links = ["<a href='index.html'>all rules</a>"]
    links += [f"<a href='{_file(name)}' rel='{rel}'>{rel}</a>" for rel, name in (("prev", before), ("next", after)) if name]
    return _page(
        rule.name,
        f"<nav>{' · '.join(links)}</nav>\n<h1>{rule.name}</h1>\n<div class='picture'>{rule.svg()}</div>\n"
        f"<table>{facts}</table>\n<h2>Text</h2>\n<pre>{escape(rule.text)}</pre>",
    )


def write(rules: Sequence[Any], folder: _files.Path) -> None:
    """Writes the pages into a folder, which is made if it does not exist."""
    root = pathlib.Path(folder)
    os.makedirs(root, exist_ok=True)
    names = [rule.name for rule in rules]
    for i, rule in enumerate(rules):
        before = names[i - 1] if i > 0 else ""
        after = names[i + 1] if i + 1 < len(names) else ""
        _files.write_text(root / _file(rule.name), _rule(rule, before, after))
    _files.write_text(root / "index.html", _index(rules))
