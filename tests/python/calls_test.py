"""How the package calls the command: errors, progress, interruption, arrays of other packages.

Usage: calls_test.py ROOT MODELS
"""

import contextlib
import io
import logging
import os
import pathlib
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

import numpy

import lemma
from lemma import _arrays, _errors, _files, _progress

MODELS = pathlib.Path()
SMALL = "graph small(x: f32[2, 3]) {\n  y = relu(x)\n  return y\n}\n"


class ErrorTest(unittest.TestCase):
    def test_an_error_has_message_code_and_exit_status(self):
        with self.assertRaises(lemma.InputError) as caught:
            lemma.optimize(SMALL, effort="huge")
        self.assertIsInstance(caught.exception, ValueError)
        self.assertRegex(caught.exception.message, "^effort: 'huge' is not one of")
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("INVALID_ARGUMENT", 2))
        with self.assertRaises(lemma.Error) as caught:
            lemma.show("missing.onnx")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertEqual(caught.exception.exit_status, 2)

    def test_an_error_of_a_session_has_them_too(self):
        with lemma.Session(SMALL) as session, self.assertRaises(lemma.Error) as caught:
            session.run(None, {"x": numpy.zeros((1, 3), "f4")})
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("INVALID_ARGUMENT", 2))

    def test_codes_are_pythons_exceptions(self):
        for code, kind in {
            "OUT_OF_RANGE": ValueError,
            "PERMISSION_DENIED": PermissionError,
            "ALREADY_EXISTS": FileExistsError,
            "RESOURCE_EXHAUSTED": MemoryError,
            "UNIMPLEMENTED": NotImplementedError,
            "INTERNAL": RuntimeError,
            "CANCELLED": KeyboardInterrupt,
        }.items():
            self.assertIsInstance(_errors.exception(code, "text", 2), kind, code)
        self.assertEqual(_errors.exception("INTERNAL", "text").exit_status, 3)

    def test_an_error_can_be_pickled(self):
        failure = pickle.loads(pickle.dumps(_errors.exception("NOT_FOUND", "text --max-ops", 2)))
        self.assertIsInstance(failure, FileNotFoundError)
        self.assertEqual((failure.message, failure.code), ("text max_ops", "NOT_FOUND"))

    def test_a_signal_is_named(self):
        session = lemma.Session(SMALL)
        session._process.kill()
        with self.assertRaises(lemma.InternalError) as caught:
            session.run(None, {"x": numpy.zeros((2, 3), "f4")})
        self.assertEqual(caught.exception.exit_status, -signal.SIGKILL)


class ArgumentTest(unittest.TestCase):
    def test_the_argument_that_was_meant_is_named(self):
        sizes = {"n": 1}
        for call, given, meant in (
            (lemma.optimize, {"hint": sizes}, "optimize has no argument 'hint'; did you mean hints"),
            (lemma.optimize, {"hits": 2}, "optimize has no argument 'hits'; did you mean hints"),
            (lemma.optimize, {"calibrations": 2}, "did you mean calibration"),
            (lemma.optimize, {"zzz": 2}, r"optimize has no argument 'zzz'; see help\(lemma.optimize\)"),
            (lemma.quantize, {"dim": sizes}, "quantize has no argument 'dim'; did you mean dims"),
            (lemma.show, {"dim": sizes}, "did you mean dims"),
            (lemma.verify, {"rule": SMALL}, "did you mean rules"),
            (lemma.Session, {"thread": 2}, "Session has no argument 'thread'; did you mean threads"),
        ):
            with self.subTest(given), self.assertRaisesRegex((TypeError, lemma.InputError), meant):
                call(SMALL, **given)
        with self.assertRaisesRegex(TypeError, "referee has no argument 'hints'; did you mean hint"):
            lemma.referee(SMALL, SMALL, hints=sizes)

    def test_values_of_flags(self):
        self.assertEqual(
            lemma._models.flags({"a_b": 1, "c": True, "d": False, "e": ["x", "y"], "f": numpy.float32(2)}),
            ["--a-b=1", "--c", "--e=x,y", "--f=2.0"],
        )
        with self.assertRaisesRegex(TypeError, "^pet: needs a number, a text or a list, not ndarray$"):
            lemma.optimize(SMALL, pet=numpy.zeros(1000))


