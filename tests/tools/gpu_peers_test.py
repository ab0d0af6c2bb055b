"""tools/gpu/gpu_peers.py: what is timed, and where it is written; not the timing, which needs a GPU."""

import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, "tools/gpu")
import gpu_peers

NAMES = ["resnet18", "resnet50", "resnet50_batch_2"]


class PeersTest(unittest.TestCase):
    def plan(self, *arguments):
        return gpu_peers.plan(gpu_peers.parse(arguments), NAMES)

    def test_all_eager_then_those_compiled(self):
        self.assertEqual(self.plan(), [
            ("resnet18", "eager"), ("resnet50", "eager"), ("resnet50_batch_2", "eager"),
            ("resnet50", "compiled"), ("resnet50_batch_2", "compiled")])

    def test_models_and_compiled_are_chosen(self):
        self.assertEqual(self.plan("--models=resnet18,resnet50", "--compiled=resnet18"), [
            ("resnet18", "eager"), ("resnet50", "eager"), ("resnet18", "compiled")])
        self.assertEqual(self.plan("--models=resnet50", "--compiled=none"), [("resnet50", "eager")])
        # A model packaged under another name has no peer.
        self.assertEqual(self.plan("--models=light_vgg19"), [])

    def test_precisions_are_known(self):
        self.assertEqual(gpu_peers.parse(["--precision=tf32,bf16"]).precision, ["tf32", "bf16"])
        with self.assertRaises(SystemExit):
            gpu_peers.parse(["--precision=f8"])

    def test_what_fails_is_a_row(self):
        def make(compiled):
            raise ValueError(f"compiled: {compiled}\nmore")

        row = gpu_peers.row_of("resnet18", "compiled", make)
        self.assertEqual((row["model"], row["mode"], row["error"]),
                         ("resnet18", "compiled", "compiled: True"))
        self.assertNotIn("ms", row)

    def test_rows_are_added(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "gpu.json"
            path.write_text('{"device": "d", "models": []}')
            gpu_peers.add_to(path, {"torch": "2"}, [{"model": "resnet18", "ms": 1.5}])
            self.assertEqual(json.loads(path.read_text()), {
                "device": "d", "models": [],
                "peers": {"torch": "2", "rows": [{"model": "resnet18", "ms": 1.5}]}})
            gpu_peers.add_to(path, {"torch": "2"}, [{"model": "vgg16", "ms": 2.5}])
            self.assertEqual(len(json.loads(path.read_text())["peers"]["rows"]), 2)

    def test_what_the_packaged_modules_import_is_packaged(self):
        script = pathlib.Path("tools/package_gpu").read_text()
        packed = {path.split("/")[-1]: pathlib.Path(f"tools/{path}.py")
                  for path in re.findall(r"\b(?:gpu|lib)/[a-z_]+\b(?=[ ;])", script)}
        self.assertIn("gpu_peers", packed)
        packed["bench"] = pathlib.Path("tools/lib/bench/training.py")
        ours = {path.stem for path in pathlib.Path("tools/lib").glob("*.py")}
        for path in packed.values():
            imported = re.findall(r"^ *(?:import|from) ([a-z_]+)", path.read_text(), re.MULTILINE)
            self.assertEqual([name for name in imported if name in ours and name not in packed], [],
                             path)


if __name__ == "__main__":
    unittest.main()
