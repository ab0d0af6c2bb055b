"""Models of PyTorch: `from_torch`, and the back end of torch.compile.

Usage: torch_test.py

Skips everything without PyTorch, and torch.compile before PyTorch 2.
"""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy

import lemma

try:
    import torch
except ImportError:
    torch = None
try:
    import onnx
except ImportError:
    onnx = None

QUICK = {"cost": "analytic", "seconds": 2, "runs": 3, "threads": 1}


def net():
    """Two convolutions with a batch norm that has seen data."""
    torch.manual_seed(1)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Conv2d(3, 8, 3)
            self.norm = torch.nn.BatchNorm2d(8)
            self.last = torch.nn.Linear(8, 4)

        def forward(self, image):
            y = torch.relu(self.norm(self.first(image)))
            return self.last(y.mean((2, 3)))

    made = Net()
    made(torch.rand(16, 3, 8, 8))
    return made


@unittest.skipIf(torch is None or onnx is None, "needs the packages torch and onnx")
class FromTorchTest(unittest.TestCase):
    def test_a_model_becomes_onnx_that_computes_the_same(self):
        model = net()
        image = torch.rand(2, 3, 8, 8)
        proto = lemma.from_torch(model, image)
        self.assertIsInstance(proto, onnx.ModelProto)
        with lemma.Session(proto) as session:
            (value,) = session.get_inputs()
            self.assertEqual((value.name, value.shape), ("image", (2, 3, 8, 8)))
            self.assertEqual([o.name for o in session.get_outputs()], ["output"])
            (y,) = session.run(None, {"image": image})
        numpy.testing.assert_allclose(y, model.eval()(image).detach(), rtol=1e-5, atol=1e-6)

    def test_nothing_is_folded_before_lemma_sees_it(self):
        operators = {node.op_type for node in lemma.from_torch(net(), torch.rand(1, 3, 8, 8)).graph.node}
        self.assertIn("BatchNormalization", operators)
        result = lemma.optimize(lemma.from_torch(net(), torch.rand(1, 3, 8, 8)), **QUICK)
        self.assertIn("fold_batch_norm_into_conv_bias", result.json["search_rules"])

    def test_modules_stay_in_their_modes(self):
        model = net()
        model.norm.eval()  # as in fine-tuning
        lemma.from_torch(model, torch.rand(1, 3, 8, 8))
        self.assertEqual([model.training, model.first.training, model.norm.training], [True, True, False])

    def test_dynamic_dimensions_stay_symbolic(self):
        model = net().eval()
        for dynamic in ({"image": {0: "batch"}}, {"image": {-4: "batch"}}):
            proto = lemma.from_torch(model, torch.rand(2, 3, 8, 8), dynamic=dynamic)
            with lemma.Session(proto) as session:
                self.assertEqual(session.get_inputs()[0].shape, ("batch", 3, 8, 8))
                for size in (1, 5):
                    image = torch.rand(size, 3, 8, 8)
                    (y,) = session.run(None, {"image": image})
                    numpy.testing.assert_allclose(y, model(image).detach(), rtol=1e-5, atol=1e-6)
        proto = lemma.from_torch(model, torch.rand(2, 3, 8, 8), dynamic={"image": [0]})
        with lemma.Session(proto) as session:
            self.assertEqual(session.get_inputs()[0].shape[0], "image_0")

    def test_functions_and_several_outputs_have_names(self):
        x = torch.rand(2, 3)

        def split(left, right):
            return {"sum": left + right, "parts": (left * 2, right - 1)}

        with lemma.Session(lemma.from_torch(split, (x, x + 1), input_names=["a", "b"])) as session:
            names = [value.name for value in session.get_outputs()]
            self.assertEqual(names, ["sum", "parts_output_0", "parts_output_1"])
            (twice,) = session.run(["parts_output_0"], {"a": x, "b": x})
        numpy.testing.assert_array_equal(twice, x * 2)

    def test_transformers_are_exported_in_parts(self):
        # PyTorch executes an encoder in evaluation mode by one operator that ONNX does not have.
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        model = torch.nn.TransformerEncoder(layer, 2).eval()
        x = torch.rand(2, 5, 16)
        with torch.no_grad():
            proto = lemma.from_torch(model, x)
            expected = model(x)
        with lemma.Session(proto) as session:
            (y,) = session.run(None, {session.get_inputs()[0].name: x})
        numpy.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)

    def test_fused_operators_are_switched_off_and_on_again(self):
        states = [True]  # PyTorch 2 has this switch
        switch = types.SimpleNamespace(
            get_fastpath_enabled=lambda: states[-1], set_fastpath_enabled=states.append
        )
        with unittest.mock.patch.object(torch.backends, "mha", switch, create=True):
            lemma.from_torch(net(), torch.rand(1, 3, 8, 8))
        self.assertEqual(states, [True, False, True])

    def test_a_file_can_be_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.onnx")
            self.assertEqual(lemma.from_torch(net(), torch.rand(1, 3, 8, 8), path=path), path)
            self.assertEqual(os.listdir(folder), ["net.onnx"])
            lemma.Session(path).close()

    def test_a_module_in_the_place_of_a_model(self):
        with self.assertRaisesRegex(TypeError, r"not Net; lemma.from_torch\(model, args\) makes one of it"):
            lemma.optimize(net())

    def test_errors(self):
        x = torch.rand(1, 3, 8, 8)
        with self.assertRaisesRegex(ValueError, "dynamic: no input is called 'x'; there are: image"):
            lemma.from_torch(net(), x, dynamic={"x": [0]})
        with self.assertRaisesRegex(ValueError, "'image' has 4 dimensions, and none is number 4"):
            lemma.from_torch(net(), x, dynamic={"image": [4]})
        with self.assertRaisesRegex(TypeError, "args: number 0 is 'float', not a tensor"):
            lemma.from_torch(net(), 1.0)
        with self.assertRaisesRegex(TypeError, "'int' is neither a module nor a function"):
            lemma.from_torch(3, x)
        with self.assertRaisesRegex(ValueError, "input_names: 2 names for 1 tensors"):
            lemma.from_torch(net(), x, input_names=["a", "b"])
        with self.assertRaisesRegex(TypeError, "the model returns 'str'"):
            lemma.from_torch(lambda x: "text", x)


