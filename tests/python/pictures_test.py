"""Graphs, rules and results show themselves: the layout, the drawings and the tables.

Usage: pictures_test.py ROOT MODELS
"""

import itertools
import os
import pathlib
import random
import re
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as xml

import lemma
from lemma import _drawing, _layout

try:
    import onnx
except ImportError:
    onnx = None

ROOT, MODELS = pathlib.Path(), pathlib.Path()
SVG = "{http://www.w3.org/2000/svg}"
TWO_BRANCHES = """graph branches(x: f32[2, 3]) {
  a = relu(x)
  b = neg(a)
  c = exp(b)
  d = add(a, c)
  return d
}
"""


def overlaps(placed, sizes):
    """The pairs of boxes that overlap."""
    boxes = []
    for node, (x, y) in placed.centers.items():
        width, height = sizes[node]
        boxes.append((node, x - width / 2, x + width / 2, y - height / 2, y + height / 2))
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(boxes, 2)
        if a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]
    ]


class LayoutTest(unittest.TestCase):
    def place(self, edges, sizes=None):
        nodes = list(dict.fromkeys(node for edge in edges for node in edge))
        self.sizes = sizes or {node: (40.0, 20.0) for node in nodes}
        return _layout.place(nodes, edges, self.sizes)

    def test_a_chain_is_straight(self):
        placed = self.place([("a", "b"), ("b", "c")])
        self.assertEqual({x for x, _ in placed.centers.values()}, {20.0})
        self.assertEqual([placed.centers[n][1] for n in "abc"], [10.0, 58.0, 106.0])
        self.assertEqual((placed.width, placed.height), (40.0, 116.0))

    def test_a_crossing_is_removed(self):
        placed = self.place([("r", "a"), ("r", "b"), ("b", "c"), ("a", "d"), ("c", "e"), ("d", "e")])
        left = placed.centers["a"][0] < placed.centers["b"][0]
        self.assertEqual(placed.centers["d"][0] < placed.centers["c"][0], left)

    def test_an_input_stands_above_its_reader(self):
        placed = self.place([("x", "a"), ("a", "b"), ("b", "c"), ("w", "c")])
        self.assertEqual(placed.centers["w"][1], placed.centers["b"][1])

    def test_random_graphs_have_no_overlaps_and_edges_lead_down(self):
        for seed in range(30):
            rng = random.Random(seed)
            count = rng.randint(2, 40)
            edges = [(rng.randrange(i), i) for i in range(1, count) for _ in range(rng.randint(1, 3))]
            sizes = {i: (rng.uniform(20, 150), rng.choice([20.0, 35.0, 80.0])) for i in range(count)}
            placed = self.place(edges, sizes)
            with self.subTest(seed=seed):
                self.assertEqual(overlaps(placed, sizes), [])
                for (source, target), line in zip(edges, placed.lines):
                    ys = [y for _, y in line]
                    self.assertEqual(ys, sorted(ys))
                    self.assertAlmostEqual(line[0][0], placed.centers[source][0])
                    self.assertAlmostEqual(line[-1][0], placed.centers[target][0])
                for (x, y), (width, height) in ((placed.centers[n], sizes[n]) for n in sizes):
                    self.assertGreaterEqual(min(x - width / 2, y - height / 2), -1e-6)
                    self.assertLessEqual(x + width / 2, placed.width + 1e-6)
                    self.assertLessEqual(y + height / 2, placed.height + 1e-6)

    def test_an_edge_passes_no_box(self):
        # Where a line is upright it is inside of a row, and must keep clear of the row's boxes.
        edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("a", "c")]
        placed = self.place(edges)
        for edge, line in zip(edges, placed.lines):
            for (x0, y0), (x1, y1) in zip(line[1:-1], line[2:]):
                for node in set(placed.centers) - set(edge):
                    x, y = placed.centers[node]
                    if x0 == x1 and y0 < y < y1:
                        self.assertGreater(abs(x - x0), 20.0, (edge, node))

    def test_a_cycle_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "cycle"):
            self.place([("a", "b"), ("b", "a")])

    def test_nothing_is_drawn_as_nothing(self):
        self.assertEqual(_layout.place([], [], {})[1:], ([], 0.0, 0.0))

    def test_crossings_are_counted(self):
        rng = random.Random(5)
        for _ in range(50):
            values = [rng.randrange(9) for _ in range(rng.randrange(12))]
            pairs = sum(a > b for a, b in itertools.combinations(values, 2))
            self.assertEqual(_layout._inversions(values, 9), pairs, values)


