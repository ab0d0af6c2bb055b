"""The installed package `lemma`: results, errors, interruption.

Usage: package_test.py ROOT MODELS
"""

import os
import pathlib
import re
import signal
import sys
import tempfile
import threading
import time
import unittest

import numpy

import lemma
from lemma import _files

try:
    import onnx
    import onnx.numpy_helper
except ImportError:
    onnx = None

MODELS = pathlib.Path()

SCALED = """graph scaled(x: f32[4, 300]) {
  a = relu(x)
  b = relu(a)
  return b
}
"""
TYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "i64": "i8", "i32": "i4", "i8": "i1", "u8": "u1", "bool": "?"}
TRUE_RULE = """rule twice(x: [n]) bit_exact {
  a = relu(x)
  b = relu(a)
  return b
} => {
  c = relu(x)
  return c
}
"""
FALSE_RULE = TRUE_RULE.replace("c = relu(x)", "c = neg(x)")


class OptimizeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = str(MODELS / "light_resnet50.onnx")
        cls.result = lemma.optimize(cls.source, effort="quick", cost="analytic", runs=3)

    def test_result_has_times_and_says_whether_it_was_kept(self):
        r = self.result
        self.assertGreater(r.ms_before, 0)
        self.assertGreater(r.ms_after, 0)
        low, high = r.interval
        self.assertLessEqual(low, high)
        self.assertEqual(r.kept, r.json["kept_input"])
        self.assertEqual(r.why == "", not r.kept)
        kept = lemma.optimize("graph g(x: f32[2,3]) {\n y = relu(x) return y }", cost="analytic")
        self.assertEqual(kept.why, "no rule makes it faster")
        self.assertEqual(len(r.steps), sum(r.json["rules"].values()))
        for number, step in enumerate(r.steps, 1):
            self.assertEqual(step["number"], number)
            self.assertIn(step["rule"], r.json["rules"])
            self.assertTrue(step["nodes"])

    def test_a_quantized_model_comes_with_the_certificate_of_the_one_before(self):
        result = lemma.optimize(
            self.source, effort="quick", cost="analytic", runs=3, numerics="quantize", max_error=0.5
        )
        self.assertIn("kept", result.quantized)
        self.assertLess(len(repr(result.quantized)), 200)
        for shown in (repr(result), repr(result.quantized), result._repr_html_()):
            self.assertRegex(shown, r"stays in f32: |[0-9]+ of [0-9]+ operators quantized, relative error")
        if result.quantized["kept"] is None:
            worst = result.quantized["result"]["worst"]
            self.assertLessEqual(worst, 0.5)
            self.assertLess(result.ratio, result.json["ratio"])
        self.assertTrue(result.certificate)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.onnx")
            result.save(path)
            before = os.path.join(folder, "small.f32.onnx")
            self.assertEqual(sorted(os.listdir(folder)),
                             ["small.f32.onnx", "small.f32.onnx.cert", "small.onnx"])
            self.assertTrue(lemma.check(self.source, before, before + ".cert", samples=0))

    def test_saved_model_has_a_certificate_that_holds(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "faster.onnx")
            self.result.save(path)
            self.assertTrue(lemma.check(self.source, path, path + ".cert", samples=0))
            self.assertTrue(lemma.check(self.source, path, self.result.certificate, samples=0))
            # Not of these two models, unless the output is the input.
            answer = lemma.check(path, path, self.result.certificate, samples=0)
            self.assertEqual(bool(answer), self.result.kept)

    def test_progress_is_told(self):
        told = []
        lemma.optimize(self.source, effort="quick", cost_db=self.fresh(), runs=3, progress=told.append)
        self.assertTrue(any(line.startswith("measuring ") for line in told), told)

    @unittest.skipIf(onnx is None, "needs the package onnx")
    def test_model_is_a_proto_and_may_be_given_as_one(self):
        model = self.result.model
        self.assertIsInstance(model, onnx.ModelProto)
        self.assertEqual(len(lemma.Session(model).get_outputs()), 1)

    def test_exception_of_progress_ends_the_search(self):
        def stop(line):
            raise LookupError(line)

        with self.assertRaises(LookupError):
            lemma.optimize(self.source, effort="deep", cost_db=self.fresh(), progress=stop)

    def test_interrupt_ends_the_search(self):
        timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        began = time.monotonic()
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            lemma.optimize(self.source, effort="deep", cost_db=self.fresh())
        timer.cancel()
        self.assertLess(time.monotonic() - began, 20)

    def fresh(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return os.path.join(folder.name, "costs.sqlite")

    def test_errors(self):
        with self.assertRaisesRegex(FileNotFoundError, "missing.onnx"):
            lemma.optimize("missing.onnx")
        with self.assertRaisesRegex(ValueError, "^effort: 'huge' is not one of quick"):
            lemma.optimize(self.source, effort="huge")
        with self.assertRaisesRegex(ValueError, "^seconds: must be at least 0"):
            lemma.optimize(self.source, seconds=-1)
        with self.assertRaisesRegex(TypeError, "a model is a path"):
            lemma.optimize(3)
        with self.assertRaisesRegex(ValueError, "must end in .onnx"):
            self.result.save("model.txt")


    def test_unlisted_flags_and_rules_are_passed_on(self):
        with self.assertRaisesRegex(ValueError, "^pet: 'maybe' is not one of off, on"):
            lemma.optimize(SCALED, pet="maybe")
        with self.assertRaisesRegex(ValueError, "optimize has no argument 'efort'; did you mean effort"):
            lemma.optimize(SCALED, efort="quick")
        with self.assertRaisesRegex(ValueError, "^rules.txt: rule twice may not be used: it has no proof; "
                                    r"answer = lemma.verify\(rules\) .*allow_unproved=True does without$"):
            lemma.optimize(SCALED, cost="analytic", rules=TRUE_RULE)
        proved = lemma.generate(["taso", "relu", "transpose"], max_ops=2)
        lemma.optimize(SCALED, cost="analytic", runs=3, rules=proved)

    @unittest.skipIf(onnx is None, "needs the package onnx")
    def test_rules_of_ones_own_are_believed_where_they_are_given(self):
        proved = lemma.generate(["taso", "relu", "transpose"], max_ops=2)
        h, f32 = onnx.helper, onnx.TensorProto.FLOAT
        nodes = [h.make_node("Relu", ["x"], ["h"]), h.make_node("Relu", ["h"], ["y"])]
        ports = [h.make_tensor_value_info(name, f32, [4, 300]) for name in "xy"]
        model = h.make_model(h.make_graph(nodes, "g", ports[:1], ports[1:]),
                             opset_imports=[h.make_opsetid("", 17)])
        with tempfile.TemporaryDirectory() as folder:
            before, after = (os.path.join(folder, name) for name in ("before.onnx", "after.onnx"))
            onnx.save(model, before)
            result = lemma.optimize(before, cost="analytic", execution="off", rules=proved)
            result.save(after)
            self.assertFalse(result.kept)
            certificate = after + ".cert"
            self.assertTrue(lemma.check(before, after, certificate, samples=0, rules=proved))
            self.assertTrue(lemma.check(before, after, certificate, samples=0, rules=["all", proved]))
            self.assertFalse(lemma.check(before, after, certificate, samples=0, rules=["all", "starter"]))
            self.assertFalse(lemma.check(before, after, certificate, samples=0))

    def test_inputs_and_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            x = numpy.ones((4, 300), "f4")
            lemma.optimize(SCALED, cost="analytic", runs=3, inputs=[x], report=page)
            self.assertEqual(os.listdir(folder), ["page.html"])
        with self.assertRaisesRegex(ValueError, r"input x is f32\[4,300\], got f32\[300,4\]"):
            lemma.optimize(SCALED, cost="analytic", inputs=[x.T.copy()])

    @unittest.skipIf(onnx is None, "needs the package onnx")
    def test_symbolic_sizes(self):
        h, tensor = onnx.helper, onnx.TensorProto
        values = [h.make_tensor_value_info(name, tensor.FLOAT, ["n", 2]) for name in "xy"]
        nodes = [h.make_node("Relu", ["x"], ["a"]), h.make_node("Relu", ["a"], ["y"])]
        graph = h.make_graph(nodes, "g", values[:1], values[1:])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        result = lemma.optimize(
            model, cost="analytic", runs=3, ranges={"n": (1, 64)}, hints=[{"n": 4}, {"n": 32}]
        )
        self.assertIn("\nsymbolic n 1 64\n", result.certificate)
        with self.assertRaisesRegex(ValueError, "^hint: no dimension is called m"):
            lemma.optimize(model, cost="analytic", hints={"m": 4})
        with self.assertRaisesRegex(ValueError, "^range: 'n=9:4' is not"):
            lemma.optimize(model, cost="analytic", ranges={"n": (9, 4)})


@unittest.skipIf(onnx is None, "needs the package onnx")
class QuantizeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        h, tensor = onnx.helper, onnx.TensorProto
        w = numpy.random.default_rng(3).standard_normal((16, 8)).astype("f4")
        graph = h.make_graph(
            [h.make_node("MatMul", ["x", "w"], ["y"])],
            "g",
            [h.make_tensor_value_info("x", tensor.FLOAT, [4, 16])],
            [h.make_tensor_value_info("y", tensor.FLOAT, [4, 8])],
            [onnx.numpy_helper.from_array(w, "w")],
        )
        cls.w = w
        cls.model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        cls.samples = numpy.random.default_rng(4).standard_normal((10, 4, 16)).astype("f4")

    def test_the_error_is_that_of_the_model(self):
        found = lemma.quantize(self.model, calibration={"x": self.samples}, runs=0)
        self.assertFalse(found.json["synthetic"])
        self.assertEqual([operator["quantized"] for operator in found.operators], [True])
        with lemma.Session(found.path) as session:
            (y,) = session.run(None, {"x": self.samples[0]})
        expected = self.samples[0] @ self.w
        error = numpy.linalg.norm(y - expected) / numpy.linalg.norm(expected)
        self.assertGreater(error, 0)
        self.assertLess(error, 4 * found.error)
        page = found._repr_html_()
        self.assertIn("1 of 1", page)
        self.assertNotIn("time after", page)
        with tempfile.TemporaryDirectory() as folder:
            found.save(os.path.join(folder, "q.onnx"))
            self.assertEqual(os.listdir(folder), ["q.onnx"])
        self.assertIsInstance(found.model, onnx.ModelProto)

    def test_optimize_takes_the_same_samples(self):
        for samples, count in (({"x": self.samples}, 10), ("synthetic:5", 5)):
            result = lemma.optimize(
                self.model, cost="analytic", runs=3, numerics="quantize", max_error=0.5, calibration=samples
            )
            told = result.quantized["result"]
            self.assertEqual(told["calibration_samples"] + told["held_out_samples"], count)
        for call in (lemma.optimize, lemma.quantize):
            with self.assertRaisesRegex(TypeError, "^calibration: a dict with an array for each input.*; not ndarray$"):
                call(self.model, calibration=self.samples)

    def test_why_a_model_stays_in_f32(self):
        result = lemma.optimize(self.model, cost="analytic", runs=3, numerics="quantize", max_error=1e-9)
        self.assertRegex(repr(result.quantized), "^<lemma.Quantization: stays in f32: no operator ")
        self.assertIn("; stays in f32: no operator ", repr(result))

    def test_it_is_not_saved_over_the_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "m.onnx"), os.path.join(folder, "link.onnx")
            onnx.save(self.model, path)
            os.link(path, link)
            found = lemma.quantize(path, calibration={"x": self.samples}, runs=0)
            for name in (path, link):
                with self.assertRaisesRegex(lemma.InputError, "would overwrite the input"):
                    found.save(name)
            found.save(os.path.join(folder, "q.onnx"))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "max_error: no operator can be quantized within 1e-09"):
            lemma.quantize(self.model, max_error=1e-9, runs=1)
        with self.assertRaisesRegex(ValueError, "^form: 'all' is not one of static"):
            lemma.quantize(self.model, form="all")
        with self.assertRaisesRegex(FileNotFoundError, "missing.npz"):
            lemma.quantize(self.model, calibration="missing.npz")
        with self.assertRaisesRegex(ValueError, "only these can be quantized"):
            lemma.quantize(SCALED)


