"""Runs the examples of docs/python.md, one after the other, in a folder with model.onnx; and those
of docs/tutorial-referee.md that need nothing but the package.

Usage: examples_test.py ROOT MODELS
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

ROOT, MODELS = pathlib.Path(), pathlib.Path()


def examples_of(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


class ExamplesTest(unittest.TestCase):
    def test_examples_run(self):
        examples = examples_of("python.md")
        self.assertGreaterEqual(len(examples), 4)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(MODELS / "light_squeezenet.onnx", os.path.join(folder, "model.onnx"))
            os.chdir(folder)
            names = {}
            for example in examples:
                exec(compile(example, "docs/python.md", "exec"), names)  # pylint: disable=exec-used
            self.assertTrue(os.path.exists("faster.onnx.cert"))

    def test_the_tutorial_runs(self):
        examples = examples_of("tutorial-referee.md")
        own = [i for i, example in enumerate(examples) if example.startswith("import lemma")]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(ROOT / "data", os.path.join(folder, "data"))
            os.chdir(folder)
            names = {}
            for example in examples[own[0]:]:
                exec(compile(example, "docs/tutorial-referee.md", "exec"), names)  # pylint: disable=exec-used
            self.assertEqual(names["wrong"].verdict, "refuted")
            self.assertTrue(os.path.exists("page.html"))
            self.assertTrue(os.path.exists("difference/input_0.pb"))


if __name__ == "__main__":
    ROOT, MODELS = map(pathlib.Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
