#!/usr/bin/env python3
"""Writes a folder with the command lemma and all that it needs on another machine.

Usage: tools/lib/package/tree.py LEMMA FOLDER

LEMMA is the program that Bazel built. FOLDER gets

  bin/lemma              starts the program
  lib/lemma/             the program and its libraries; glibc/ has the C library, graphviz/ its parts
  share/doc/lemma/       the licenses of Lemma and of every library above
  share/lemma/rules/     the files of rules
  share/                 man pages, and completion for bash, zsh and fish

Needs Debian: the package of a library has its license.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
import help_pages

SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
# Of Graphviz's parts, what draws a graph as SVG. The others need a desktop's libraries.
GRAPHVIZ_PARTS = ["libgvplugin_core.so.6", "libgvplugin_dot_layout.so.6"]
# Any library may serve as BLAS. These two need no others, and are the same on every machine.
PLAIN_BLAS = [str(SYSTEM / "blas"), str(SYSTEM / "lapack")]


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def libraries_of(files):
    """Name -> path of the shared libraries that the files load at their start."""
    found = {}
    environment = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": ":".join(PLAIN_BLAS)}
    for file in files:
        for line in run("ldd", file, env=environment).splitlines():
            name, arrow, path = line.strip().partition(" => ")
            if arrow and path.startswith("not found"):
                sys.exit(f"tree: {file} needs {name}, which is missing")
            if arrow and path.startswith("/"):
                found[name] = pathlib.Path(path.split(" (")[0])
    return found


def packages_of(paths):
    """Path -> the Debian package that brings it."""
    # A folder that moved below /usr has either name in dpkg's list.
    names = {path: {str(path.resolve()), str(path.resolve()).removeprefix("/usr")} for path in paths}
    done = subprocess.run(["dpkg-query", "-S", *set().union(*names.values())], capture_output=True, text=True)
    owners = {}
    for line in done.stdout.splitlines():
        owner, _, file = line.partition(": ")
        owners[file] = owner.split(",")[0]
    result = {}
    for path in paths:
        result[path] = next((owners[name] for name in names[path] if name in owners), None)
        if result[path] is None:
            sys.exit(f"tree: no Debian package brings {path}, so its license is unknown")
    return result


def c_library(package):
    """Name -> path of the libraries of the C library: what the system loads must find all of them."""
    files = map(pathlib.Path, run("dpkg-query", "-L", package).splitlines())
    return {f.name: f for f in files
            if re.fullmatch(r"(/usr)?/lib/x86_64-linux-gnu/(lib\w+|ld-linux-x86-64)\.so\.\d+", str(f))}


def needed_minor(files):
    """The N of the newest version 2.N of the C library that the files need."""
    versions = re.findall(r"Name: GLIBC_2\.(\d+)", run("readelf", "-V", *files))
    return max(map(int, versions))


def copy(source, target, mode=0o644):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def graphviz_config():
    """The lines of Graphviz's list of parts that are about ours."""
    text = (SYSTEM / "graphviz/config6a").read_text()
    blocks = re.findall(r"(?ms)^\S+ \w+ \{$.*?^\}\n", text)
    kept = [block for block in blocks if block.split(" ")[0] in GRAPHVIZ_PARTS]
    if len(kept) != len(GRAPHVIZ_PARTS):
        sys.exit("tree: Graphviz's config6a does not list all of: " + ", ".join(GRAPHVIZ_PARTS))
    return "".join(kept)


def write_notices(folder, packages):
    """Writes the licenses of Lemma and of the packages whose libraries are in the folder."""
    common, table = set(), ""
    for package in sorted(packages):
        name = package.split(":")[0]
        source = pathlib.Path("/usr/share/doc") / name / "copyright"
        copy(source, folder / "copyright" / name)
        common |= set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", source.read_text(errors="replace")))
        version = run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package)
        files = textwrap.fill(", ".join(sorted(packages[package])), 98, initial_indent="  ", subsequent_indent="  ")
        table += f"{name}\n  from Debian's source package {version}\n{files}\n  copyright/{name}\n\n"
    for name in common:
        copy(pathlib.Path("/usr/share/common-licenses") / name, folder / "common-licenses" / name)
    copy(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "NOTICES").write_text(
        "Lemma has the license in the file LICENSE. The libraries that are distributed with it have\n"
        "licenses of their own, in the folder copyright. What these call /usr/share/common-licenses is\n"
        "the folder common-licenses. Parts of the libraries' headers are compiled into the program.\n"
        "The libraries are those of Debian, unchanged, and their sources are Debian's:\n\n" + table)


def write(lemma, folder):
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"tree: {folder} is not empty")
    target = folder / "lib/lemma"
    target.mkdir(parents=True)
    run("strip", "-o", str(target / "lemma"), lemma)
    (target / "lemma").chmod(0o755)
    parts = {name: SYSTEM / "graphviz" / name for name in GRAPHVIZ_PARTS}
    found = libraries_of([lemma, *parts.values()])
    owners = packages_of([*found.values(), *parts.values()])
    c_package = owners[found["libc.so.6"]]
    glibc = c_library(c_package)
    owners.update(dict.fromkeys(glibc.values(), c_package))
    others = {name: path for name, path in found.items() if owners[path] != c_package}
    packages = {}
    for place, libraries in (("glibc", glibc), ("graphviz", parts), ("", others)):
        for name, path in libraries.items():
            packages.setdefault(owners[path], []).append(name)
            copy(path, target / place / name, 0o755 if name.startswith("ld-") else 0o644)
    (target / "graphviz/config6a").write_text(graphviz_config())
    minor = needed_minor([target / "lemma", *parts.values(), *others.values()])
    launcher = (HERE / "launcher.sh").read_text().replace("NEEDED", str(minor))
    (folder / "bin").mkdir()
    (folder / "bin/lemma").write_text(launcher)
    (folder / "bin/lemma").chmod(0o755)
    write_notices(folder / "share/doc/lemma", packages)
    for rules in sorted((ROOT / "data/rules").glob("*.txt")):
        copy(rules, folder / "share/lemma/rules" / rules.name)
    help_pages.write(lemma, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