class SessionTest(unittest.TestCase):
    def test_all_types_go_through(self):
        for name, code in TYPES.items():
            text = f"graph g(x: {name}[2, 3]) {{\n  y = transpose(x) {{perm = [1,0]}}\n  return y\n}}\n"
            x = numpy.array([[0, 1, 0], [1, 1, 0]]).astype(code)
            with lemma.Session(text) as session, self.subTest(name):
                (y,) = session.run(None, {"x": x})
                self.assertEqual(y.dtype, x.dtype)
                numpy.testing.assert_array_equal(y, x.T)

    def test_strided_arrays_and_chosen_outputs(self):
        text = "graph g(x: f32[3, 2]) {\n  a = relu(x)\n  b = neg(x)\n  return a, b\n}\n"
        x = numpy.arange(-3, 3, dtype="f4").reshape(2, 3).T
        with lemma.Session(text) as session:
            b, a = (o.name for o in reversed(session.get_outputs()))
            first, second = session.run([b, a], {"x": x})
        numpy.testing.assert_array_equal(first, -x)
        numpy.testing.assert_array_equal(second, numpy.maximum(x, 0))

    def test_empty_and_scalar_arrays(self):
        with lemma.Session("graph g(x: f32[]) {\n  y = neg(x)\n  return y\n}\n") as session:
            (y,) = session.run(None, {"x": numpy.float32(2)})
        self.assertEqual((y.shape, float(y)), ((), -2.0))

    def test_session_goes_on_after_a_mistake(self):
        with lemma.Session(SCALED) as session:
            good = numpy.full((4, 300), -1, "f4")
            with self.assertRaisesRegex(ValueError, r"f32\[4,300\], f32\[4,2\] is given"):
                session.run(None, {"x": good[:, :2]})
            with self.assertRaisesRegex(ValueError, "input 'x' is float32, not float64"):
                session.run(None, {"x": good.astype("f8")})
            with self.assertRaisesRegex(ValueError, "no input is called 'z'; there are: x"):
                session.run(None, {"z": good})
            with self.assertRaisesRegex(ValueError, "no output is called 'z'"):
                session.run(["z"], {"x": good})
            with self.assertRaisesRegex(TypeError, r"the names of outputs are a list: run\(\['b'\], …\)"):
                session.run("b", {"x": good})
            with self.assertRaisesRegex(TypeError, "the inputs are a dict .*, not list; the names are: x$"):
                session.run(None, [good])
            with self.assertRaisesRegex(ValueError, "input 'x' is missing"):
                session.run(None, {})
            self.assertEqual(session.run(None, {"x": good})[0].sum(), 0)
        with self.assertRaisesRegex(ValueError, "closed"):
            session.run(None, {"x": good})

    def test_threads_take_turns(self):
        with lemma.Session(SCALED) as session:
            wrong = []

            def work(value):
                x = numpy.full((4, 300), value, "f4")
                for _ in range(20):
                    if not (session.run(None, {"x": x})[0] == value).all():
                        wrong.append(value)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    @unittest.skipIf(onnx is None, "needs the package onnx")
    def test_symbolic_sizes_and_defaults(self):
        h, tensor = onnx.helper, onnx.TensorProto
        graph = h.make_graph(
            [h.make_node("Add", ["x", "w"], ["y"])],
            "g",
            [
                h.make_tensor_value_info("x", tensor.FLOAT, ["n", 2]),
                h.make_tensor_value_info("w", tensor.FLOAT, [2]),
            ],
            [h.make_tensor_value_info("y", tensor.FLOAT, ["n", 2])],
            [h.make_tensor("w", tensor.FLOAT, [2], [1.0, 2.0])],
        )
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        with lemma.Session(model) as session:
            self.assertEqual(session.get_inputs()[0].shape, ("n", 2))
            for n in (1, 5):
                (y,) = session.run(["y"], {"x": numpy.zeros((n, 2), "f4")})
                numpy.testing.assert_array_equal(y, numpy.tile([1, 2], (n, 1)))
            x, w = numpy.ones((1, 2), "f4"), numpy.full(2, 3, "f4")
            numpy.testing.assert_array_equal(session.run(None, {"x": x, "w": w})[0], [[4, 4]])

    def test_errors_of_opening(self):
        with self.assertRaisesRegex(FileNotFoundError, "missing.onnx"):
            lemma.Session("missing.onnx")
        with self.assertRaisesRegex(ValueError, "backend: 'tpu' is not one of cpu"):
            lemma.Session(SCALED, backend="tpu")

    def test_end_of_the_process_is_said(self):
        session = lemma.Session(SCALED)
        session._process.kill()
        with self.assertRaisesRegex(lemma.InternalError, "SIGKILL"):
            session.run(None, {"x": numpy.zeros((4, 300), "f4")})


