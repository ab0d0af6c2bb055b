"""Times models in ONNX Runtime and in Lemma, in alternation; see tools/bench --help."""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODELS = pathlib.Path.home() / ".cache/lemma/models"
ROUND_MS = 50


class Server:
    """A process that holds a model and runs it on demand."""

    def __init__(self, command):
        self.command = command
        # In a process group of its own, so that a signal reaches what a script starts too.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=os.setpgrp
        )
        self.reply("ready")

    def stop(self):
        """Stops all threads until resume: idle threads of some engines wait by spinning."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def reply(self, key):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.command)}: ended with {self.process.wait()}")
        answer = json.loads(line)
        if key not in answer:
            raise RuntimeError(f"{' '.join(self.command)}: {line.strip()}")
        return answer[key]

    def ask(self, line, key):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.reply(key)

    def run(self, count):
        return self.ask(f"run {count}", "ms")

    def close(self):
        if self.process.poll() is None:
            self.resume()
        self.process.stdin.close()
        self.process.wait(timeout=60)


def check(command, accepted=(0,)):
    """Runs a command; returns its standard output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in accepted:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def alternate(servers, rounds):
    """Returns name -> medians of each round, in turn there and back: what runs before counts.

    The others stand still while one runs.
    """
    counts = {}
    for server in servers.values():
        server.stop()
    for name, server in servers.items():
        server.resume()
        server.run(2)
        counts[name] = max(1, math.ceil(ROUND_MS / statistics.median(server.run(3))))
        server.stop()
    medians = {name: [] for name in servers}
    order = list(servers.items())
    for _ in range(rounds):
        for name, server in order:
            server.resume()
            medians[name].append(statistics.median(server.run(counts[name])))
            server.stop()
        order.reverse()
    for server in servers.values():
        server.resume()
    return medians


def ratio(medians, name, base):
    """Returns how many times as long `name` takes as `base`: the median over rounds."""
    return statistics.median(a / b for a, b in zip(medians[name], medians[base]))


def library_share(flags, model, io, work):
    """Times in a run: of convolutions and products, also when measured alone, and of the rest.

    They are what oneDNN's kernels take, with what is fused into them.
    """
    command = [flags.lemma, "costs", "check", str(model), "--inputs", str(io), "--json"]
    report = json.loads(check([*command, "--cost-db", str(work / f"{model.stem}.sqlite")]))
    share = {"library_ms": 0, "library_alone_ms": 0, "other_ms": 0}
    for kernel in report["kernels"]:
        if kernel["signature"].startswith(("conv(", "matmul(", "transposed conv(")):
            share["library_ms"] += kernel["ms"]
            share["library_alone_ms"] += kernel["predicted_ms"]
        else:
            share["other_ms"] += kernel["ms"]
    return share


def measure(flags, name, threads, work):
    model, io = MODELS / f"{name}.onnx", MODELS / f"{name}.io"
    optimized = work / f"{name}.{threads}.onnx"
    common = ["--inputs", str(io), "--threads", str(threads)]
    report = json.loads(
        check([flags.lemma, "optimize", str(model), "-o", str(optimized), "--json"] + common)
    )
    verdict = json.loads(
        check([flags.lemma, "run", str(optimized), "--expect", str(io), "--json", "--runs", "1"]
              + common, accepted=(0, 1))
    )
    inputs = [str(path) for path in sorted(io.glob("input_*.pb"))]
    servers = {}
    try:
        servers["onnxruntime"] = Server(
            [str(ROOT / "tools/ort_run"), "serve", str(model), *inputs, "--threads", str(threads)]
        )
        servers["lemma"] = Server([flags.lemma, "run", str(model), "--serve"] + common)
        servers["optimized"] = Server([flags.lemma, "run", str(optimized), "--serve"] + common)
        medians = alternate(servers, flags.rounds)
    finally:
        for server in servers.values():
            server.close()
    return {
        "model": name,
        "threads": threads,
        "ms": {key: statistics.median(values) for key, values in medians.items()},
        "lemma_to_onnxruntime": ratio(medians, "lemma", "onnxruntime"),
        "optimized_to_onnxruntime": ratio(medians, "optimized", "onnxruntime"),
        "optimized_to_lemma": ratio(medians, "optimized", "lemma"),
        "operators": [report["operators_before"], report["operators_after"]],
        "rules": report["rules"],
        "search_seconds": report["search_seconds"],
        "outputs_as_expected": verdict["equal"],
        **({"kernels": library_share(flags, optimized, io, work)} if threads == 1 else {}),
    }


HEADER = (
    f"{'model':<18}{'threads':>8}{'ort ms':>10}{'lemma ms':>10}{'opt. ms':>10}"
    f"{'lemma/ort':>11}{'opt./ort':>10}{'opt./lemma':>12}  outputs"
)


def show(row):
    ms = row["ms"]
    print(
        f"{row['model']:<18}{row['threads']:>8}{ms['onnxruntime']:>10.2f}{ms['lemma']:>10.2f}"
        f"{ms['optimized']:>10.2f}{row['lemma_to_onnxruntime']:>11.3f}"
        f"{row['optimized_to_onnxruntime']:>10.3f}{row['optimized_to_lemma']:>12.3f}"
        f"  {'equal' if row['outputs_as_expected'] else 'DIFFER'}",
        flush=True,
    )


def machine(lemma):
    names = [
        line.split(":", 1)[1].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": len(names),
        "lemma": check([lemma, "--version"]).splitlines(),
        "onnxruntime": sorted(
            path.name for path in (pathlib.Path.home() / ".cache/lemma/ort").glob("[0-9]*")
        ),
        "date": datetime.date.today().isoformat(),
    }


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench inference")
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--models", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--out", type=pathlib.Path, default=ROOT / "data/measurements/inference.json"
    )
    return parser.parse_args(arguments)


def main(arguments):
    flags = parse(arguments)
    flags.lemma = str(pathlib.Path(flags.lemma).resolve())
    export = str(ROOT / "tools/export_models")
    names = [n for n in flags.models.split(",") if n] or check([export, "--list"]).split()
    check([export, *names])
    rows, failed = [], []
    flags.out.parent.mkdir(parents=True, exist_ok=True)
    about = machine(flags.lemma)
    print(HEADER)
    with tempfile.TemporaryDirectory(prefix="lemma_bench_") as work:
        for threads in (int(n) for n in flags.threads.split(",")):
            for name in names:
                try:
                    rows.append(measure(flags, name, threads, pathlib.Path(work)))
                    show(rows[-1])
                except RuntimeError as error:
                    failed.append(f"{name}, {threads} threads: {error}")
                    print(f"bench: {failed[-1]}", file=sys.stderr)
                result = {"machine": about, "rows": rows, "failed": failed}
                flags.out.write_text(json.dumps(result, indent=1) + "\n")
    for threads in sorted({row["threads"] for row in rows}):
        for key in ("optimized_to_onnxruntime", "optimized_to_lemma"):
            ratios = [row[key] for row in rows if row["threads"] == threads]
            mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
            print(f"{threads} threads, {key}: geometric mean {mean:.3f}, worst {max(ratios):.3f}")
    print(f"written to {flags.out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
