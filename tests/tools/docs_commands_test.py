"""Every command in the pages exists and has the flags that are shown; every rule and graph is read.

Usage: docs_commands_test.py LEMMA
"""

import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PAGES = [*map(pathlib.Path, ("README.md", "CONTRIBUTING.md")), *sorted(pathlib.Path("docs").glob("*.md"))]
LEMMA = ""
# Commands of two words, each with a help page of its own.
PAIRS = {"costs": ["check"], "rules": ["show", "stats", "explain", "prune", "export", "import-taso"]}


def blocks(text):
    """The indented and the fenced blocks of a page, each a list of lines."""
    found, current, fenced = [], [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        inside = not fence and (fenced or line.startswith("    "))
        if inside:
            current.append(line if fenced else line[4:])
        elif current:
            found.append(current)
            current = []
        fenced ^= fence
    return [*found, *([current] if current else [])]


def commands(text):
    """What follows "lemma" in the blocks and in code inside of lines, one string each."""
    spans = re.findall(r"`((?:bazel-bin/cli/)?lemma [^`]+)`", text)
    lines = [line for block in blocks(text) for line in "\n".join(block).replace("\\\n", " ").splitlines()]
    for line in [*spans, *lines]:
        for command in re.findall(r"(?:^|--wrap='|sh -c ')(?:bazel-bin/cli/)?lemma ([a-z].*)", line.strip()):
            # A comment, a column of help and what a shell reads on its own are no part of it.
            if not re.fullmatch(r"certificate \d", command):  # the first line of such a file
                yield re.split(r"  |#|;| \| |'(?= |$)", command)[0].strip()


@functools.lru_cache(None)
def help_of(*command):
    done = subprocess.run([LEMMA, *command, "--help"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def problem(command):
    """Why the command is not one of ours, or None."""
    words = command.split()
    name = words[:1]
    if words[1:2] and words[1] in PAIRS.get(words[0], []):
        name = words[:2]
    text = help_of(*name)
    if not text:
        return f"lemma {command}: there is no such command"
    for flag in re.findall(r"(?<=\s)--?[a-z][\w-]*", command):
        if flag not in ("--help",) and not re.search(rf"(?<![\w-]){flag}(?![\w-])", text):
            return f"lemma {command}: lemma {' '.join(name)} has no {flag}"
    return None


def readable(kind, text):
    """The error that the command has with a rule or a graph; "" if it reads it."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        words = ["rules", "show", file.name] if kind == "rule" else ["prove", file.name, file.name]
        done = subprocess.run([LEMMA, *words], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr or done.stdout


class DocsTest(unittest.TestCase):
    def test_the_commands_and_flags_exist(self):
        seen = 0
        for page in PAGES:
            for command in commands(page.read_text()):
                seen += 1
                with self.subTest(page=str(page), command=command):
                    self.assertIsNone(problem(command))
        self.assertGreater(seen, 50)

    def test_the_page_on_commands_lists_them_as_the_help_does(self):
        (listed, *_) = blocks(pathlib.Path("docs/cli.md").read_text())
        helped = re.findall(r"^  (\w+.*)", help_of(), re.MULTILINE)
        self.assertEqual([re.sub(r"  +", "  ", line.removeprefix("lemma ")) for line in listed],
                         [re.sub(r"  +", "  ", line) for line in helped])

    def test_the_flags_of_the_page_on_commands_exist(self):
        names = [[name] for name in re.findall(r"^  (\w+) ", help_of(), re.MULTILINE)]
        names += [[first, second] for first, seconds in PAIRS.items() for second in seconds]
        known = "\n".join(help_of(*name) for name in [[], *names])
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", pathlib.Path("docs/cli.md").read_text()):
            with self.subTest(flag=flag):
                self.assertRegex(known, rf"(?<![\w-]){flag}(?![\w-])")

    def test_the_rules_and_graphs_are_read(self):
        seen = {"rule": 0, "graph": 0}
        for page in PAGES:
            for block in blocks(page.read_text()):
                first = next((l for l in block if not l.startswith("#")), "")
                kind = first.split(" ")[0]
                # The format of certificates shows rules with parts left out.
                if kind not in seen or "…" in first or "(" not in first:
                    continue
                seen[kind] += 1
                with self.subTest(page=str(page), first=first):
                    self.assertEqual(readable(kind, "\n".join(block) + "\n"), "")
        self.assertGreaterEqual(seen["rule"], 3)
        self.assertGreaterEqual(seen["graph"], 1)

    def test_the_changelog_and_the_citation_have_the_version(self):
        done = subprocess.run([LEMMA, "--version"], capture_output=True, text=True)
        version = done.stdout.split()[1]
        released = re.findall(r"^## (\d\S*) - \d{4}-\d\d-\d\d$", pathlib.Path("CHANGELOG.md").read_text(),
                              re.MULTILINE)
        self.assertEqual(released[:1], [version])
        citation = pathlib.Path("CITATION.cff").read_text()
        for field in ("cff-version", "message", "title", "authors"):  # what the format demands
            self.assertRegex(citation, rf"(?m)^{field}:")
        self.assertRegex(citation, rf"(?m)^version: {re.escape(version)}$")

    def test_what_is_wrong_is_found(self):
        text = "Say `lemma verify R --no-such`.\n\n    lemma nothing x\n    lemma run m.onnx  # --fine\n"
        found = [problem(command) for command in commands(text)]
        self.assertEqual(found, ["lemma verify R --no-such: lemma verify has no --no-such",
                                 "lemma nothing x: there is no such command", None])
        self.assertIn("no_such_operator", readable("rule", "rule r(x: [n]) bit_exact {\n  y = no_such_operator(x)\n  return y\n} => {\n  return x\n}\n"))


if __name__ == "__main__":
    LEMMA = sys.argv.pop(1)
    unittest.main()
