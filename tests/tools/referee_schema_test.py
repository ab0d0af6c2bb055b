"""What `lemma referee --json` prints satisfies docs/referee.schema.json, for each verdict.

Usage: referee_schema_test.py LEMMA
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

LEMMA = ""
SCHEMA = json.loads(pathlib.Path("docs/referee.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int,
         "boolean": bool, "null": type(None)}
# What says nothing about a value.
NOTES = {"$schema", "$defs", "title", "description"}

PRODUCT = "graph g(x: f32[2,3], w: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, {}]) {{ p = matmul(x, w) y = relu(p) return y }}"
COPIED = "graph h(x: f32[2,3], v: weight f32[2,3] = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]) { w = transpose(v) {perm = [1, 0]} p = matmul(x, w) y = relu(p) return y }"
SCORES = "graph a(x: f32[5]) { y = softmax(x) {axis = 0} z = argmax(y) {axis = 0} return z }"
LARGEST = "graph b(x: f32[5]) { z = argmax(x) {axis = 0} return z }"


def is_a(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def problems(value, schema, at="$"):
    """Why a value does not satisfy a schema, of the keywords that ours has."""
    if "$ref" in schema:
        yield from problems(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], at)
    for keyword, rule in schema.items():
        if keyword == "type":
            names = [rule] if isinstance(rule, str) else rule
            if not any(is_a(value, name) for name in names):
                yield f"{at} is no {rule}"
                return
        elif keyword == "enum":
            if value not in rule:
                yield f"{at} is none of {rule}"
        elif keyword == "const":
            if value != rule:
                yield f"{at} is not {rule}"
        elif keyword == "required":
            yield from (f"{at} has no {name}" for name in rule if name not in value)
        elif keyword == "properties":
            for name in value.keys() & rule.keys():
                yield from problems(value[name], rule[name], f"{at}.{name}")
        elif keyword == "additionalProperties":
            for name in value.keys() - schema.get("properties", {}).keys():
                if rule is False:
                    yield f"{at}.{name} is not in the schema"
                else:
                    yield from problems(value[name], rule, f"{at}.{name}")
        elif keyword == "items":
            for i, item in enumerate(value):
                yield from problems(item, rule, f"{at}[{i}]")
        elif keyword == "allOf":
            for part in rule:
                yield from problems(value, part, at)
        elif keyword == "anyOf":
            found = [list(problems(value, part, at)) for part in rule]
            if all(found):
                yield from min(found, key=len)
        elif keyword == "if":
            if not any(problems(value, rule, at)):
                yield from problems(value, schema["then"], at)
        elif keyword not in NOTES | {"$ref", "then"}:
            yield f"the schema has the unknown keyword {keyword}"


def referee(before, after, *flags):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in ("before.lemma", "after.lemma")]
        for path, text in zip(paths, (before, after)):
            path.write_text(text)
        done = subprocess.run([LEMMA, "referee", *paths, "--json", *flags], capture_output=True, text=True)
        return json.loads(done.stdout)


class SchemaTest(unittest.TestCase):
    def check(self, verdict, before, after, *flags):
        result = referee(before, after, *flags)
        self.assertEqual(result["verdict"], verdict)
        self.assertEqual(list(problems(result, SCHEMA)), [])
        return result

    def test_proved(self):
        result = self.check("proved", PRODUCT.format("6.0"), COPIED)
        self.assertTrue(result["weights"])

    def test_refuted(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.check("refuted", PRODUCT.format("6.0"), PRODUCT.format("7.0"),
                                f"--counterexample={folder}")
            self.assertTrue(result["files"])
            self.assertIn("first", result["refutation"])

    def test_refuted_by_a_weight(self):
        result = self.check("refuted", PRODUCT.format("6.0"), PRODUCT.format("6.00001"))
        self.assertIn("outside", result["weights"][-1])

    def test_unknown(self):
        self.assertTrue(self.check("unknown", SCORES, LARGEST, "--work=10000")["open"])

    def test_another_interface(self):
        self.check("different_interface", PRODUCT.format("6.0"), LARGEST)

    def test_what_is_wrong_is_found(self):
        result = referee(PRODUCT.format("6.0"), COPIED)
        for change, problem in [
            (lambda r: r.pop("seconds"), "$ has no seconds"),
            (lambda r: r.pop("contract"), "$ has no contract"),
            (lambda r: r.update(more=1), "$.more is not in the schema"),
            (lambda r: r.update(verdict="perhaps"), "$.verdict is none of"),
            (lambda r: r["weights"][0].update(elements="6"), "$.weights[0].elements is no integer"),
        ]:
            other = copy.deepcopy(result)
            change(other)
            self.assertIn(problem, "; ".join(problems(other, SCHEMA)))


if __name__ == "__main__":
    LEMMA = sys.argv.pop(1)
    unittest.main()
