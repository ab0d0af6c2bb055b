"""Times PyTorch on the first GPU: models, and steps of training, eager and compiled.

Prints one JSON object per line: {"model", "mode", "precision", "ms"}, where ms is the median of back-to-back
runs between CUDA events, or {"model", "mode", "error"}. Modes are "eager" and "compiled" (torch.compile,
reduce-overhead: replayed CUDA graphs). In f32 without TF32, unless --precision says otherwise:
tf32 allows TF32 in products; f16 and bf16 hold a model's weights and values in that type, and run a
training step under autocast. A step has its file's name, X.step.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

COMPILED = ("resnet50,bert_base,squeezenet1_1,mobilenet_v2,inception_v3,vgg19,resnet50_batch_2,"
            "encoder_batch_8_x_128")


DTYPES = {"f32": None, "tf32": None, "f16": "float16", "bf16": "bfloat16"}


def median_ms(run, seconds=1.0, most=60):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(most + 1)]
    marks[0].record()
    count, start = 0, time.monotonic()
    while count < most and (count < 5 or time.monotonic() - start < seconds):
        run()
        count += 1
        marks[count].record()
    torch.cuda.synchronize()
    return statistics.median(marks[i].elapsed_time(marks[i + 1]) for i in range(count))


def lowered(tensor, dtype):
    return tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor


def inference(name, compiled, dtype):
    """Seeded as exported, without calibration, which changes no time."""
    make, sample = export_models.MODELS[name]
    torch.manual_seed(1)
    inputs = sample(1)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    module, inputs = make().eval().cuda(), tuple(lowered(x.cuda(), dtype) for x in inputs)
    if dtype:
        module = module.to(dtype)
    if compiled:
        module = torch.compile(module, mode="reduce-overhead")

    def run():
        with torch.inference_mode():
            module(*inputs)

    return run


def training(case, compiled, dtype):
    torch.manual_seed(1)
    module, batch, labels = bench_training.CASES[case]()
    check_training.without_dropout(module)
    module, batch, labels = module.train().cuda(), batch.cuda(), labels.cuda()
    optimizer = torch.optim.SGD(module.parameters(), lr=bench_training.RATE, momentum=0.9)

    def loss_of(x):
        with torch.autocast("cuda", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            output = module(x)
        if labels.is_floating_point():
            return F.mse_loss(output.float(), labels)
        return F.cross_entropy(output.float(), labels)

    if compiled:
        loss_of = torch.compile(loss_of, mode="reduce-overhead")

    def run():
        loss = loss_of(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run


def known(dtype):
    """What can be timed: name -> makes what runs it once, compiled or not."""
    makers = {name: (lambda compiled, name=name: inference(name, compiled, dtype))
              for name in export_models.MODELS}
    for case in bench_training.CASES:
        makers[training_steps.file_name(case)] = (
            lambda compiled, case=case: training(case, compiled, dtype))
    return makers


def row_of(name, mode, make):
    row = {"model": name, "mode": mode}
    start = time.monotonic()
    try:
        row["ms"] = median_ms(make(mode == "compiled"))
    except Exception as error:  # noqa: BLE001: whatever a compiler ends with is a row
        row["error"] = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
    row["seconds"] = round(time.monotonic() - start, 1)
    return row


def add_to(path, versions, rows):
    """Adds the rows to what gpu_check has written."""
    report = json.loads(path.read_text())
    report["peers"] = {**versions, "rows": report.get("peers", {}).get("rows", []) + rows}
    path.write_text(json.dumps(report) + "\n")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gpu_peers")
    parser.add_argument("--models", default="", metavar="X,...", help="default: all")
    parser.add_argument("--compiled", default=COMPILED, metavar="X,...", help="or none")
    parser.add_argument("--seconds", type=float, default=240, help="starts nothing later")
    parser.add_argument("--precision", default="f32", metavar="X,...", help=", ".join(DTYPES))
    parser.add_argument("--add-to", type=pathlib.Path, metavar="GPU.json")
    flags = parser.parse_args(arguments)
    flags.models = [name for name in flags.models.split(",") if name]
    flags.precision = flags.precision.split(",")
    if unknown := set(flags.precision) - set(DTYPES):
        parser.error(f"--precision: {', '.join(unknown)}; there are {', '.join(DTYPES)}")
    flags.compiled = [] if flags.compiled == "none" else flags.compiled.split(",")
    return flags


def plan(flags, names):
    """What is timed in which mode, all eager first."""
    wanted = [name for name in names if not flags.models or name in flags.models]
    return ([(name, "eager") for name in wanted] +
            [(name, "compiled") for name in wanted if name in flags.compiled])


def main(arguments):
    flags = parse(arguments)
    end = time.monotonic() + flags.seconds
    makers = {precision: known(getattr(torch, dtype) if dtype else None)
              for precision, dtype in DTYPES.items()}
    versions = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                "device": torch.cuda.get_device_name()}
    print(json.dumps(versions), flush=True)
    rows = []
    wanted = [(precision, *row) for precision in flags.precision
              for row in plan(flags, makers[precision])]
    for precision, name, mode in sorted(wanted, key=lambda row: row[2] == "compiled"):
        tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        late = time.monotonic() >= end
        rows.append({"model": name, "mode": mode, "error": "no time left"} if late
                    else row_of(name, mode, makers[precision][name]))
        rows[-1]["precision"] = precision
        print(json.dumps(rows[-1]), flush=True)
        torch.cuda.empty_cache()
    if flags.add_to:
        add_to(flags.add_to, versions, rows)
    return 0


if __name__ == "__main__":
    try:
        import torch
        import torch.nn.functional as F

        from bench import training as bench_training
        import check_training
        import export_models
        import training_steps
    except ImportError as why:
        print(f"gpu_peers: PyTorch is not timed: {why}")
        sys.exit(0)
    if not torch.cuda.is_available():
        print("gpu_peers: PyTorch is not timed: it finds no CUDA device")
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
