"""Times PyTorch's products on the first GPU at equal precision: those of gpu_precision_main.

Usage: gpu_product_peers.py [REPORT.json]

Prints one JSON object per line: {"case", "precision", "ms"}, the median of runs between CUDA events;
also adds them to the report of gpu_precision_main. f32: without TF32. tf32: f32 tensors, TF32
allowed. f16, bf16: tensors of that type.
"""

import json
import pathlib
import sys

import gpu_peers
import torch
import torch.nn.functional as F

CASES = {
    "matmul 1024^3": ("matmul", (1024, 1024), (1024, 1024)),
    "matmul 4096^3": ("matmul", (4096, 4096), (4096, 4096)),
    "matmul 4096^3, second factor transposed": ("transposed", (4096, 4096), (4096, 4096)),
    "matmul 512x768x3072": ("matmul", (512, 768), (768, 3072)),
    "matmul 128x3072x768": ("matmul", (128, 3072), (3072, 768)),
    "matmul 4096x768x3072": ("matmul", (4096, 768), (768, 3072)),
    "scores 96 x 512x64x512": ("matmul", (96, 512, 64), (96, 64, 512)),
    "conv 3x3 32x256x14x14": ("conv", (32, 256, 14, 14), (256, 256, 3, 3)),
    "conv 3x3 32x64x56x56": ("conv", (32, 64, 56, 56), (64, 64, 3, 3)),
    "conv 1x1 32x256x56x56 to 64": ("conv", (32, 256, 56, 56), (64, 256, 1, 1)),
    "conv 3x3 1x256x14x14": ("conv", (1, 256, 14, 14), (256, 256, 3, 3)),
}
# Those that gpu_precision_main also times with factors in bf16.
STORED = ("matmul 1024^3", "matmul 4096^3", "matmul 4096^3, second factor transposed",
          "matmul 512x768x3072", "matmul 128x3072x768", "matmul 4096x768x3072",
          "scores 96 x 512x64x512", "conv 1x1 32x256x56x56 to 64")
OPERATIONS = {
    "matmul": torch.matmul,
    "transposed": lambda x, w: torch.matmul(x, w.t()),
    "conv": lambda x, w: F.conv2d(x, w, padding=w.shape[-1] // 2),
}


def main(arguments):
    gpu_peers.torch = torch  # which it imports only as a program
    torch.backends.cudnn.benchmark = True
    rows = []
    for precision, name in gpu_peers.DTYPES.items():
        dtype = getattr(torch, name or "float32")
        allowed = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = allowed
        cases = dict(CASES)
        if precision == "bf16":
            cases.update((f"{case}, stored in bf16", cases[case]) for case in STORED if case in cases)
            cases["matmul 8192^3, stored in bf16"] = ("matmul", (8192, 8192), (8192, 8192))
        for case, (operation, *shapes) in cases.items():
            x, w = (torch.rand(shape, device="cuda").mul(2).sub(1).to(dtype) for shape in shapes)
            ms = gpu_peers.median_ms(lambda: OPERATIONS[operation](x, w), seconds=0.2, most=20)
            rows.append({"case": case, "precision": precision, "ms": ms})
            print(json.dumps(rows[-1]), flush=True)
    for path in map(pathlib.Path, arguments):
        report = json.loads(path.read_text())
        report["product_peers"] = rows
        path.write_text(json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
