"""docs/measurements.md is what data/measurements gives; the generator refuses incomplete sections."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, "tools/lib")
import gen_measurements

SECTION = {"group": "A group", "title": "A table", "page": "docs/search.md", "date": "2026-01-02",
           "machine": "a machine", "command": "tools/bench x", "columns": ["model", "ms"],
           "rows": [["net", 1.5]], "notes": ["A note."]}


def page(sections, **files):
    """The page that these sections and files give."""
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / gen_measurements.DATA
        data.mkdir(parents=True)
        (data / "page.json").write_text(json.dumps({"sections": sections}))
        for name, content in files.items():
            (data / f"{name}.json").write_text(json.dumps(content))
        return gen_measurements.page_text(pathlib.Path(folder))


class MeasurementsTest(unittest.TestCase):
    def test_the_page_is_up_to_date(self):
        self.maxDiff = 2000
        self.assertEqual(pathlib.Path(gen_measurements.PAGE).read_text(),
                         gen_measurements.page_text(pathlib.Path(".")),
                         "tools/gen_measurements writes the page")

    def test_a_section_with_figures_of_its_own(self):
        self.assertTrue(page([SECTION]).endswith("""\
## A group

### A table

2026-01-02; a machine; `tools/bench x`; [docs/search.md](search.md)

| model | ms |
| --- | --- |
| net | 1.5 |

- A note.
"""))

    def test_a_section_with_a_file(self):
        section = {k: v for k, v in SECTION.items() if k not in ("columns", "rows", "date")}
        text = page([{**section, "source": "rules.json", "date": "2026-01-03"}],
                    rules={"rows": [{"model": "net",
                                     "ms": {"input": 4, "starter": 2, "generated": 1}}]})
        self.assertIn("| net | 4.000 | 2.000 | 1.000 | 0.500 |", text)
        self.assertIn("2026-01-03; a machine", text)
        self.assertIn("[rules.json](../data/measurements/rules.json)", text)

    def test_several_commands(self):
        text = page([{**SECTION, "command": ["tools/a", "tools/b"]}])
        self.assertIn("a machine; `tools/a`; `tools/b`; [docs", text)

    def test_the_date_of_a_file(self):
        section = {k: v for k, v in SECTION.items() if k not in ("columns", "rows", "date")}
        text = page([{**section, "source": "memory.json"}],
                    memory={"date": "2026-01-04", "rows": [{"model": "net", "points": [
                        {"share": 25, "failed": "the least needs 1500000, the input 2"}]}]})
        self.assertIn("2026-01-04; a machine", text)
        self.assertIn("not reached: at least 1.5 MB", text)

    def test_checks_of_kernels_that_are_complete(self):
        section = {k: v for k, v in SECTION.items() if k not in ("columns", "rows")}
        row = {"kernels": 3, "right": 3, "seconds": 1.5, "peak_bytes": 2e6}
        rows = [{"model": model, "architecture": a, "precision": p, **row}
                for model in ("net", "half") for a in (80, 90) for p in ("f32", "bf16")]
        rows[1]["right"] = 2
        text = page([{**section, "source": "kernels.json"}], kernels={"rows": rows[:-1]})
        self.assertIn("| net | 3, 3 | 3, 3 | all but 1 | 2.0, 2.0 | 6 |", text)
        self.assertNotIn("half", text)
        self.assertIn("12 kernels in all", text)

    def test_emulated_models(self):
        section = {k: v for k, v in SECTION.items() if k not in ("columns", "rows")}
        plans = [{"architecture": a, "precision": p, "launches": 10 + a, "largest": 1e-7 * a,
                  "relative": None if (a, p) == (90, "bf16") else 2e-3, "tolerance_used": 0.25}
                 for a in (80, 90) for p in ("f32", "bf16")]
        text = page([{**section, "source": "emulation.json"}],
                    emulation={"rows": [{"model": "net.step", "plans": plans}]})
        self.assertIn("| net, step of training | 90, 90 | 100, 100 | 9.0e-6, 9.0e-6 "
                      "| 2.0e-3, infinite | 0.25 |", text)

    def test_errors_of_budgets(self):
        section = {k: v for k, v in SECTION.items() if k not in ("columns", "rows")}
        budgets = [{"model": "net", "form": "tf32", "of": 4, "products": 3, "error": 9e-4,
                    "error_f64": 8e-4},
                   {"model": "net", "form": "bf16", "of": 4, "products": 1, "error": 7e-4}]
        text = page([{**section, "source": "precision.json", "view": "precision_budgets"}],
                    precision={"budgets": budgets})
        self.assertIn("| net | 4 | 3 (9.0e-4, 8.0e-4) |  | 1 (7.0e-4) |", text)

    def test_what_is_missing_is_refused(self):
        for key in ("page", "machine", "command", "date"):
            with self.assertRaisesRegex(ValueError, key):
                page([{k: v for k, v in SECTION.items() if k != key}])
        with self.assertRaisesRegex(ValueError, "has not 2 cells"):
            page([{**SECTION, "rows": [["net"]]}])


if __name__ == "__main__":
    unittest.main()