class ProgressTest(unittest.TestCase):
    LINES = ["enumerating graphs", "proving: 17 of 71, 17 proved", "proving: 71 of 71, 60 proved"]

    def tell(self, progress):
        with _progress.listener(progress) as tell:
            for line in self.LINES:
                tell(line)

    def test_lines_without_tqdm(self):
        printed = io.StringIO()
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            with contextlib.redirect_stderr(printed):
                self.tell(True)
        self.assertEqual(printed.getvalue().splitlines(), self.LINES)

    def test_tqdm_counts(self):
        seen = []

        class Bar:
            def __init__(self, **options):
                self.total, self.n, self.bar_format = None, 0, options["bar_format"]

            def set_description_str(self, text, refresh=True):
                self.text = text
                seen.append((text, None, None))

            def refresh(self):
                seen[-1] = (self.text, self.n, self.total)

            def close(self):
                seen.append("closed")

        fake = types.SimpleNamespace(tqdm=Bar)
        with unittest.mock.patch.dict(sys.modules, {"tqdm": fake, "tqdm.auto": fake}):
            self.tell(True)
        self.assertEqual(
            seen, [("enumerating graphs", None, None), ("proving", 17, 71), ("proving", 71, 71), "closed"]
        )

    def test_commands_show_it(self):
        printed = io.StringIO()
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            with contextlib.redirect_stderr(printed):
                lemma.generate(["taso", "relu", "transpose"], max_ops=2, progress=True)
        self.assertRegex(printed.getvalue(), r"graphs|proving")

    def test_notes_are_logged(self):
        lines = b"lemma: note: n is 1\nprogress: half\nlemma: WARNING: odd\nerror: NOT_FOUND: f: gone\n"
        with self.assertLogs("lemma", logging.INFO) as logged:
            errors = lemma._command.Errors(io.BytesIO(lines))
            errors.close()
        self.assertEqual(logged.output, ["INFO:lemma:n is 1", "WARNING:lemma:WARNING: odd"])
        self.assertEqual([errors.news(), errors.news()], ["half", None])
        failure = errors.failure(2)
        self.assertEqual((str(failure), failure.code, failure.exit_status), ("f: gone", "NOT_FOUND", 2))

    def test_a_missing_library_is_an_import_error(self):
        line = b"lemma: error while loading shared libraries: libz3.so.4: cannot open shared object file\n"
        failure = lemma._command.Errors(io.BytesIO(line)).failure(127)
        self.assertIsInstance(failure, ImportError)
        self.assertRegex(str(failure), r"^libz3.so.4: .* the wheel that tools/build_wheel makes brings the libraries")


class InterruptTest(unittest.TestCase):
    def test_ctrl_c_leaves_no_process_and_no_file(self):
        started = []
        popen = lemma._command.subprocess.Popen

        def record(*args, **kwargs):
            started.append(popen(*args, **kwargs))
            return started[-1]

        with tempfile.TemporaryDirectory() as folder:
            timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
            with unittest.mock.patch.dict(os.environ, {"TMPDIR": folder}), unittest.mock.patch.object(
                tempfile, "tempdir", folder
            ), unittest.mock.patch.object(lemma._command.subprocess, "Popen", record):
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    lemma.optimize(
                        MODELS / "light_resnet50.onnx", effort="deep", cost_db=os.path.join(folder, "db")
                    )
            timer.cancel()
            left = [name for name in os.listdir(folder) if not name.startswith("db")]
        self.assertEqual(left, [])
        (process,) = started
        self.assertIsNotNone(process.returncode)

    def test_an_interrupted_referee_writes_no_page(self):
        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            model = MODELS / "light_resnet50.onnx"
            with unittest.mock.patch.object(lemma._command, "_pass_on", interrupt):
                with self.assertRaises(KeyboardInterrupt):
                    lemma.referee(model, model, report=page)
            self.assertEqual(os.listdir(folder), [])


class EndTest(unittest.TestCase):
    def test_an_open_session_ends_with_python(self):
        program = f"import lemma\ns = lemma.Session({SMALL!r})\nprint(s._process.pid)\n"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for _ in range(100):
            if not os.path.exists(f"/proc/{done.stdout.strip()}/cmdline"):
                break
            time.sleep(0.05)
        else:
            self.assertNotIn("lemma", pathlib.Path(f"/proc/{done.stdout.strip()}/cmdline").read_text())


class FilesTest(unittest.TestCase):
    def test_all_or_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            one, two, gone = (os.path.join(folder, name) for name in ("one", "two", "gone"))
            pathlib.Path(one).write_text("new")
            pathlib.Path(two).write_text("old")
            with self.assertRaises(FileNotFoundError):
                _files.copy_all([(one, two), (gone, one)])
            self.assertEqual(pathlib.Path(two).read_text(), "old")
            self.assertEqual(sorted(os.listdir(folder)), ["one", "two"])
            with open(two) as opened:  # a reader has the old file, and no part of the new one
                _files.copy_all([(one, two)])
                self.assertEqual(opened.read(), "old")
            self.assertEqual(pathlib.Path(two).read_text(), "new")

    def test_modes_and_links_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            file, link = os.path.join(folder, "file"), os.path.join(folder, "link")
            pathlib.Path(file).write_text("old")
            os.chmod(file, 0o604)
            os.symlink(file, link)
            _files.write_text(link, "new")
            self.assertTrue(os.path.islink(link))
            self.assertEqual(pathlib.Path(file).read_text(), "new")
            self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o604)


