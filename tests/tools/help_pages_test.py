"""Man pages and completion name every command and flag that the help of the command names.

Usage: help_pages_test.py LEMMA
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path("tools/lib/package/help_pages.py")
LEMMA = ""


def text_of(*command):
    return subprocess.run([LEMMA, *command, "--help"], check=True, capture_output=True, text=True).stdout


def commands():
    """The words of each command, from the text for people."""
    names = re.findall(r"^  (\w+) ", text_of(), re.MULTILINE)
    found = []
    for name in names:
        found.append((name,))
        for several in re.findall(rf"^More help: lemma {name} (\S+) --help", text_of(name), re.MULTILINE):
            found += [(name, word) for word in several.split("|")]
    return found


def flags(*command):
    """The flags that the text for people lists: at the start of an indented line."""
    lines = re.findall(r"^  ((?:-\w, )?--[a-z][\w-]*)", text_of(*command), re.MULTILINE)
    return {flag for line in lines for flag in line.split(", ")}


class HelpPagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.share = pathlib.Path(cls.scratch.name) / "share"
        subprocess.run([sys.executable, SCRIPT, LEMMA, cls.scratch.name], check=True)
        cls.commands = commands()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_text_is_understood(self):
        self.assertGreater(len(self.commands), 20)
        self.assertIn(("rules", "import-taso"), self.commands)
        self.assertIn(("costs", "check"), self.commands)
        self.assertLess({"-o", "--output", "--effort", "--help"}, flags("optimize"))

    def test_a_man_page_has_each_flag(self):
        pages = {path.name for path in (self.share / "man/man1").iterdir()}
        self.assertEqual(pages, {"lemma.1", *(f"lemma-{'-'.join(words)}.1" for words in self.commands)})
        top = (self.share / "man/man1/lemma.1").read_text()
        for words in self.commands:
            page = (self.share / f"man/man1/lemma-{'-'.join(words)}.1").read_text()
            found = set(re.findall(r"\\fB((?:\\-)+[\w\\-]+)\\fR", page))
            self.assertEqual({flag.replace("\\", "") for flag in found}, flags(*words) | {"-h"}, words)
            self.assertIn("lemma\\-" + "\\-".join(word.replace("-", "\\-") for word in words), top)

    def test_man_pages_are_well_formed(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        for page in (self.share / "man/man1").iterdir():
            done = subprocess.run(["groff", "-ww", "-man", "-Kutf8", "-Tutf8", page], check=True, capture_output=True)
            self.assertEqual(done.stderr, b"", page)

    def bash(self, *words):
        """What bash offers for the last word."""
        script = f"""source "{self.share}/bash-completion/completions/lemma"
COMP_WORDS=(lemma "$@") COMP_CWORD=$#
_lemma
printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = subprocess.run(["bash", "-c", script, "bash", *words], check=True, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_bash_offers_each_command_and_flag(self):
        self.assertEqual(self.bash(""), {words[0] for words in self.commands})
        self.assertEqual(self.bash("ver"), {"verify"})
        for words in self.commands:
            self.assertEqual(self.bash(*words, "-"), flags(*words) | {"-h"}, words)
            following = {other[-1] for other in self.commands if other[:-1] == words}
            self.assertEqual(self.bash(*words, ""), following, words)

    def test_bash_offers_values(self):
        efforts = {"quick", "normal", "deep"}
        self.assertEqual(self.bash("optimize", "m.onnx", "--effort", ""), efforts)
        self.assertEqual(self.bash("optimize", "--effort", "="), efforts)  # bash divides --effort=
        self.assertEqual(self.bash("--pipe", "optimize", "--effort", "=", "de"), {"deep"})
        self.assertEqual(self.bash("optimize", "-o", ""), set())  # a file: bash's own completion

    def test_fish_offers_each_command_and_flag(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        script = f"source {self.share}/fish/vendor_completions.d/lemma.fish\n"
        lines = [[*words, "-"] for words in self.commands] + [[""]]
        script += "".join(f"complete -C'lemma {' '.join(line)}'\necho END\n" for line in lines)
        done = subprocess.run(["fish", "--no-config", "-c", script], check=True, capture_output=True, text=True,
                              env={"HOME": self.scratch.name, "PATH": "/usr/bin:/bin"})
        self.assertEqual(done.stderr, "")
        offered = [{line.split("\t")[0] for line in part.splitlines()} for part in done.stdout.split("END\n")]
        # fish offers short flags where no long one exists, and long ones by two dashes.
        for words, found in zip(self.commands, offered):
            self.assertEqual({f for f in found if f.startswith("--")}, {f for f in flags(*words) if f.startswith("--")})
        self.assertEqual(offered[len(self.commands)], {words[0] for words in self.commands})

    def test_zsh_has_each_command_and_flag(self):
        file = self.share / "zsh/site-functions/_lemma"
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n", file], check=True)
        parts = dict(re.findall(r"(?ms)^(_lemma_\w*)\(\) \{$(.*?)^\}$", file.read_text()))
        for words in self.commands:
            part = parts["_lemma_" + "_".join(words).replace("-", "_")]
            self.assertEqual(set(re.findall(r"^    '\*(--?[a-z][\w-]*)", part, re.MULTILINE)), flags(*words) | {"-h"})
            above = parts["_lemma_" + "_".join(words[:-1])]
            self.assertIn(f"\n    '{words[-1]}:", above)
            self.assertIn(f"\n      {words[-1]}) ", above)


if __name__ == "__main__":
    LEMMA = sys.argv.pop(1)
    unittest.main()
