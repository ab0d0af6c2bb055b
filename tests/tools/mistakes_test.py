"""Likely mistakes of users, each with what the command says: the cause and what to do next.

Usage: mistakes_test.py LEMMA MODEL
"""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

LEMMA, MODEL = "", ""

GRAPH = "graph g(x: f32[2, 3]) {\n  y = relu(x)\n  return y\n}\n"
RULE = "rule r(x: [n]) bit_exact {\n  a = neg(x)\n  b = neg(a)\n  return b\n} => {\n  return x\n}\n"
FILES = {
    "graph.txt": GRAPH,
    "typo.txt": GRAPH.replace("relu", "rellu"),
    "undefined.txt": GRAPH.replace("(x)", "(z)"),
    "types.txt": GRAPH.replace("f32", "float32"),
    "sizes.txt": GRAPH.replace("[2, 3])", "[2, 3], w: weight f32[4, 5] = fill 1.0)").replace("relu(x)", "matmul(x, w)"),
    "rule.txt": RULE,
    "unclosed.txt": RULE.rstrip("}\n"),
    "contract.txt": RULE.replace("bit_exact", "exact"),
    "false.txt": RULE.replace("  b = neg(a)\n  return b", "  return a"),
    "empty.onnx": "",
    "prose.onnx": "hello\n",
    "prose.npy": "hello\n",
}

# The arguments, the exit status, and what the message must say; … stands for anything.
# MODEL is an ONNX model.
MISTAKES = [
    # Commands and flags.
    ("optimise MODEL -o out.onnx", 2, "unknown command optimise; did you mean optimize?"),
    ("--verison", 2, "unknown command --verison; did you mean --version?"),
    ("rules explan rule.txt", 2, "rules: unknown subcommand explan; did you mean explain?"),
    ("verify MODEL", 2, "is not text, so it is no file of rules; lemma prove and lemma referee compare models"),
    ("help optimixe", 2, "did you mean optimize?"),
    ("optimize -o out.onnx", 2, "which MODEL? see --help"),
    ("optimize MODEL", 2, "missing -o OUT: the file to write"),
    ("optimize MODEL MODEL -o out.onnx", 2, "one MODEL, please: … is one too many"),
    ("optimize MODEL -o out.onnx --efort=quick", 2, "unknown flag --efort; did you mean --effort?"),
    ("optimize MODEL --output", 2, "--output needs a value: OUT"),
    ("optimize MODEL -o out.onnx --effort=fast", 2, "'fast' is not one of quick, normal, deep"),
    ("optimize MODEL -o out.onnx --backend=gpu", 2, "'gpu' is not one of cpu, cuda, "),
    ("optimize MODEL -o out.onnx --target=tensorrt", 2, "'tensorrt' is not one of lemma, onnxruntime"),
    ("optimize MODEL -o out.onnx --seconds=ten", 2, "--seconds: 'ten' is not a number"),
    ("optimize MODEL -o out.onnx --threads=0", 2, "--threads: 0 is not in 1"),
    ("optimize MODEL -o out.onnx --memory-limit=10XB --objective=memory", 2,
     "'10XB' is not a size such as 500000, 64K, 500M or 2GB"),
    ("costs verify", 2, "exported, imported, measured or checked, not 'verify'; see lemma costs --help"),
    # Files.
    ("optimize missing.onnx -o out.onnx", 2, "missing.onnx: cannot open (No such file or directory)"),
    ("optimize MODEL -o nowhere/out.onnx", 2, "cannot be written: there is no folder nowhere"),
    ("optimize MODEL -o out.tflite", 2, "what format? a name ends in .onnx, .lemma or .txt"),
    ("optimize graph.txt -o graph.txt", 2, "would overwrite the input; give another name"),
    ("optimize empty.onnx -o out.onnx", 2, "empty.onnx: the file is empty"),
    ("optimize cut.onnx -o out.onnx", 2, "cut.onnx: the ONNX model is truncated or damaged"),
    ("optimize . -o out.onnx", 2, "is a folder, not a model"),
    ("quantize graph.txt -o out.onnx", 2, "not an ONNX model, and only these can be quantized"),
    # Graphs.
    ("show typo.txt", 2, "typo.txt:2:7: there is no operator rellu; did you mean relu?"),
    ("show undefined.txt", 2, "undefined.txt:2:12: no value z above; there is x"),
    ("show types.txt", 2, "types.txt:1:12: expected an element type (f32, … found 'float32'"),
    ("show sizes.txt", 2, "sizes.txt:2:7: matmul … : the inner sizes 3 and 4 must be equal"),
    ("optimize MODEL -o out.onnx --dim=batch=4", 2, "no dimension is called batch; every dimension has a size"),
    ("optimize MODEL -o out.onnx --dim=batch", 2, "'batch' is not NAME=N with a size N >= 0"),
    # Inputs.
    ("run graph.txt --inputs=wide.npy", 2, "input x is f32[2,3], got f32[2,4]"),
    ("run graph.txt --inputs=double.npy", 2, "input x is f32[2,3], got f64[2,3]"),
    ("run graph.txt --inputs=prose.npy", 2, "prose.npy: not a .npy file"),
    ("run graph.txt --inputs=right.npy,right.npy", 2, "takes 1 inputs, got 2"),
    ("run graph.txt --expect=wide.npy", 2, "--expect: output y is f32[2,3], the tensor given is f32[2,4]"),
    ("show graph.txt --dim=n=3", 2, "--dim: graph.txt has no dimension n; only ONNX models have open sizes"),
    ("show model.pt", 2, "neither an ONNX model nor a graph of Lemma's; export PyTorch's with torch.onnx.export"),
    ("run graph.txt --runs=0", 2, "--runs: must be at least 1"),
    # Rules and proofs.
    ("verify unclosed.txt", 2, "unclosed.txt:6:11: expected … '}' … , found the end of the text"),
    ("verify contract.txt", 2, "must be bit_exact, reassociates, real_only or bounded, not exact"),
    ("verify graph.txt", 2, "graph.txt: has no rules"),
    ("verify rule.txt --only=s", 2, "no rule named s in rule.txt; did you mean r?"),
    ("optimize MODEL -o out.onnx --rules=rule.txt", 2,
     "rule r may not be used: it has no proof; lemma verify rule.txt -o rule.txt proves the rules"),
    ("generate", 2, "where to? -o RULES; or --count to enumerate only"),
    ("generate -o out.txt --max-ops=9", 2, "--max-ops: must be in 1"),
    ("prove graph.txt", 2, "two graphs, please, not 1; see lemma prove --help"),
    ("referee MODEL", 2, "two models, please: BEFORE AFTER"),
    ("referee MODEL MODEL --accept=fast", 2, "'fast' is not one of bit_exact, reassociates, real_only"),
    ("referee MODEL MODEL --range=n=9:4", 2, "'n=9:4' is not NAME=LEAST:MOST with 1 <= LEAST <= MOST"),
    ("check MODEL MODEL", 2, "which IN, OUT and CERTIFICATE? see --help"),
    ("check MODEL MODEL graph.txt", 2, "graph.txt: is no certificate"),
    # Training.
    ("train MODEL", 2, "missing -o STEP: the file to write"),
    ("train MODEL -o out.onnx --loss=l2", 2, "'l2' is not one of cross-entropy, mse, bce"),
    ("train graph.txt -o out.onnx", 2, "the loss depends on no weight that could be trained"),
    # Help where there is none.
    ("op Conv", 2, "there is no operator Conv; did you mean conv2d?"),
    ("op rellu", 2, "there is no operator rellu; did you mean relu?"),
]