class NoTorchTest(unittest.TestCase):
    def test_a_missing_torch_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("raise ImportError('not here')\n")
            program = "import lemma; lemma.from_torch(None, None)"
            environment = {**os.environ, "PYTHONPATH": folder + ":" + os.environ.get("PYTHONPATH", "")}
            done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("PyTorch cannot be imported (not here); install it, or export the model", done.stderr)


@unittest.skipIf(torch is None, "needs the package torch")
class BackendTest(unittest.TestCase):
    """The function that torch.compile calls, with graphs that torch.fx traces."""

    def setUp(self):
        torch.manual_seed(2)

    def compiled(self, model, **options):
        graph = torch.fx.symbolic_trace(model)
        return lemma.torch_backend(graph, [], options={**QUICK, **options})

    def by_lemma(self, compiled):
        """For each choice of sizes, whether Lemma executes the graph."""
        return [prepared is not None for prepared in compiled._prepared.values()]

    def why_not(self, model, *args):
        """Calls a graph that PyTorch keeps, and returns the reason that is logged."""
        compiled = self.compiled(model)
        with self.assertLogs("lemma", logging.WARNING) as logged:
            compiled(*args)
        self.assertEqual(self.by_lemma(compiled), [False])
        return " ".join(logged.output)

    def test_the_second_call_is_lemmas_and_equal(self):
        model = net().eval()
        compiled = self.compiled(model)
        with torch.no_grad():
            for size in (2, 2, 5, 5, 2):
                image = torch.rand(size, 3, 8, 8)
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)
        self.assertEqual(self.by_lemma(compiled), [True, True])

    def test_changed_weights_are_noticed(self):
        model = net().eval()
        compiled = self.compiled(model)
        image = torch.rand(2, 3, 8, 8)
        with torch.no_grad():
            compiled(image)
            model.last.weight.mul_(3)
            model.norm.running_mean.add_(1)
            for _ in range(2):
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)
            model.last.weight.data = torch.rand(4, 8)
            for _ in range(2):
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)
        self.assertEqual(self.by_lemma(compiled), [True])

    def test_weights_may_be_arguments(self):
        # As PyTorch 2.5 and later pass them on.
        weight = torch.nn.Parameter(torch.rand(3, 3))
        compiled = self.compiled(lambda x, w: (torch.relu(x @ w),))
        with torch.no_grad():
            x = torch.rand(2, 3)
            compiled(x, weight)
            (prepared,) = compiled._prepared.values()
            self.assertEqual([i.name for i in prepared._session.get_inputs()], ["input_0"])
            self.assertIsInstance(compiled(x, weight), tuple)
            weight.add_(1)
            torch.testing.assert_close(compiled(x, weight)[0], torch.relu(x @ weight))
            torch.testing.assert_close(compiled(x, weight)[0], torch.relu(x @ weight))

    def test_tensors_of_inference_mode(self):
        model = net().eval()
        compiled = self.compiled(model)
        with torch.inference_mode():
            image = torch.rand(2, 3, 8, 8)
        for mode in (torch.no_grad, torch.inference_mode, torch.no_grad):
            with mode():
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)
        self.assertEqual(self.by_lemma(compiled), [True])

    def test_gradients_are_pytorchs(self):
        model = net().eval()
        compiled = self.compiled(model)
        with self.assertLogs("lemma", logging.WARNING) as logged:
            for _ in range(2):
                compiled(torch.rand(2, 3, 8, 8)).sum().backward()
        self.assertIsNotNone(model.first.weight.grad)
        self.assertEqual(self.by_lemma(compiled), [])
        (line,) = logged.output
        self.assertIn("gradients are needed", line)

    def test_what_lemma_cannot_do_is_pytorchs(self):
        x = torch.rand(2, 3)
        with torch.no_grad():
            self.assertIn("changes its inputs or weights", self.why_not(net().train(), torch.rand(4, 3, 8, 8)))
            self.assertIn("shares memory", self.why_not(lambda x: x.view(3, 2), x))
            self.assertIn("something else than tensors", self.why_not(lambda x: (x + 1, 3), x))
            self.why_not(lambda x: torch.nn.functional.dropout(x + 1, 0.5, True), torch.rand(50, 50))

    def test_a_wrong_export_is_noticed(self):
        compiled = self.compiled(lambda x, y: (x * 2, y + 1))
        x, y = torch.rand(2, 3), torch.rand(3)
        with torch.no_grad(), unittest.mock.patch.object(lemma._torch_backend.Session, "run") as run:
            run.return_value = [(x * 2).numpy(), (y + 1.5).numpy()]
            with self.assertLogs("lemma", logging.WARNING) as logged:
                compiled(x, y)
        self.assertIn("its outputs differ from PyTorch's", logged.output[0])

    def test_a_mode_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no modes"):
            lemma.torch_backend(torch.fx.symbolic_trace(net()), [], mode="max-autotune")


