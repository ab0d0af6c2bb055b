"""What tools/lib/package/tree.py puts into the archive: complete, with licenses, and it runs.

Usage: archive_test.py LEMMA
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

LEMMA = ""


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **more).stdout


class ArchiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.tree = pathlib.Path(cls.scratch.name) / "tree"
        run("python3", "tools/lib/package/tree.py", LEMMA, cls.tree)
        cls.libraries = cls.tree / "lib/lemma"
        cls.notices = (cls.tree / "share/doc/lemma/NOTICES").read_text()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def elf_files(self):
        return [f for f in self.libraries.rglob("*") if f.is_file() and f.read_bytes()[:4] == b"\x7fELF"]

    def test_it_has_what_it_promises(self):
        for name in ("bin/lemma", "lib/lemma/lemma", "lib/lemma/libz3.so.4", "lib/lemma/glibc/libc.so.6",
                     "lib/lemma/glibc/ld-linux-x86-64.so.2", "lib/lemma/graphviz/config6a",
                     "share/doc/lemma/LICENSE", "share/doc/lemma/common-licenses/GPL-3",
                     "share/lemma/rules/starter.txt", "share/man/man1/lemma-optimize.1",
                     "share/bash-completion/completions/lemma", "share/zsh/site-functions/_lemma",
                     "share/fish/vendor_completions.d/lemma.fish"):
            self.assertTrue((self.tree / name).is_file(), name)
        # A C library beside the program would be mixed with the loader of the system.
        self.assertFalse((self.libraries / "libc.so.6").exists())

    def test_each_library_that_is_needed_is_there(self):
        there = {file.name for file in self.elf_files()}
        for file in self.elf_files():
            needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file)))
            self.assertLessEqual(needed, there, file.name)

    def test_each_library_has_its_license(self):
        for file in self.elf_files():
            if file.name == "lemma":
                continue
            lines = [block for block in self.notices.split("\n\n")
                     if re.search(rf" {re.escape(file.name)}(,|$)", block, re.MULTILINE)]
            self.assertEqual(len(lines), 1, file.name)
            license = self.tree / "share/doc/lemma" / re.search(r"copyright/\S+", lines[0])[0]
            self.assertGreater(license.stat().st_size, 200, file.name)
            for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", license.read_text(errors="replace")):
                self.assertTrue((self.tree / "share/doc/lemma/common-licenses" / name).is_file(), name)

    def test_it_runs_by_the_loader_of_the_system_or_its_own(self):
        wanted = run(LEMMA, "--version")
        link = pathlib.Path(self.scratch.name) / "link"
        link.symlink_to(self.tree / "bin/lemma")
        launcher = (self.tree / "bin/lemma").read_text()
        minor = int(re.search(r'"\$minor" -ge (\d+) ', launcher)[1])
        self.assertGreaterEqual(minor, 31)
        old = self.tree / "bin/as-on-old-systems"
        old.write_text(launcher.replace(f"-ge {minor} ", "-ge 999 "))
        old.chmod(0o755)
        never = self.tree / "bin/without-loader"
        never.write_text(launcher.replace("/lib64/", "/no/such/"))
        never.chmod(0o755)
        for program in (self.tree / "bin/lemma", link, old, never):
            self.assertEqual(run(program, "--version"), wanted)
            # Which C library serves, and whether the other libraries are ours.
            loaded = subprocess.run([program, "--version"], env={**os.environ, "LD_DEBUG": "libs"},
                                    capture_output=True, text=True).stderr
            started = f"calling init: {self.libraries.resolve()}"
            self.assertEqual(f"{started}/glibc/libc.so.6" in loaded, program in (old, never), program)
            self.assertIn(f"{started}/libz3.so.4", loaded)

    def test_it_draws_with_its_own_graphviz(self):
        output = pathlib.Path(self.scratch.name) / "out.onnx"
        report = pathlib.Path(self.scratch.name) / "report.html"
        done = subprocess.run(
            [self.tree / "bin/lemma", "optimize", "data/models/light/light_squeezenet.onnx", "-o", output, "--effort=quick",
             "--cost=analytic", "--execution=off", f"--report={report}"], check=True, capture_output=True, text=True)
        self.assertNotIn("Warning", done.stderr)
        self.assertIn("<svg", report.read_text())

    def test_a_run_of_generate_knows_the_program(self):
        """Not the loader, which may stay the same while the program changes."""
        folder = pathlib.Path(self.scratch.name)
        launcher = self.tree / "bin/lemma"
        old = self.tree / "bin/by-its-loader"
        old.write_text(re.sub(r"-ge \d+ ", "-ge 999 ", launcher.read_text()))
        old.chmod(0o755)
        command = ["generate", "--ops=taso", "--max-ops=2", "-o", folder / "rules.txt"]
        process = subprocess.Popen([launcher, *command], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and not (folder / "rules.txt.run/journal").exists():
            pass
        process.kill()
        process.wait()
        # The same program goes on, however it was started.
        run(old, *command, "--resume")

    def test_the_wheel_has_libraries_and_licenses(self):
        path = run("python3", "python/build_wheel.py", "--tree", self.tree, "--output", self.scratch.name).strip()
        with zipfile.ZipFile(path) as wheel:
            names = {entry.filename: entry.external_attr >> 16 for entry in wheel.infolist()}
        self.assertTrue(names["lemma/bin/lemma"] & 0o111)
        self.assertTrue(names["lemma/lib/lemma/glibc/ld-linux-x86-64.so.2"] & 0o111)
        for name in ("lemma/lib/lemma/libz3.so.4", "lemma/share/doc/lemma/NOTICES", "lemma/share/doc/lemma/copyright/libz3-4"):
            self.assertIn(name, names)


if __name__ == "__main__":
    LEMMA = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
