"""Runs the examples of pages in docs/, in order, in a folder with a link to data/: Python is executed,
and a command must print what the page shows below it, and end as it says.

Usage: examples_test.py ROOT MODELS
"""

import contextlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import lemma

ROOT, MODELS = pathlib.Path(), pathlib.Path()


def blocks_of(text):
    """The examples of a page: ("python", code) or ("command", words, exit status, lines)."""
    found = []
    for block in re.finditer(r"^```(\w*)\n((?:.|\n)*?)^```$|(?:^    .*\n)+", text, re.MULTILINE):
        if block[2] is not None:
            if block[1] == "python":
                found.append(("python", block[2]))
            continue
        joined = re.sub(r"\\\n\s*", "", re.sub(r"^    ", "", block[0], flags=re.MULTILINE))
        for line in joined.splitlines():
            if line.startswith("lemma "):
                command, _, status = line.partition("  # exit status ")
                found.append(("command", shlex.split(command)[1:], int(status or 0), []))
            elif found and found[-1][0] == "command":
                found[-1][3].append(line)
    return found


@contextlib.contextmanager
def folder_with_data():
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "data", os.path.join(folder, "data"))
        shutil.copyfile(MODELS / "light_squeezenet.onnx", os.path.join(folder, "model.onnx"))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


class ExamplesTest(unittest.TestCase):
    def run_page(self, page, blocks=None):
        """Executes the examples; returns Python's names and what was printed."""
        if blocks is None:
            blocks = blocks_of((ROOT / "docs" / page).read_text())
        names, printed = {}, io.StringIO()
        for kind, *rest in blocks:
            if kind == "python":
                with contextlib.redirect_stdout(printed):
                    exec(compile(rest[0], page, "exec"), names)  # pylint: disable=exec-used
                continue
            words, status, lines = rest
            done = subprocess.run(
                [lemma._command.binary(), *words], capture_output=True, text=True,
            )
            self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
            for line in lines:
                for part in line.split("…"):
                    self.assertIn(" ".join(part.split()), " ".join(done.stdout.split()), words)
        return names, printed.getvalue()

    def comments_are_true(self, page, printed):
        """A comment behind a print is what it prints."""
        said = re.findall(r"^ *print\(.*\)  # (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        for text in said:
            self.assertIn(text.split("…")[0], printed)
        return len(said)

    def needs(self, *modules):
        for module in modules:
            try:
                __import__(module)
            except ImportError:
                self.skipTest(f"needs the package {module}")

    def test_the_reference(self):
        blocks = [b for b in blocks_of((ROOT / "docs" / "python.md").read_text()) if b[0] == "python"]
        try:
            import onnx  # from_torch needs both
            import torch
        except ImportError:
            blocks = [block for block in blocks if "torch" not in block[1]]
        else:
            compiles = hasattr(torch, "compile")  # since PyTorch 2
            blocks = [block for block in blocks if compiles or "torch.compile" not in block[1]]
        self.assertGreaterEqual(len(blocks), 8)
        with folder_with_data():
            self.run_page("python.md", blocks)
            self.assertTrue(os.path.exists("faster.onnx.cert"))

    def test_the_first_five_minutes(self):
        with folder_with_data():
            _, printed = self.run_page("quick-start.md")
            self.assertGreaterEqual(self.comments_are_true("quick-start.md", printed), 2)
            self.assertTrue(os.path.exists("better.txt.cert"))

    def test_the_tutorial(self):
        self.needs("onnx", "torch")
        with folder_with_data():
            names, printed = self.run_page("tutorial-python.md")
            self.assertGreaterEqual(self.comments_are_true("tutorial-python.md", printed), 3)
            self.assertEqual(names["verdict"].verdict, "proved")
            self.assertTrue(os.path.exists("after.svg"))

    def test_operators_of_your_own(self):
        self.addCleanup(lemma._command.DEFINITIONS.clear)
        with folder_with_data():
            _, printed = self.run_page("operators-of-your-own.md")
            self.assertGreaterEqual(self.comments_are_true("operators-of-your-own.md", printed), 1)
            for made in ("found.txt", "faster.txt.cert", "step.lemma"):
                self.assertTrue(os.path.exists(made), made)

    def test_the_tutorial_for_the_referee(self):
        # Its commands run in tests/cli/referee, and its other examples need other programs.
        blocks = blocks_of((ROOT / "docs" / "tutorial-referee.md").read_text())
        blocks = [block for block in blocks if block[0] == "python"]
        own = [i for i, block in enumerate(blocks) if block[1].startswith("import lemma")]
        with folder_with_data():
            names, _ = self.run_page("tutorial-referee.md", blocks[own[0]:])
            self.assertEqual(names["wrong"].verdict, "refuted")
            self.assertTrue(os.path.exists("page.html"))
            self.assertTrue(os.path.exists("difference/input_0.pb"))

    def test_a_wrong_example_is_noticed(self):
        page = "```python\nx = 1\n```\n\n    lemma op relu\n    no such line\n    lemma op rellu  # exit status 2\n"
        blocks = blocks_of(page)
        self.assertEqual([block[0] for block in blocks], ["python", "command", "command"])
        self.assertEqual(blocks[2][1:], (["op", "rellu"], 2, []))
        with self.assertRaisesRegex(AssertionError, "no such line"):
            self.run_page("page", blocks)
        with self.assertRaisesRegex(AssertionError, "rellu"):
            self.run_page("page", [("command", ["op", "rellu"], 0, [])])


if __name__ == "__main__":
    ROOT, MODELS = map(pathlib.Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
