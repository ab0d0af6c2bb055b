"""Builds the site: build.py OUTPUT [LEMMA]. tools/build_site runs it with the Python of MkDocs."""

import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import package

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[2]


def fail(message, status=2):
    print(f"build_site: {message}", file=sys.stderr)
    sys.exit(status)


def build(folder, rules):
    """Writes the pages, and those of rules if there is such a folder.

    Returns false, and has said why, if there is a warning.
    """
    from mkdocs.commands.build import build as build_pages
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException

    logging.basicConfig(format="build_site: %(levelname)s: %(message)s", level=logging.WARNING)
    try:
        # What the configuration warns about is counted too.
        build_pages(load_config(str(SITE / "mkdocs.yml"), site_dir=str(folder), strict=True, extra={"rules": rules}))
    except (MkDocsException, SystemExit) as error:
        print(f"build_site: {str(error).strip()}", file=sys.stderr)
        return False
    return True


def save_rules(lemma, folder):
    """Writes the pages of all built-in rules."""
    with tempfile.TemporaryDirectory() as work:
        package.unpack(lemma, work)
        program = "import lemma, sys; lemma.rules('all').save_html(sys.argv[1])"
        subprocess.run([sys.executable, "-c", program, folder], check=True, env={**os.environ, "PYTHONPATH": work})


def main(output, lemma=None):
    output = pathlib.Path(output).resolve()
    if output.exists() and not output.is_dir():
        fail(f"{output} is not a folder")
    if output.is_dir() and any(output.iterdir()) and not (output / "search/search_index.json").exists():
        fail(f"{output} is not empty and has no site in it; name another folder, or empty it")
    try:
        import mkdocs.utils

        themes = mkdocs.utils.get_theme_names()
    except ImportError:
        themes = []
    if "material" not in themes:
        fail("MkDocs and its theme Material are missing; tools/install --docs installs them")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".site-") as work:
        made, rules = pathlib.Path(work, "site"), pathlib.Path(work, "rules")
        if lemma:
            save_rules(lemma, rules)
        if not build(made, str(rules) if lemma else ""):
            fail("there is no new site", 1)
        if output.exists():
            shutil.rmtree(output)
        made.rename(output)
    print(f"build_site: {output}/index.html; with search: python3 -m http.server -d {output}")


if __name__ == "__main__":
    main(*sys.argv[1:])
