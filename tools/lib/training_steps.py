"""Writes the steps of tools/bench training, and one more, to FOLDER/NAME.step.pb, without state.

Usage: training_steps.py LEMMA FOLDER [NAME...]
"""

import pathlib
import re
import sys
import tempfile
import warnings

import torch

from bench import training as bench_training
import check_training

# Rounding changes little of what this one computes, so the comparison is strict.
CASES = {
    **bench_training.CASES,
    "resnet18 without kinks, batch 4":
        check_training.without_kinks(bench_training.CASES["resnet18, batch 4"]),
}


def file_name(case):
    """"resnet50, batch 2" -> "resnet50_batch_2"."""
    return re.sub(r"\W+", "_", case)


def write(lemma, case, folder):
    torch.manual_seed(1)
    module, batch, labels = CASES[case]()
    check_training.without_dropout(module)
    loss = "mse" if labels.is_floating_point() else "cross-entropy"
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        check_training.export(module, batch, scratch / "model.onnx")
        bench_training.call([lemma, "train", scratch / "model.onnx", f"--loss={loss}",
                             "--update=sgd", "--momentum=0.9", "-o", scratch / "step.pb"])
        (folder / f"{file_name(case)}.step.pb").write_bytes((scratch / "step.pb").read_bytes())


def main(arguments):
    lemma, folder, *names = arguments
    warnings.filterwarnings("ignore")
    for case in CASES:
        if not names or file_name(case) in names:
            write(lemma, case, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
