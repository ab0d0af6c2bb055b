"""Times PyTorch on the small graphs of gpu_precision_main (tools/gpu/product_cases.h) in f16.

Usage: gpu_shape_peers.py [REPORT.json]

Prints one JSON object per line and adds them to the report. eager_ms: between CUDA events, with the
host's launches. graph_ms: the same calls as one CUDA graph, as Lemma runs. compile_ms: torch.compile
(reduce-overhead). library_ms: attention by scaled_dot_product_attention, as one CUDA graph. Medians.
"""

import json
import pathlib
import sys

import gpu_peers
import torch
import torch.nn.functional as F


def tensors(*shapes):
    return [torch.rand(shape, device="cuda").mul(2).sub(1).half() for shape in shapes]


def norm(x, dim):
    x = x.float()
    return (x / torch.sqrt((x * x).mean(dim, keepdim=True) + 1e-6)).half()


def grouped(q, k, v):
    return torch.softmax(q @ k, 2) @ v


def fused(q, k, v, mask=None):
    """The library's kernels take four dimensions."""
    k = k.transpose(1, 2)
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, scale=1.0)[0]


def heads(q, k, v):
    return grouped(q, k.transpose(1, 2), v)


GROUPED = ((2, 256, 64), (2, 64, 4096), (2, 4096, 64))
# The function, shapes, and a library's function.
CASES = {
    "RMSNorm and product 2x4096x6144":
        (lambda x, w: norm(x, 1) @ w, ((2, 4096), (4096, 6144)), None),
    "gated MLP 8x4096x4096":
        (lambda x, v, w: F.silu(x @ v) * (x @ w), ((8, 4096), (4096, 4096), (4096, 4096)), None),
    "LoRA 16x256x4096, rank 16":
        (lambda x, w, a, b: x @ w + (x @ a) @ b, ((16, 256), (256, 4096), (256, 16), (16, 4096)),
         None),
    "grouped attention 2x256x4096, width 64": (grouped, GROUPED, fused),
    "QK-norm attention 2x256x4096, width 64":
        (lambda q, k, v: grouped(norm(q, 2), norm(k, 1), v), GROUPED,
         lambda q, k, v: fused(norm(q, 2), norm(k, 1), v)),
}
for length, width in ((128, 64), (512, 64), (2048, 64), (8192, 64), (16384, 64), (2048, 128),
                      (8192, 128)):
    CASES[f"attention 12x{length}x{length}, width {width}"] = (
        heads, ((12, length, width),) * 3,
        lambda q, k, v: fused(q, k.transpose(1, 2), v))
CASES["masked attention 12x2048x2048, width 64"] = (
    lambda q, k, v, m: torch.softmax(q @ k.transpose(1, 2) + m, 2) @ v,
    ((12, 2048, 64),) * 3 + ((2048, 2048),),
    lambda q, k, v, m: fused(q, k.transpose(1, 2), v, m))


def replayed(run):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return gpu_peers.median_ms(graph.replay, seconds=0.5, most=100)


def main(arguments):
    gpu_peers.torch = torch  # which it imports only as a program
    rows = []
    with torch.inference_mode():
        for case, (function, shapes, library) in CASES.items():
            values = tensors(*shapes)
            compiled = torch.compile(function, mode="reduce-overhead")
            row = {
                "case": case,
                "eager_ms": gpu_peers.median_ms(lambda: function(*values), 0.5, 100),
                "graph_ms": replayed(lambda: function(*values)),
                "compile_ms": gpu_peers.median_ms(lambda: compiled(*values), 0.5, 100),
            }
            if library:
                row["library_ms"] = replayed(lambda: library(*values))
            rows.append(row)
            print(json.dumps(row), flush=True)
    for path in map(pathlib.Path, arguments):
        report = json.loads(path.read_text())
        report["shape_peers"] = rows
        path.write_text(json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