class DefineTest(unittest.TestCase):
    MINE = "operator mine(x: [n]) { y[i < n] = x[i] * 2 return y }"
    THRICE = MINE.replace("2", "3")
    YOURS = "# The\n# operator mine is another.\noperator yours(x: [n]) { y[i < n] = x[i] * 7 return y }\n"

    def setUp(self):
        self.addCleanup(lemma._command.DEFINITIONS.clear)

    def value(self, name):
        with lemma.Session(f"graph g(x: f32[1]) {{ y = {name}(x) return y }}") as session:
            return session.run(None, {"x": numpy.ones(1, "f4")})[0][0]

    def test_a_text_replaces_an_earlier_one(self):
        lemma.define(self.MINE)
        self.assertEqual(self.value("mine"), 2)
        lemma.define(self.THRICE)
        self.assertEqual(self.value("mine"), 3)
        self.assertEqual(len(lemma._command.DEFINITIONS), 1)
        with self.assertRaises(lemma.InputError):
            lemma.define(self.MINE.replace("x[i]", "x[k]"))
        self.assertEqual(self.value("mine"), 3)

    def test_the_other_operators_of_a_text_stay(self):
        lemma.define(self.YOURS + self.MINE)
        lemma.define(self.THRICE)
        self.assertEqual((self.value("mine"), self.value("yours")), (3, 7))

    def test_texts_and_files_replace_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "ops.txt")
            path.write_text(self.MINE)
            lemma.define(self.THRICE)
            for text, value in ((self.MINE, 2), (self.THRICE, 3)):
                path.write_text(text)
                lemma.define(path)
                self.assertEqual(self.value("mine"), value)
            lemma.define(self.MINE)
            self.assertEqual(self.value("mine"), 2)
            path.write_text(self.THRICE + "\n" + self.YOURS)
            lemma.define(path)
            with self.assertRaisesRegex(lemma.InputError, "ops.txt defines mine, and other operators; change it there"):
                lemma.define(self.MINE)
            self.assertEqual((self.value("mine"), self.value("yours")), (3, 7))