class GraphTest(unittest.TestCase):
    def test_the_picture_has_the_models_operators(self):
        graph = lemma.show(TWO_BRANCHES)
        self.assertEqual(graph.operators, 4)
        tree = xml.fromstring(graph.svg())
        texts = [text.text for text in tree.iter(SVG + "text")]
        self.assertEqual(sorted(set(texts)), sorted({"x", "relu", "neg", "exp", "add", "d", "f32[2,3]"}))
        self.assertEqual(len(tree.findall(f".//{SVG}path[@class='lemma-edge']")), 6)

    def test_names_cannot_break_the_picture(self):
        text = 'graph g("<b>&\\"x": f32[2]) {\n  y = relu("<b>&\\"x")\n  return y\n}\n'
        try:
            graph = lemma.show(text)
        except ValueError:
            graph = lemma.show(text.replace('\\"', "'"))
        tree = xml.fromstring(graph.svg())
        self.assertTrue(any("<b>&" in (t.text or "") for t in tree.iter(SVG + "text")))
        self.assertNotIn("<b>", graph._repr_html_())

    def test_it_can_be_read_on_dark_pages(self):
        svg = lemma.show(TWO_BRANCHES).svg()
        tree = xml.fromstring(svg)
        first = tree.find(SVG + "rect")
        self.assertEqual(first.attrib["class"], "lemma-page")  # a background of its own
        dark = re.search(r"@media \(prefers-color-scheme: dark\) \{(.*)\}</style>", svg)[1]
        colors = dict(re.findall(r"\.lemma-([a-z]+)\{fill:(#\w+)", dark))
        for box in ("page", "op", "value", "new"):
            self.assertGreater(contrast(colors["text"], colors[box]), 7, box)
            light = {"page": "#ffffff", **{k: v[0] for k, v in _drawing._FILL.items()}}[box]
            self.assertGreater(contrast("#1b1f23", light), 7, box)

    def test_what_was_changed_has_a_color(self):
        after = lemma.show(TWO_BRANCHES.replace("exp(b)", "tanh(b)"), since=TWO_BRANCHES)
        self.assertEqual(after.changed, ["c"])
        self.assertEqual(after.svg().count("class='lemma-new'"), 1)
        self.assertEqual(lemma.show(TWO_BRANCHES, since=TWO_BRANCHES).changed, [])
        self.assertEqual(lemma.show(TWO_BRANCHES).changed, [])

    def test_a_result_shows_what_changed(self):
        # exp(a) + (-a) becomes exp(a) - a; by its price, so that no time decides.
        text = TWO_BRANCHES.replace("exp(b)", "exp(a)").replace("add(a, c)", "add(c, b)")
        result = lemma.optimize(text, cost="analytic", execution="off")
        self.assertFalse(result.kept)
        self.assertEqual(result.show().changed, ["d"])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "graph.txt")
            path.write_text(text)
            result = lemma.optimize(path, cost="analytic", execution="off")
        self.assertEqual(result.show().changed, [])

    def test_a_large_model_is_a_table(self):
        graph = lemma.show(MODELS / "light_squeezenet.onnx")
        self.assertIn("<svg", graph._repr_html_())
        self.assertIn("<svg", graph._repr_svg_())
        with unittest.mock.patch.object(lemma._graph, "MOST_NODES", 20):
            self.assertIsNone(graph._repr_svg_())
            page = graph._repr_html_()
        self.assertNotIn("<svg", page)
        self.assertIn("67 operators", page)
        self.assertRegex(page, r"conv2d</td><td[^>]*>26</td>")

    def test_it_is_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.svg")
            lemma.show(TWO_BRANCHES).save(path)
            self.assertEqual(os.listdir(folder), ["graph.svg"])
            xml.parse(path)

    @unittest.skipIf(onnx is None, "needs the package onnx")
    def test_a_symbolic_dimension_can_be_fixed(self):
        h, tensor = onnx.helper, onnx.TensorProto
        values = [h.make_tensor_value_info(name, tensor.FLOAT, ["n", 2]) for name in "xy"]
        graph = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        self.assertIn("f32[n,2]", lemma.show(model).svg())
        self.assertIn("f32[3,2]", lemma.show(model, dims={"n": 3}).svg())


def contrast(one, other):
    """The contrast of two colors as WCAG defines it."""
    def luminance(color):
        parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class RulesTest(unittest.TestCase):
    def test_built_in_rules(self):
        rules = lemma.rules()
        self.assertGreater(len(rules), 100)
        self.assertEqual(rules[0].name, rules.names[0])
        rule = rules["fold_batch_norm_into_conv"]
        self.assertTrue(rule.proved)
        self.assertEqual(rule.contract, "reassociates")
        texts = [text.text for text in xml.fromstring(rule.svg()).iter(SVG + "text")]
        self.assertIn("→", texts)
        self.assertEqual(texts.count("conv2d"), 2)
        self.assertEqual(texts.count("batch_norm"), 1)
        self.assertIn("epsilon = e", texts)
        page = rule._repr_html_()
        self.assertIn("reassociates", page)
        self.assertIn("proved", page)
        self.assertRegex(rules._repr_html_(), rf"… and {len(rules) - 20} more")
        with self.assertRaises(KeyError):
            rules["no such rule"]

    def test_every_kind_of_pattern_is_drawn(self):
        for name in ("taso_4.txt", "training.txt", "quantized.txt"):
            rules = lemma.rules(ROOT / "data" / "rules" / name)
            for rule in list(rules)[:10]:
                with self.subTest(rule=rule.name):
                    xml.fromstring(rule.svg())

    def test_a_text_without_a_record(self):
        text = "rule r(x: [n]) bit_exact {\n  a = neg(x)\n  b = neg(a)\n  return b\n} => {\n  return x\n}\n"
        (rule,) = lemma.rules(text)
        self.assertFalse(rule.proved)
        texts = [t.text for t in xml.fromstring(rule.svg()).iter(SVG + "text")]
        self.assertEqual(sorted(texts), sorted(["x: [n]", "neg", "neg", "output", "→", "x: [n]", "output"]))

    def test_errors(self):
        with self.assertRaisesRegex(FileNotFoundError, "missing.txt"):
            lemma.rules("missing.txt")
        with self.assertRaisesRegex(ValueError, "expected"):
            lemma.rules("rule (\n")


class RulePagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name, "pages")
        cls.rules = lemma.rules()
        cls.rules.save_html(cls.root)

    def test_each_rule_has_a_page(self):
        names = {path.name for path in self.root.iterdir()}
        self.assertEqual(names, {f"rule-{name}.html" for name in self.rules.names} | {"index.html"})
        page = (self.root / "rule-fold_batch_norm_into_conv.html").read_text()
        for part in ("<svg", "reassociates", "proved: all sizes", "add(var, eps) -&gt; sub(var, eps)",
                     "(f*x - mean) * a + shift", self.rules["fold_batch_norm_into_conv"].json["id"]):
            self.assertIn(part, page)
        self.assertEqual(page.count("<svg"), 1)

    def test_links_lead_to_pages_and_nothing_is_fetched(self):
        for path in self.root.iterdir():
            text = path.read_text()
            for target in re.findall(r"href='([^']*)'", text):
                self.assertTrue((self.root / target).exists(), (path.name, target))
            self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""), "https?://|src=")

    def test_the_list_can_be_searched(self):
        text = (self.root / "index.html").read_text()
        rows = re.findall(r"<tr data-text='([^']*)'", text)
        self.assertEqual(len(rows), len(self.rules))
        found = [row for row in rows if all(word in row for word in ("conv2d", "batch_norm", "reassociates"))]
        self.assertTrue(any(row.startswith("fold_batch_norm_into_conv ") for row in found))
        self.assertLess(len(found), len(rows))
        self.assertIn("row.dataset.text.includes(word)", text)

    def test_text_is_escaped(self):
        text = "rule r(x: [n]) bit_exact\n    where n >= 1 {\n  a = neg(x)\n  b = neg(a)\n  return b\n} => {\n  return x\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            lemma.rules(text).save_html(folder)
            page = pathlib.Path(folder, "rule-r.html").read_text()
        self.assertIn("n &gt;= 1", page)
        self.assertNotIn("n >= 1", page)


class TablesTest(unittest.TestCase):
    def test_an_optimization(self):
        result = lemma.optimize(MODELS / "light_squeezenet.onnx", effort="quick", cost="analytic", runs=3)
        page = result._repr_html_()
        self.assertIn(f"{result.operators_before} → {result.operators_after}", page)
        self.assertIn("The input is kept" if result.kept else "Optimized", page)
        self.assertIn(f"{result.ms_before:.3f} ms", page)
        self.assertEqual(result.show().operators, result.operators_after)

    def test_proofs(self):
        page = lemma.prove(TWO_BRANCHES, TWO_BRANCHES)._repr_html_()
        self.assertIn("proved", page)
        self.assertIn("bit_exact", page)
        page = lemma.prove(TWO_BRANCHES, TWO_BRANCHES.replace("exp", "relu"))._repr_html_()
        self.assertIn("<b>refuted</b>", page)
        self.assertRegex(page, r"refuted: output 0\[\d,\d\] is \S+ and \S+<")

    def test_a_refutation_of_the_referee(self):
        folder = ROOT / "data" / "referee" / "paddle_lite_9861_epsilon"
        answer = lemma.referee(folder / "before.onnx", folder / "after.onnx")
        page = answer._repr_html_()
        self.assertIn("<b>refuted</b>", page)
        for name in ("output", "before", "after"):
            self.assertIn(f">{name}</th>", page)
        self.assertIn(str(answer.refutation["after"]), page)

    def test_verified_rules(self):
        text = "rule r(x: [n]) bit_exact {\n  a = neg(x)\n  return a\n} => {\n  return x\n}\n"
        page = lemma.verify(text)._repr_html_()
        self.assertRegex(page, r"<td[^>]*>r</td><td[^>]*>refuted</td>")
        self.assertIn("<b>0 proved, 1 refuted, 0 unknown</b>", page)
        self.assertRegex(page, r"refuted at n = 1: output 0\[0\] is \S+ and \S+, where the input is \[\S+\]<")

    def test_cells_are_escaped(self):
        self.assertIn("&lt;i&gt;", lemma._tables.pairs("t", [("a", "<i>")]))
        self.assertIn("&lt;i&gt;", lemma._tables.columns("t", ["a"], [["<i>"]]))


if __name__ == "__main__":
    ROOT, MODELS = map(pathlib.Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
