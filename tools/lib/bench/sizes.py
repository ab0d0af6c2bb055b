"""Times one model of symbolic sizes beside models of each size; see tools/bench --help."""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

import torch
from onnx import numpy_helper

import sizes_zoo
from bench.inference import ROOT, Server, check, machine

SEQUENCES = [1, 16, 77, 128, 512]
DIMS = {0: "batch", 1: "seq"}


def once(command, runs):
    """The median of some runs in a fresh process."""
    server = Server(command)
    try:
        server.run(2)
        return statistics.median(server.run(runs))
    finally:
        server.close()


def interval(ratios):
    """The median of ratios, and the order statistics around it that hold it with 95 %."""
    ordered, n = sorted(ratios), len(ratios)
    outside, tail = 0, 0.5**n
    while outside + 1 < (n + 1) // 2:
        tail += math.comb(n, outside + 1) * 0.5**n
        if tail > 0.025:
            break
        outside += 1
    return ordered[outside], statistics.median(ordered), ordered[n - 1 - outside]


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench sizes")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/measurements/sizes.json")
    flags = parser.parse_args(arguments)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        folder = pathlib.Path(work)
        model, every = folder / "encoder.onnx", folder / "every.onnx"
        with torch.enable_grad():
            torch.onnx.export(
                sizes_zoo.Encoder().eval(), torch.randint(0, 5000, (1, 128)), str(model),
                opset_version=13, input_names=["ids"], output_names=["y"],
                dynamic_axes={"ids": DIMS, "y": DIMS}, training=torch.onnx.TrainingMode.EVAL)
        search = ["--json", "--seconds", str(flags.seconds)]
        hints = [f"--hint=batch=1,seq={s}" for s in SEQUENCES]
        check([flags.lemma, "optimize", str(model), "-o", str(every), *search, *hints])
        at = {s: ["--dim", "batch=1", "--dim", f"seq={s}"] for s in SEQUENCES}
        commands, ms = {}, {}
        for s in SEQUENCES:
            alone = folder / f"alone.{s}.onnx"
            check([flags.lemma, "optimize", str(model), "-o", str(alone), *search, *at[s]])
            ids = folder / f"ids.{s}.pb"
            ids.write_bytes(numpy_helper.from_array(
                torch.randint(0, 5000, (1, s)).numpy(), "ids").SerializeToString())
            values = ["--inputs", str(ids), "--serve"]
            commands[s] = {
                "every size": [flags.lemma, "run", str(every), *values],
                "this size": [flags.lemma, "run", str(alone), *values],
                "as it is": [flags.lemma, "run", str(model), *values],
                "ONNX Runtime": [str(ROOT / "tools/ort_run"), "serve", str(model), str(ids)],
            }
            ms[s] = {kind: [] for kind in commands[s]}
        for round_number in range(flags.rounds):
            for s in SEQUENCES:
                kinds = list(commands[s])
                for kind in kinds if round_number % 2 == 0 else reversed(kinds):
                    ms[s][kind].append(once(commands[s][kind], max(3, 600 // s)))
        sets = [f"--sizes=batch=1,seq={s}" for s in SEQUENCES]
        session = json.loads(check([flags.lemma, "run", str(every), "--json", *sets]))["at"]
    rows, ratios = [], [1.0] * flags.rounds
    for s, first in zip(SEQUENCES, session):
        pairs = [a / b for a, b in zip(ms[s]["every size"], ms[s]["this size"])]
        ratios = [r * p ** (1 / len(SEQUENCES)) for r, p in zip(ratios, pairs)]
        rows.append({
            "seq": s, "ms": {kind: statistics.median(v) for kind, v in ms[s].items()},
            "every_to_this": interval(pairs),
            "every_to_onnxruntime": statistics.median(
                a / b for a, b in zip(ms[s]["every size"], ms[s]["ONNX Runtime"])),
            "first_ms": first["first_ms"], "again_ms": first["again_ms"],
            "session_ms": first["median_ms"],
        })
        print(f"seq {s:>4}: " + ", ".join(f"{k} {v:.3f} ms" for k, v in rows[-1]["ms"].items()) +
              f"; ratio {rows[-1]['every_to_this'][1]:.3f}; first run {first['first_ms']:.1f} ms, "
              f"then {first['median_ms']:.3f}, after all other sizes {first['again_ms']:.3f}")
    low, middle, high = interval(ratios)
    print(f"geometric mean of five sizes, every size / this size: {middle:.3f} "
          f"(95 %: {low:.3f} to {high:.3f}, {flags.rounds} rounds of fresh processes)")
    result = {"machine": machine(flags.lemma), "rows": rows,
              "every_to_this": [low, middle, high], "rounds": flags.rounds}
    flags.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to {flags.out}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
