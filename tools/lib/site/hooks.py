"""What MkDocs has to know about pages that are written for the repository.

Pages at the root become pages of the site. A link to a file that is no page leads to a copy: files
that a browser shows as they are (`PLAIN`) are copied, others become a page that shows their text.
A link to a folder becomes its text. Pages are written in the Markdown of most hosts of repositories,
which indents lists by less and names headings in another way than MkDocs.
"""

import html
import os
import pathlib
import re

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[2]
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PLAIN = {".json", ".png", ".svg", ".txt"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
LIST_ITEM = re.compile(r"([-*]|\d+\.) +")
SOURCE_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path}</title><style>body {{ font-family: sans-serif; margin: 1rem; }} pre {{ overflow: auto; }}
.linenos {{ user-select: none; }}
{style}</style></head>
<body><p><a href="{home}">Lemma</a> / {path}</p>
{code}</body></html>
"""


def anchor(heading, separator="-"):
    """What a heading is linked by, as in tools/check_links.py."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def copy_name(path):
    """Where the site has a file of the repository that is no page."""
    return f"files/{path}" if pathlib.PurePosixPath(path).suffix in PLAIN else f"files/{path}.html"


def target_of(page, link):
    """The file or folder to which a page links, relative to the root, and the fragment; or None."""
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return None
    name, _, fragment = link.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), name))
    if path.startswith("..") or not (ROOT / path).exists():
        return None
    return path, fragment


def is_page(path):
    return path in ROOT_PAGES or bool(re.fullmatch(r"docs/[\w-]+\.md", path))


def linked_files(pages):
    """The files that are no pages and to which pages link."""
    found = set()
    for page in pages:
        for _, _, link in LINK.findall((ROOT / page).read_text()):
            target = target_of(page, link)
            if target and not is_page(target[0]) and (ROOT / target[0]).is_file():
                found.add(target[0])
    return sorted(found)


def with_links(page, text):
    """The text of a page with links as the site has them. All pages of the site lie in one folder."""

    def replace(match):
        mark, shown, link = match.groups()
        target = target_of(page, link)
        if target is None:
            return match[0]
        path, fragment = target
        if (ROOT / path).is_dir():
            return shown if path in shown else f"{shown} (`{path}`)"
        place = path.rpartition("docs/")[2] if is_page(path) else copy_name(path)
        return f"{mark}[{shown}]({place}{'#' + fragment if fragment else ''})"

    return LINK.sub(replace, text)


def with_list_indents(text):
    """The text with lists as MkDocs expects them: four more spaces of indent in each item, and an
    empty line between a paragraph and an item.
    """
    result, items, shift, in_code = [], [], 0, False
    starts_with_item = False  # the lines since the last empty one
    for line in text.splitlines():
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if body and not in_code:
            while items and indent < items[-1]:
                items.pop()
            outer = items[-1] if items else 0
            shift = 4 * len(items) - outer
            item = LIST_ITEM.match(body) if indent - outer < 4 else None
            if not result or not result[-1]:
                starts_with_item = bool(item)
            elif item and not starts_with_item:
                result.append("")
                starts_with_item = True
            if item:
                items.append(indent + item.end())
        if body.startswith("```"):
            in_code = not in_code
        result.append(" " * (indent + shift) + body if body else "")
    return "\n".join(result) + "\n"


def with_bars(text):
    """In code in tables, a bar needs no backslash."""
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0]),
        text, flags=re.MULTILINE)


def source_page(path):
    """A page that shows a file."""
    from pygments import highlight, lexers, util
    from pygments.formatters import HtmlFormatter

    text = (ROOT / path).read_text()
    try:
        lexer = lexers.guess_lexer_for_filename(path.replace(".inc", ".cc").replace(".bazel", ".py"), text)
    except util.ClassNotFound:
        lexer = lexers.TextLexer()
    formatter = HtmlFormatter(linenos="inline", lineanchors="line", anchorlinenos=True)
    return SOURCE_PAGE.format(
        path=html.escape(path), home="../" * copy_name(path).count("/") + "index.html",
        style=formatter.get_style_defs(), code=highlight(text, lexer, formatter))


def on_config(config):
    config.mdx_configs["toc"]["slugify"] = anchor
    return config


def on_files(files, config):
    from mkdocs.structure.files import File

    for file in [file for file in files if not file.is_documentation_page()]:
        if file.abs_src_path.startswith(config.docs_dir):
            files.remove(file)

    def add(name, folder):
        files.append(File(name, str(folder), config.site_dir, config.use_directory_urls))

    for name in ROOT_PAGES:
        add(name, ROOT)
    pages = [page_path(file) for file in files.documentation_pages()]
    for path in linked_files(pages):
        name = copy_name(path)
        place = pathlib.Path(config.site_dir, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".html"):
            place.write_text(source_page(path))
        else:
            place.write_bytes((ROOT / path).read_bytes())
        add(name, config.site_dir)  # it is where it belongs
    rules = config.extra.get("rules")
    for path in sorted(pathlib.Path(rules).iterdir()) if rules else ():
        add(f"rules/{path.name}", path.parents[1])
    return files


def page_path(file):
    """The path of a page in the repository."""
    return file.src_uri if file.src_uri in ROOT_PAGES else f"docs/{file.src_uri}"


def on_page_markdown(markdown, page, config, files):
    text = with_bars(with_list_indents(with_links(page_path(page.file), markdown)))
    if page.file.src_uri == "rules.md" and config.extra.get("rules"):
        text += "\n[All built-in rules](rules/index.html), with pictures and search.\n"
    return text


def on_post_build(config):
    # Its addresses need that of the site, which is not known here.
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        pathlib.Path(config.site_dir, name).unlink(missing_ok=True)
