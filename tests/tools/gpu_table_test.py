"""tools/lib/gpu_table.py on a report as gpu_check writes it."""

import sys
import unittest

sys.path.insert(0, "tools/lib")
import gpu_table


def model(name, device_ms, kernels=3, **more):
    return {"model": name, "device_ms": device_ms, "kernels": kernels, "peak_bytes": 4e6,
            "mfu": 0.125, "equal": True, **more}


REPORT = {
    "device": "a device",
    "models": [
        model("net", 2.0),
        model("net, generated", 2.5),
        model("net.optimized", 1.0, kernels=2, mfu=0.25, peak_bytes=3e6),
        model("net.optimized, generated", 1.5),
        model("net_batch_2.step", 20.0, equal=False),
        model("other", 0.5),
        model("failed", 0),
    ],
    "elementwise": [{"kernel": "relu", "bytes": 3e9, "ms": 2.0, "copy_ms": 1.5}],
    "peers": {"torch": "2.0", "rows": [
        {"model": "net", "mode": "eager", "ms": 4.0},
        {"model": "net", "mode": "compiled", "ms": 0.5},
        {"model": "net_batch_2", "mode": "eager", "ms": 10.0},
        {"model": "net_batch_2", "mode": "compiled", "error": "no time left"}]},
}


class TableTest(unittest.TestCase):
    def test_a_report(self):
        self.assertEqual(gpu_table.text(REPORT), """\
a device; PyTorch 2.0.

| model | kernels | ours | optimized | PyTorch | torch.compile | by PyTorch | by torch.compile | peak MB | MFU |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| net | 3 → 2 | 2.000 | 1.000 | 4.000 | 0.500 | 4.00 | 0.50 | 4.0 → 3.0 | 25.0 % |
| net_batch_2, step of training (differs) | 3 | 20.00 |  | 10.00 |  | 0.50 |  | 4.0 | 12.5 % |
| other | 3 | 0.500 |  |  |  |  |  | 4.0 | 12.5 % |

PyTorch eager / ours: 1.41 in the geometric mean of 2, ahead in 1; torch.compile / ours: 0.50 in the geometric mean of 1, ahead in 0.

| kernel | ms | GB/s | a copy, GB/s | share |
| --- | --- | --- | --- | --- |
| relu | 2.000 | 1500 | 2000 | 75 % |""")

    def test_only_some(self):
        self.assertIn("| other |", gpu_table.text(REPORT, ["other"]))
        self.assertNotIn("| net |", gpu_table.text(REPORT, ["other"]))

    def test_without_pytorch(self):
        report = {key: value for key, value in REPORT.items() if key != "peers"}
        self.assertIn("PyTorch was not timed.", gpu_table.text(report))
        self.assertTrue(gpu_table.text(report).startswith("a device.\n"))


if __name__ == "__main__":
    unittest.main()