class OverwritingTest(unittest.TestCase):
    """No result is saved over the model that it was made of."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "model.onnx"
        shutil.copyfile(MODELS / "light_squeezenet.onnx", self.model)
        self.bytes = self.model.read_bytes()

    def refused(self, save, suffix=".onnx"):
        link, hard = self.folder / f"link{suffix}", self.folder / f"hard{suffix}"
        link.symlink_to(self.model)
        os.link(self.model, hard)
        for name in (str(self.model), self.model, link, hard):
            with self.assertRaises(lemma.InputError) as caught:
                save(name)
            self.assertRegex(str(caught.exception), "would overwrite the input.*; give another name$")
            self.assertEqual((caught.exception.code, caught.exception.exit_status), ("INVALID_ARGUMENT", 2))
        self.assertEqual(self.model.read_bytes(), self.bytes)
        self.assertEqual(len(list(self.folder.iterdir())), 3)
        save(self.folder / f"other{suffix}")

    def test_an_optimized_model(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        result = lemma.optimize("model.onnx", cost="analytic", effort="quick", execution="off")
        with self.assertRaisesRegex(ValueError, "^model.onnx: would overwrite the input; give another name$"):
            result.save("model.onnx")
        os.chdir(before)
        self.refused(result.save)

    def test_weights_beside_the_model(self):
        result = lemma.optimize(self.model, cost="analytic", effort="quick", execution="off")
        own = pathlib.Path(result.path).with_name("optimized.onnx.data")
        own.write_text("new")  # as a model with large weights has it
        data = self.folder / own.name
        data.write_text("old")
        self.model.write_bytes(self.bytes + own.name.encode())
        with self.assertRaisesRegex(lemma.InputError, "would overwrite the input's weights; give another folder"):
            result.save(self.folder / "other.onnx")
        self.assertEqual(data.read_text(), "old")
        data.write_text("new")
        result.save(self.folder / "other.onnx")

    def test_a_picture(self):
        self.refused(lemma.show(SMALL, since=self.model).save, ".svg")

    def test_a_training_step(self):
        self.refused(lemma.train(self.model, loss="mse").save)


class Exchanged:
    """An array of another package: its memory is reached through DLPack only."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class ArrayTest(unittest.TestCase):
    def test_dlpack_shares_memory(self):
        array = numpy.arange(6, dtype="f4").reshape(2, 3)
        self.assertTrue(numpy.shares_memory(_arrays.as_numpy(Exchanged(array), "x"), array))
        with lemma.Session(SMALL) as session:
            (y,) = session.run(None, {"x": Exchanged(array - 2)})
        numpy.testing.assert_array_equal(y, numpy.maximum(array - 2, 0))

    def test_numbers_and_array_protocol(self):
        class Array:
            def __array__(self, dtype=None, copy=None):
                return numpy.ones((2, 3), "f4")

        with lemma.Session(SMALL) as session:
            self.assertEqual(session.run(None, {"x": Array()})[0].sum(), 6)
        with lemma.Session("graph s(x: f32[]) {\n  y = neg(x)\n  return y\n}\n") as session:
            self.assertEqual(session.run(None, {"x": numpy.float32(2)})[0], -2)

    def test_what_is_no_array_of_the_cpu_is_refused(self):
        with lemma.Session(SMALL) as session:
            with self.assertRaisesRegex(TypeError, "input 'x' lies on a device, not in the CPU's memory"):
                session.run(None, {"x": Exchanged(numpy.zeros(3), device=(2, 0))})
            with self.assertRaisesRegex(TypeError, "input 'x' is no array: object"):
                session.run(None, {"x": object()})
            self.assertEqual(session.run(None, {"x": numpy.zeros((2, 3), "f4")})[0].sum(), 0)

    def test_tensors_of_pytorch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs the package torch")
        tensor = torch.ones(2, 3, requires_grad=True)
        array = _arrays.as_numpy(tensor, "x")
        self.assertEqual(array.__array_interface__["data"][0], tensor.data_ptr())
        truth = _arrays.as_numpy(torch.tensor([True, False]), "x")
        self.assertEqual((truth.dtype, truth.tolist()), (numpy.dtype("?"), [True, False]))

    def test_outputs_go_into_given_arrays(self):
        x = numpy.full((2, 3), 5, "f4")
        with lemma.Session(SMALL) as session:
            given = numpy.empty((2, 3), "f4")
            (y,) = session.run(None, {"x": x}, out={"y": given})
            self.assertIs(y, given)
            self.assertEqual(given.sum(), 30)
            with self.assertRaisesRegex(ValueError, r"out: 'y' has the shape \[2, 3\], not \[3, 2\]"):
                session.run(None, {"x": x}, out={"y": numpy.empty((3, 2), "f4")})
            with self.assertRaisesRegex(ValueError, "out: 'y' needs a NumPy array of float32"):
                session.run(None, {"x": x}, out={"y": numpy.empty((2, 3))})
            with self.assertRaisesRegex(ValueError, "out: the array for 'y' is not contiguous"):
                session.run(None, {"x": x}, out={"y": numpy.empty((3, 2), "f4").T})
            with self.assertRaisesRegex(ValueError, "out: 'z' is not among the outputs: y"):
                session.run(None, {"x": x}, out={"z": given})
            self.assertEqual(session.run(None, {"x": -x})[0].sum(), 0)


if __name__ == "__main__":
    MODELS = pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
