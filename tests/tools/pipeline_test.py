"""docs/pipeline: the script judges pairs of models, and the files that call it use flags that exist.

Usage: pipeline_test.py LEMMA
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LEMMA = ""
FOLDER = pathlib.Path("docs/pipeline").resolve()
SCRIPT = FOLDER / "referee_changed"

# Answers as the second model says: "STATUS VERDICT [CONTRACT]". Most cases need no proofs.
STUB = """#!/usr/bin/env bash
read -r status verdict contract <"$3"
echo "{\\"verdict\\":\\"$verdict\\"${contract:+,\\"contract\\":\\"$contract\\"},\\"regions\\":[]}"
exit "$status"
"""

TWICE = "graph g(x: f32[5]) { a = relu(x) y = relu(a) return y }"
ONCE = "graph h(x: f32[5]) { y = relu(x) return y }"
OTHER = "graph h(x: f32[5]) { y = neg(x) return y }"
SCORES = "graph a(x: f32[5]) { y = softmax(x) {axis = 0} z = argmax(y) {axis = 0} return z }"
LARGEST = "graph b(x: f32[5]) { z = argmax(x) {axis = 0} return z }"


class PipelineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("stub", STUB)
        (self.folder / "stub").chmod(0o755)
        for name, text in {"good": "0 proved bit_exact", "bad": "1 refuted", "open": "4 unknown",
                           "loose": "1 proved real_only"}.items():
            self.write(f"{name}.onnx", "")
            self.write(f"{name}.optimized.onnx", text)
        self.write("alone.onnx", "0 proved bit_exact")

    def write(self, name, text):
        # The format is recognized by content, not by name.
        (self.folder / name).write_text(text)

    def judge(self, *arguments, lemma="./stub"):
        """The exit status, and the lines that are printed."""
        done = subprocess.run([SCRIPT, f"--lemma={lemma}", *arguments], cwd=self.folder,
                              capture_output=True, text=True)
        self.error = done.stderr
        return done.returncode, done.stdout.splitlines()

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
                       cwd=self.folder, check=True, capture_output=True)

    def test_the_referee_itself(self):
        for name, before, after in [("good", TWICE, ONCE), ("bad", TWICE, OTHER), ("open", SCORES, LARGEST)]:
            self.write(f"{name}.onnx", before)
            self.write(f"{name}.optimized.onnx", after)
        status, lines = self.judge("good.onnx", "bad.onnx", "open.onnx", "--work=10000", "--reports=out",
                                   lemma=LEMMA)
        self.assertEqual((status, lines), (1, ["good.optimized.onnx: proved (bit_exact)",
                                               "bad.optimized.onnx: refuted",
                                               "open.optimized.onnx: unknown"]), self.error)
        self.assertEqual(sorted(os.listdir(self.folder / "out")),
                         [f"{name}.optimized.onnx.{kind}" for name in ("bad", "good", "open")
                          for kind in ("html", "json")])
        self.assertEqual(self.judge("good.onnx", "--no-such", lemma=LEMMA),
                         (2, ["good.optimized.onnx: failed"]))
        self.assertIn("--no-such", self.error)

    def test_exit_statuses(self):
        self.assertEqual(self.judge("good.optimized.onnx"), (0, ["good.optimized.onnx: proved (bit_exact)"]))
        self.assertEqual(self.judge("bad.optimized.onnx"), (1, ["bad.optimized.onnx: refuted"]))
        self.assertEqual(self.judge("open.optimized.onnx"), (4, ["open.optimized.onnx: unknown"]))
        self.assertEqual(self.judge("open.optimized.onnx", "--allow-unknown")[0], 0)
        # What is worst.
        self.assertEqual(self.judge("bad.onnx", "open.onnx", "good.onnx")[0], 1)
        self.assertEqual(self.judge("open.onnx", "good.onnx")[0], 4)

    def test_a_contract_that_is_not_accepted(self):
        self.assertEqual(
            self.judge("loose.onnx", "--accept=reassociates"),
            (1, ["loose.optimized.onnx: proved (real_only), which --accept does not allow"]))

    def test_a_pair_is_judged_once(self):
        status, lines = self.judge("good.onnx", "good.optimized.onnx", "alone.onnx", "stub")
        self.assertEqual((status, len(lines)), (0, 1))
        self.assertEqual(self.judge("alone.onnx"), (0, []))
        self.assertIn("no pair of models", self.error)

    def test_another_suffix(self):
        self.write("alone.fast.onnx", "1 refuted")
        self.assertEqual(self.judge("--suffix", ".fast", "alone.onnx"), (1, ["alone.fast.onnx: refuted"]))

    def test_against_a_revision(self):
        self.git("init", "-q")
        self.git("add", "good.onnx", "alone.onnx")
        self.git("commit", "-q", "-m", "models")
        self.write("good.onnx", "0 proved bit_exact")
        self.write("alone.onnx", "1 refuted")
        status, lines = self.judge("--since=HEAD", "good.onnx", "alone.onnx", "bad.onnx")
        self.assertEqual((status, lines), (1, ["good.onnx: proved (bit_exact)", "alone.onnx: refuted"]))

    def test_wrong_use(self):
        self.assertEqual(self.judge("good.onnx", lemma="no-such"), (2, []))
        self.assertIn("there is no command 'no-such'", self.error)
        self.assertEqual(self.judge("--since=no-such", "good.onnx"), (2, []))
        self.assertEqual(self.judge("good.onnx", "--suffix"), (2, []))

    def test_the_files_that_call_it_use_flags_that_exist(self):
        known = subprocess.run([SCRIPT, "--help"], capture_output=True, text=True).stdout
        known += subprocess.run([LEMMA, "referee", "--help"], capture_output=True, text=True).stdout
        for name in ("referee.yml", "pre-commit-config.yaml"):
            text = (FOLDER / name).read_text()
            self.assertIn("/referee_changed", text)
            calls = re.findall(r"referee_changed --(?:[^\n]|\\\n)*|args: .*", text)
            flags = [flag for call in calls for flag in re.findall(r"(?<![\w-])--[a-z-]+", call)]
            self.assertIn("--accept", flags)
            for flag in flags:
                with self.subTest(file=name, flag=flag):
                    self.assertRegex(known, rf"{flag}(?![\w-])")


if __name__ == "__main__":
    LEMMA = os.path.abspath(sys.argv.pop(1))
    unittest.main()
