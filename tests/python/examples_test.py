"""Runs the examples of docs/python.md, one after the other, in a folder with model.onnx.

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


class ExamplesTest(unittest.TestCase):
    def test_examples_run(self):
        page = (ROOT / "docs" / "python.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertGreaterEqual(len(examples), 4)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(MODELS / "light_squeezenet.onnx", os.path.join(folder, "model.onnx"))
            os.chdir(folder)
            names = {}
            for example in examples:
                exec(compile(example, "docs/python.md", "exec"), names)  # pylint: disable=exec-used
            self.assertTrue(os.path.exists("faster.onnx.cert"))


if __name__ == "__main__":
    ROOT, MODELS = map(pathlib.Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
