"""The Python package, with a given `lemma`, without installing it."""

import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def unpack(lemma, folder):
    """Writes the package to a folder. Returns the folder, which goes to Python's path."""
    wheel = subprocess.run(
        [sys.executable, ROOT / "python/build_wheel.py", "--binary", lemma, "--output", folder],
        check=True, capture_output=True, text=True,
    ).stdout.strip()
    with zipfile.ZipFile(wheel) as package:
        package.extractall(folder)
    pathlib.Path(folder, "lemma/bin/lemma").chmod(0o755)
    return pathlib.Path(folder)