@unittest.skipIf(torch is None or not hasattr(torch, "compile"), "needs PyTorch 2")
class CompileTest(unittest.TestCase):
    def test_the_back_end_has_its_name(self):
        self.assertIn("lemma", torch._dynamo.list_backends())

    def test_compiled_models_are_equal(self):
        model = net().eval()
        compiled = torch.compile(model, backend="lemma", options=QUICK)
        run = lemma.Session.run
        with torch.no_grad(), self.assertNoLogs("lemma", logging.WARNING), unittest.mock.patch.object(
            lemma.Session, "run", autospec=True, side_effect=run
        ) as counted:
            for size in (2, 2, 5, 5, 7, 2):
                image = torch.rand(size, 3, 8, 8)
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)
        # A comparison for each of three sizes, and the calls that repeat a size.
        self.assertEqual(counted.call_count, 6)

    def test_inference_mode(self):
        model = net().eval()
        compiled = torch.compile(model, backend="lemma", options=QUICK)
        with torch.inference_mode(), self.assertNoLogs("lemma", logging.WARNING):
            image = torch.rand(2, 3, 8, 8)
            for _ in range(3):
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)

    def test_training_stays_right(self):
        model = net()
        compiled = torch.compile(model, backend="lemma", options=QUICK)
        image = torch.rand(4, 3, 8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = compiled(image).square().sum()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        self.assertLess(losses[-1], losses[0])
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(compiled(image), model(image), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
