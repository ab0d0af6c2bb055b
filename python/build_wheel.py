#!/usr/bin/env python3
"""Writes the wheel of the Python package.

Usage: python/build_wheel.py (--binary LEMMA | --tree FOLDER) --output FOLDER

The wheel holds the package `lemma` beside this script, and the command: LEMMA alone, which uses the
system's libraries, or with the libraries and licenses in the folder that tools/lib/package/tree.py
wrote. Prints the wheel's path.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
DATE = (1980, 1, 1, 0, 0, 0)  # the same files give the same wheel


def version_of(binary):
    text = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout
    return re.match(r"lemma (\S+)", text)[1]


def command_files(binary, tree):
    """Yields (name in the package, path) for the command and what it needs."""
    if tree is None:
        yield "bin/lemma", binary
        return
    for folder in ("bin", "lib/lemma", "share/doc"):
        for path in sorted((tree / folder).rglob("*")):
            if path.is_file():
                yield str(path.relative_to(tree)), path


def contents(binary, tree, version, tag):
    """Yields (name in the wheel, bytes, is a program)."""
    for path in sorted((HERE / "lemma").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"lemma/{path.name}", path.read_bytes(), False
    yield "lemma/_version.py", f'"""The version of Lemma."""\n\nversion = "{version}"\n'.encode(), False
    for name, path in command_files(binary, tree):
        yield f"lemma/{name}", path.read_bytes(), os.access(path, os.X_OK)
    info = f"lemma-{version}.dist-info"
    yield f"{info}/METADATA", (
        "Metadata-Version: 2.1\n"
        "Name: lemma\n"
        f"Version: {version}\n"
        "Summary: Rewrites tensor programs by proved rules, so that they run faster\n"
        "License: Apache-2.0\n"
        "Requires-Python: >=3.8\n"
        "Requires-Dist: numpy\n"
        "Provides-Extra: onnx\n"
        'Requires-Dist: onnx; extra == "onnx"\n'
        "Provides-Extra: progress\n"
        'Requires-Dist: tqdm; extra == "progress"\n'
    ).encode(), False
    yield f"{info}/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: lemma\nRoot-Is-Purelib: false\n" f"Tag: {tag}\n"
    ).encode(), False
    # torch.compile of PyTorch 2 finds the back end by its name.
    yield f"{info}/entry_points.txt", b"[torch_dynamo_backends]\nlemma = lemma:torch_backend\n", False
    yield f"{info}/LICENSE", (HERE.parent / "LICENSE").read_bytes(), False


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel, name, data, is_program):
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if is_program else 0o100644) << 16
    wheel.writestr(entry, data)


def build(binary, tree, output):
    version = version_of(binary)
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"lemma-{version}-{tag}.whl"
    record = ""
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data, is_program in contents(binary, tree, version, tag):
            add(wheel, name, data, is_program)
            record += record_line(name, data)
        name = f"lemma-{version}.dist-info/RECORD"
        add(wheel, name, (record + f"{name},,\n").encode(), False)
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command = parser.add_mutually_exclusive_group(required=True)
    command.add_argument("--binary", type=pathlib.Path, help="the command lemma")
    command.add_argument("--tree", type=pathlib.Path, help="the command with its libraries")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="where the wheel goes")
    arguments = parser.parse_args()
    binary = arguments.binary or arguments.tree / "bin/lemma"
    print(build(binary, arguments.tree, arguments.output))


if __name__ == "__main__":
    main()
