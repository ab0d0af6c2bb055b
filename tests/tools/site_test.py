"""The site that tools/build_site makes of the pages, and the figures and rules of docs/gallery.md.

What needs MkDocs is skipped without it.
"""

import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

# The files themselves: pages link to more of them than the test names.
ROOT = pathlib.Path("docs/cli.md").resolve().parents[1]
SITE = ROOT / "tools/lib/site"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SITE))
import gallery
import hooks

HAS_MKDOCS = subprocess.run(
    ["/usr/bin/python3", "-c", "import mkdocs, material"], env={"PYTHONPATH": "/usr/share/mkdocs/themes"},
    capture_output=True).returncode == 0


class Page(html.parser.HTMLParser):
    """What a page names: ids, links, and what a browser loads with it."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded, self.inside = set(), [], [], []
        self.styles = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.inside.append(tag)
        if named.get("id"):
            self.ids.add(named["id"])
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag == "a" and named.get("name"):
            self.ids.add(named["name"])
        if tag == "link" and named.get("rel") not in ("canonical",):
            self.loaded.append(named.get("href", ""))
        if tag in ("script", "img", "iframe", "source"):
            self.loaded.append(named.get("src") or "")
        self.styles += named.get("style") or ""

    def handle_data(self, data):
        if self.inside and self.inside[-1] == "style":
            self.styles += data

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass


class NavigationTest(unittest.TestCase):
    def test_every_page_is_there_once(self):
        navigation = (SITE / "mkdocs.yml").read_text().split("\nnav:\n")[1]
        listed = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", navigation, re.MULTILINE)
        pages = [path.name for path in (ROOT / "docs").rglob("*.md")]
        self.assertGreater(len(pages), 20)
        self.assertCountEqual(listed, [*pages, *hooks.ROOT_PAGES])


class RewritingTest(unittest.TestCase):
    def test_links(self):
        for page, text, expected in [
            ("README.md", "[a](docs/cli.md#exit)", "[a](cli.md#exit)"),
            ("docs/cli.md", "[a](../README.md)", "[a](README.md)"),
            ("docs/cli.md", "[a](proofs.md)", "[a](proofs.md)"),
            ("docs/cli.md", "[graph/graph.h](../graph/graph.h)", "[graph/graph.h](files/graph/graph.h.html)"),
            ("docs/cli.md", "![x](../data/measurements/memory.svg)", "![x](files/data/measurements/memory.svg)"),
            ("docs/cli.md", "[docs/pipeline](pipeline)", "docs/pipeline"),
            ("docs/cli.md", "[rules](../data/rules)", "rules (`data/rules`)"),
            ("docs/cli.md", "[a](https://example.org/x.h)", "[a](https://example.org/x.h)"),
            ("docs/cli.md", "[a](#exit)", "[a](#exit)"),
            ("docs/cli.md", "[](const Idx& i)", "[](const Idx& i)"),
        ]:
            with self.subTest(text=text):
                self.assertEqual(hooks.with_links(page, text), expected)

    def test_lists(self):
        self.assertEqual(
            hooks.with_list_indents("1. a\n   b\n\n   | c |\n   - d\n     e\n2. f\n\n       code\n\ng\n\n    code\n"),
            "1. a\n    b\n\n    | c |\n\n    - d\n        e\n2. f\n\n        code\n\ng\n\n    code\n")
        self.assertEqual(hooks.with_list_indents("- a\n\n```\n  - b\n```\n\n    - code\n"),
                         "- a\n\n```\n  - b\n```\n\n    - code\n")

    def test_an_item_after_a_paragraph(self):
        self.assertEqual(hooks.with_list_indents("1. a\n\n   b\n2. c\n3. d\n"), "1. a\n\n    b\n\n2. c\n3. d\n")
        self.assertEqual(hooks.with_list_indents("a\n- b\n- c\n"), "a\n\n- b\n- c\n")

    def test_bars_in_tables(self):
        self.assertEqual(hooks.with_bars("| `a\\|b` | c\\|d |\n`a\\|b`"), "| `a|b` | c\\|d |\n`a\\|b`")


@unittest.skipUnless(HAS_MKDOCS, "no MkDocs with its theme Material; tools/install --docs installs them")
class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.site = pathlib.Path(cls.work.name).resolve() / "site"
        cls.done = cls.build(cls.site)
        cls.pages = {path: Page(path) for path in sorted(cls.site.rglob("*.html"))}

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    @staticmethod
    def build(folder):
        return subprocess.run([ROOT / "tools/build_site", "--output", folder], capture_output=True, text=True)

    def test_there_are_no_warnings(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.assertRegex(self.done.stdout, r"^build_site: .*/site/index.html")

    def test_every_page_is_built_and_found_by_the_search(self):
        index = json.loads((self.site / "search/search_index.json").read_text())
        found = {entry["location"].partition("#")[0] for entry in index["docs"]}
        for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in hooks.ROOT_PAGES)]:
            name = "index.html" if page.name == "README.md" else f"{page.stem}.html"
            self.assertIn(self.site / name, self.pages)
            self.assertIn(name, found)
        text = " ".join(entry["text"] for entry in index["docs"])
        self.assertIn("reassociates", text)

    def test_no_markdown_is_left(self):
        for path in sorted(self.site.glob("*.html")):
            text = re.search(r"<article.*?</article>", path.read_text(), re.DOTALL)[0]
            text = re.sub(r"<pre.*?</pre>|<code.*?</code>|<[^>]*>", "", text, flags=re.DOTALL)
            for line in text.splitlines():
                with self.subTest(page=path.name, line=line):
                    self.assertNotRegex(line, r"^\s*(\||[-*] |\d+\. |```)|\]\(|\*\*|`")

    def test_links_lead_somewhere(self):
        seen = 0
        for path, page in self.pages.items():
            for link in page.links:
                if re.match(r"[a-z]+:", link) or path.name == "404.html":
                    continue
                name, _, fragment = link.partition("#")
                target = (path.parent / name).resolve() if name else path
                if name in (".", "./"):
                    target = path.parent / "index.html"
                with self.subTest(page=path.name, link=link):
                    self.assertTrue(target.is_file())
                    if fragment and target in self.pages:
                        self.assertIn(fragment, self.pages[target].ids)
                    seen += 1
        self.assertGreater(seen, 1000)

    def test_nothing_is_loaded_from_other_hosts(self):
        for path, page in self.pages.items():
            for loaded in page.loaded:
                with self.subTest(page=path.name, loaded=loaded):
                    self.assertNotRegex(loaded, r"^(https?:)?//")
            self.assertNotRegex(page.styles, r"url\([\"']?(https?:)?//|@import")
            # For these the theme's script loads another one.
            self.assertNotRegex(path.read_text(), r"class=\"[^\"]*mermaid")
        styles = sorted(self.site.rglob("*.css"))
        self.assertTrue(styles)
        for style in styles:
            self.assertNotRegex(style.read_text(), r"url\([\"']?(https?:)?//|@import")

    def test_a_folder_with_other_files_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            mine = pathlib.Path(folder, "mine.txt")
            mine.write_text("mine")
            done = self.build(folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is not empty and has no site in it", done.stderr)
            self.assertEqual(mine.read_text(), "mine")


class GalleryTest(unittest.TestCase):
    def setUp(self):
        text = gallery.PAGE.read_text()
        self.entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
        self.rows = json.loads(gallery.OUT.read_text())["rows"]
        self.named = [(file, rule) for file, rules in gallery.RULES.items() for rule in rules]

    def test_ten_rules_each_with_picture_proof_and_gain(self):
        self.assertEqual(len(self.entries), 10)
        self.assertCountEqual([(row["file"], row["rule"]) for row in self.rows], self.named)
        for file, rule in self.named:
            with self.subTest(file=file, rule=rule):
                (entry,) = [e for e in self.entries if f"(gallery/{file}_{rule}.svg)" in e]
                self.assertIn(gallery.rule_text(file, rule), entry)
                self.assertIn(f"lemma verify data/rules/{file}.txt --only {rule}\n", entry)
                (row,) = [row for row in self.rows if (row["file"], row["rule"]) == (file, rule)]
                self.assertIn(f"`{row['verdict']} {row['contract']}`", entry)
                self.assertEqual(row["verdict"], "proved")
                record = (ROOT / f"data/rules/{file}.txt").read_text().split(f"rule {rule}(")[1].split("\n\n")[0]
                self.assertIn(f"proved {row['contract']} ", record)
                self.assertIn(row["coverage"], record)
                if row["queries"]:
                    self.assertIn(f"Z3 answers {row['queries']} question", entry)
                if "ms" in row:
                    sizes = ", ".join(f"{k} = {v}" for k, v in row["sizes"].items() if v != [])
                    self.assertIn(f"At {sizes}, the target takes {row['ratio']:.2g} of", entry)
                    self.assertEqual(row["ratio"] >= 0.9, "no gain beyond the noise" in entry)
                else:
                    self.assertNotRegex(entry, r"takes \d")

    def test_sizes_are_put_into_a_rule(self):
        rule = ("rule r(x: [b..,n], y: [2 * n]) bit_exact {\n  t1 = constant [n,n] fill 1.0\n"
                "  t2 = pad(x) {pads = [0, (3 - n) div 2], groups = n * 2}\n  return t2\n} => {\n  return x\n}")
        self.assertEqual(list(gallery.sides(rule, {"b": [5, 6], "n": 1})), [
            "graph side(x: f32[5, 6, 1], y: f32[2]) {\n  t1 = constant f32[1, 1] fill 1.0\n"
            "  t2 = pad(x) {pads = [0, 1], groups = 2}\n  return t2\n}\n",
            "graph side(x: f32[5, 6, 1], y: f32[2]) {\n  return x\n}\n"])


class CitationTest(unittest.TestCase):
    def test_the_page_is_the_file(self):
        citation, page = (ROOT / "CITATION.cff").read_text(), (ROOT / "docs/citing.md").read_text()
        for key in ("title", "version", "license"):
            value = re.search(rf'^{key}: "?([^"\n]*)', citation, re.MULTILINE)[1]
            self.assertRegex(page, rf"{key}\s+= {{{re.escape(value)}}}")
        self.assertIn(f"{{{{{re.search('- name: (.*)', citation)[1]}}}}}", page)


if __name__ == "__main__":
    unittest.main()
