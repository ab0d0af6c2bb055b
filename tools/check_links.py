#!/usr/bin/env python3
"""Checks that the files and headings to which pages link exist.

Usage: tools/check_links.py [ROOT]

Reads every Markdown file that git tracks. Prints one line per broken link as file:line: message;
exit status 1 if there is one. Links to other hosts are not opened.
"""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$")
PATH = re.compile(
    r"`((?:api|base|cli|data|docs|generator|graph|kernels|optimizer|pet|rewrite|runtime|tests"
    r"|third_party|tools|verifier)/[\w./-]*\w)`"
)


def anchor(heading):
    """What a heading is linked by."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def lines_of(path):
    """Line numbers and lines outside of code blocks."""
    in_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def anchors_of(path):
    return {anchor(m[1]) for _, line in lines_of(path) if (m := HEADING.match(line))}


def link_problem(root, page, target):
    """Why a page may not link to `target`, or None."""
    if re.match(r"[a-z]+:", target):
        return None
    name, _, fragment = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return f"there is no {target}"
    if fragment and file.suffix == ".md" and fragment not in anchors_of(file):
        return f"{file.relative_to(root)} has no heading #{fragment}"
    return None


def check(root):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split("\0")
    problems = []
    for name in sorted(filter(None, listed)):
        page = root / name
        if not page.exists():
            continue
        for number, line in lines_of(page):
            for target in LINK.findall(line):
                if problem := link_problem(root, page, target):
                    problems.append(f"{name}:{number}: {problem}")
            # The changelog speaks of what was.
            if name == "CHANGELOG.md":
                continue
            for path in PATH.findall(line):
                if re.search(r"[A-Z]{3}", path):  # NAME stands for any
                    continue
                if not (root / path).exists() and not list(root.glob(path + ".*")):
                    problems.append(f"{name}:{number}: there is no {path}")
    return problems


def main(arguments):
    if "--help" in arguments or "-h" in arguments:
        print(__doc__.strip())
        return 0
    here = pathlib.Path(__file__).resolve().parent.parent
    problems = check(pathlib.Path(arguments[0]).resolve() if arguments else here)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
