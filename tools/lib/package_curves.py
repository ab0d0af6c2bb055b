"""Writes the training that gpu_check runs, with PyTorch's losses, to FOLDER/NAME/ for each curve.

Usage: package_curves.py LEMMA FOLDER [NAME...]
"""

import pathlib
import sys
import warnings

import check_training

STEPS = 200


def write(lemma, name, folder):
    folder.mkdir(parents=True)
    # By estimated costs: the machine here is not the one that they are for.
    check_training.make_curve(name, lemma, STEPS, folder, "--cost", "analytic")
    (folder / "model.onnx").unlink()
    (folder / "step.optimized.pb.cert").unlink(missing_ok=True)
    optimized = folder / "step.optimized.pb"
    if optimized.read_bytes() == (folder / "step.pb").read_bytes():
        optimized.unlink()


def main(arguments):
    lemma, folder, *names = arguments
    warnings.filterwarnings("ignore")
    for name in names or check_training.CURVES:
        write(lemma, name, pathlib.Path(folder) / name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
