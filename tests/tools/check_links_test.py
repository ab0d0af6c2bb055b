"""What tools/check_links.py must find, and what it must leave alone."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_links


def problems(pages, files=()):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        for name, text in [*pages.items(), *((file, "") for file in files)]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_links.check(root)


class LinkTest(unittest.TestCase):
    def test_a_file_that_is_missing(self):
        found = problems({"docs/a.md": "\nsee [it](b.md)"})
        self.assertEqual(found, ["docs/a.md:2: there is no b.md"])

    def test_a_heading_that_is_missing(self):
        found = problems({"a.md": "[x](b.md#what-is-it) [y](#there)\n## There", "b.md": "# It"})
        self.assertEqual(found, ["a.md:1: b.md has no heading #what-is-it"])

    def test_a_path_that_is_missing(self):
        found = problems({"a.md": "`graph/graph.h` `graph/gone.h` `graph/ops/NAME.cc`"},
                         ["graph/graph.h"])
        self.assertEqual(found, ["a.md:1: there is no graph/gone.h"])

    def test_what_is_fine(self):
        page = (
            "# A `b`: c\n[a](docs/b.md#the-first) [b](https://example.org/x) [c](#a-b-c)\n"
            "```\n[d](nowhere.md)\n```\n`graph/graph`"
        )
        self.assertEqual(
            problems({"a.md": page, "docs/b.md": "## The first"}, ["graph/graph.h"]), [])

    def test_the_changelog_speaks_of_what_was(self):
        self.assertEqual(problems({"CHANGELOG.md": "`graph/gone.h`"}), [])


if __name__ == "__main__":
    unittest.main()