class ProofTest(unittest.TestCase):
    def test_prove(self):
        same = lemma.prove(SCALED, SCALED.replace("  b = relu(a)\n  return b", "  return a"))
        self.assertTrue(same)
        self.assertEqual(same.verdict, "proved")
        other = lemma.prove(SCALED, SCALED.replace("b = relu(a)", "b = neg(a)"))
        self.assertFalse(other)
        self.assertEqual(other.verdict, "refuted")

    def test_referee(self):
        weights = "graph g(x: f32[4, 3], w: weight f32[3, 5] = fill {}) {{\n  y = matmul(x, w)\n  return y\n}}\n"
        self.assertTrue(lemma.referee(weights.format(0.5), weights.format(0.5)))
        other = lemma.referee(weights.format(0.5), weights.format(0.25))
        self.assertFalse(other)
        self.assertEqual(other.verdict, "refuted")
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            lemma.referee(SCALED, SCALED, report=page)
            self.assertIn("<h1>", page.read_text())
            model, certificate = pathlib.Path(folder, "m.lemma"), pathlib.Path(folder, "m.verdict")
            model.write_text(SCALED)
            self.assertTrue(lemma.referee(model, model, certificate=certificate))
            self.assertTrue(lemma.check(model, model, certificate))
            self.assertFalse(lemma.check(model, model, certificate.read_text().replace("1", "2")))
        answer = lemma.referee(SCALED, SCALED, inputs=[numpy.ones((4, 300), "f4")])
        self.assertTrue(answer)
        with self.assertRaisesRegex(ValueError, r"got f32\[2\]"):
            lemma.referee(SCALED, SCALED, inputs=[numpy.ones(2, "f4")])
        with self.assertRaisesRegex(ValueError, "hint: .*no dimension is called n"):
            lemma.referee(SCALED, SCALED, hint={"n": 4})
        with self.assertRaisesRegex(ValueError, "range"):
            lemma.referee(SCALED, SCALED, ranges={"n": (9, 4)})
        with self.assertRaisesRegex(ValueError, "accept"):
            lemma.referee(SCALED, SCALED, accept="anything")

    def test_verify_text_and_file(self):
        self.assertTrue(lemma.verify(TRUE_RULE))
        self.assertFalse(lemma.verify(FALSE_RULE))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rules.txt")
            path.write_text(TRUE_RULE)
            self.assertTrue(lemma.verify(path))
            self.assertTrue(lemma.verify(str(path)))
        with self.assertRaises(FileNotFoundError):
            lemma.verify("missing.txt")
        with self.assertRaisesRegex(ValueError, "expected"):
            lemma.verify("rule (\n")

    def test_proved_rules_are_used_and_saved(self):
        answer = lemma.verify(TRUE_RULE)
        self.assertIn("\nproved bit_exact ", answer.text)
        self.assertTrue(lemma.rules(answer)["twice"].proved)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rules.txt")
            path.write_text(TRUE_RULE)
            lemma.verify(path).save(path)
            self.assertEqual(path.read_text(), answer.text)
            for rules in (answer, answer.text, path, lemma.rules(answer)["twice"], [answer]):
                model = SCALED.replace("4, 300", "1200")
                result = lemma.optimize(model, cost="analytic", execution="off", rules=rules)
                self.assertIn("twice", result.json["rules"])
        refuted = lemma.verify(FALSE_RULE)
        self.assertFalse(lemma.rules(refuted)["twice"].proved)
        with self.assertRaisesRegex(lemma.InputError, r"rule twice may not be used: it is false: [^;]*$"):
            lemma.optimize(SCALED, cost="analytic", rules=refuted)

    def test_a_text_may_have_one_line(self):
        rule, model = " ".join(TRUE_RULE.split()), " ".join(SCALED.split())
        self.assertTrue(lemma.verify(rule))
        self.assertEqual(lemma.rules(rule).names, ["twice"])
        self.assertTrue(lemma.prove(model, SCALED))
        self.assertEqual(lemma.show("graph (x: f32[2]) { y = relu(x) return y }").operators, 1)
        with lemma.Session(model) as session:
            self.assertEqual(session.get_inputs()[0].name, "x")
        for name in ("graphs", "rules", "graph (1).onnx", "rule one.txt", "graph.onnx", "operator"):
            with self.assertRaisesRegex(FileNotFoundError, re.escape(name)):
                lemma.show(name)
        with self.assertRaisesRegex(ValueError, "^model.txt:1"):
            lemma.show("graph g(x: f32[2])")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph g")
            pathlib.Path(path).write_text(SCALED)
            before = os.getcwd()
            os.chdir(folder)
            try:
                self.assertFalse(_files.is_text("graph g"))
            finally:
                os.chdir(before)

    def test_generate(self):
        rules = lemma.generate(["taso", "relu", "transpose"], max_ops=2)
        self.assertEqual(len(rules), rules.json["written"])
        self.assertGreater(len(rules), 0)
        self.assertTrue(lemma.verify(rules))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rules.txt")
            rules.save(path)
            self.assertEqual(path.read_text(), rules.text)
        with self.assertRaisesRegex(ValueError, "^ops: no operator set is called 'nothing'"):
            lemma.generate("nothing")

    def test_train(self):
        model = "graph m(x: f32[4, 3], w: weight f32[3, 5] = fill 0.5) {\n  y = matmul(x, w)\n  return y\n}\n"
        step = lemma.train(model, loss="mse", update="adamw", lr=0.1, clip_norm=1.0)
        with lemma.Session(step.path) as session:
            names = [value.name for value in session.get_inputs()]
            self.assertIn("labels", names)
        self.assertGreater(step.json["operators"], 10)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.onnx")
            step.save(path)
            self.assertTrue(os.path.exists(path + ".safetensors"))
            with self.assertRaisesRegex(ValueError, "must end in .onnx"):
                step.save("step.txt")
        with self.assertRaisesRegex(ValueError, "^loss: 'worst' is not one of"):
            lemma.train(model, loss="worst")

    def test_version(self):
        self.assertRegex(lemma.version, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    MODELS = pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