def npy(code, shape):
    """A file of NumPy's with zeros."""
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    count = shape[0] * shape[1] * int(code[-1])
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(count)


class MistakesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        root = pathlib.Path(cls.folder.name)
        for name, text in FILES.items():
            (root / name).write_text(text)
        (root / "cut.onnx").write_bytes(pathlib.Path(MODEL).read_bytes()[:5000])
        (root / "model.pt").write_bytes(b"PK\x03\x04" + bytes(64))
        (root / "wide.npy").write_bytes(npy("<f4", (2, 4)))
        (root / "double.npy").write_bytes(npy("<f8", (2, 3)))
        (root / "right.npy").write_bytes(npy("<f4", (2, 3)))
        cls.files = sorted(path.name for path in root.iterdir())

        cls.done = {words: cls.run_lemma(words) for words, _, _ in MISTAKES}

    @classmethod
    def run_lemma(cls, words):
        words = [MODEL if word == "MODEL" else word for word in words.split()]
        return subprocess.run(
            [LEMMA, *words], cwd=cls.folder.name, capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL,
        )

    def test_each_message_says_what_to_do(self):
        self.assertGreaterEqual(len(MISTAKES), 30)
        for words, status, message in MISTAKES:
            done = self.done[words]
            with self.subTest(words):
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertRegex(done.stderr, ".*".join(map(re.escape, message.split(" … "))))

    def test_a_message_is_one_short_line_and_no_file_is_written(self):
        for words, done in self.done.items():
            with self.subTest(words):
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, r"^lemma: [^\n]+\n$")
                self.assertLess(len(done.stderr.replace(MODEL, "MODEL")), 250)
        left = sorted(path.name for path in pathlib.Path(self.folder.name).iterdir())
        self.assertEqual(left, self.files)

    def test_what_is_right_has_no_message(self):
        for words in ("show graph.txt", "verify rule.txt", "run graph.txt --inputs=right.npy --runs=1"):
            done = self.run_lemma(words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)

    def test_a_false_rule_is_refuted_with_an_example(self):
        done = self.run_lemma("verify false.txt")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"r: refuted at n = 1: output 0\[0\] is \S+ and \S+")

    def test_the_commands_that_messages_name_exist(self):
        for done in self.done.values():
            for name in re.findall(r"see lemma ([\w-]+) --help", done.stderr):
                self.assertEqual(self.run_lemma(name + " --help").returncode, 0, name)


if __name__ == "__main__":
    LEMMA, MODEL = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
