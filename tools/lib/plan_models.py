"""Prints a table of the plans that a back end makes of models; see tools/check_models --plan."""

import json
import pathlib
import tempfile


def row(call, lemma, backend, name, path):
    """One line of the table; Failure where there is no plan."""
    operators = json.loads(call([lemma, "show", path, "--json"]))["operators"]
    plan = json.loads(call([lemma, "show", path, f"--plan={backend}", "--json"]))
    products = call([lemma, "show", path, f"--plan={backend}"]).count(", a product of ")
    megabytes = [f"{plan[key] / 1e6:.2f}" for key in ("peak_bytes", "live_bytes", "weight_bytes")]
    cells = [name, operators, plan["kernels"], products, *megabytes]
    return f"| {' | '.join(map(str, cells))} |"


def step_of(call, lemma, name, folder):
    """Exports a model that tools/bench training times, and makes it a step of training."""
    from bench import training as bench_training
    import check_training

    module, batch, labels = bench_training.CASES[name]()
    check_training.without_dropout(module)
    check_training.export(module, batch, folder / "model.onnx")
    loss = "mse" if labels.is_floating_point() else "cross-entropy"
    call([lemma, "train", folder / "model.onnx", f"--loss={loss}", "--momentum=0.9", "-o",
          folder / "step.pb"])
    return folder / "step.pb"


def plan_all(call, lemma, backend, models, light, failure, with_steps):
    """Prints the table of `models` (name and path), of a step of training of each that is in
    `light`, and of the steps that tools/bench training times. Returns how many failed."""
    print("| model | operators | kernels | products | peak MB | at least MB | weights MB |")
    print("|---|---|---|---|---|---|---|")
    failed = 0

    def show(name, make_path):
        nonlocal failed
        try:
            print(row(call, lemma, backend, name, make_path()), flush=True)
        except failure as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def step(path):
            call([lemma, "train", path, "-o", folder / "step.pb"])
            return folder / "step.pb"

        for name, path in models:
            show(name, lambda: path)
            if name in light:
                show(f"{name}, step of training", lambda: step(path))
        if with_steps:
            from bench import training as bench_training
            for name in bench_training.CASES:
                show(f"{name}, step of training",
                     lambda: step_of(call, lemma, name, folder))
    return failed
