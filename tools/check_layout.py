#!/usr/bin/env python3
"""Checks the folder rules: allowed top-level entries, and which folder may include or link which.

Usage: tools/check_layout.py [ROOT]

Prints one line per violation as file:line: message; exit status 1 if there is one.
"""

import collections
import pathlib
import re
import subprocess
import sys

TOP_LEVEL = set(
    "BUILD.bazel WORKSPACE README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff LICENSE Dockerfile generator verifier"
    " optimizer pet runtime kernels tests data api base graph rewrite cli docs python tools"
    " third_party"
    .split()
)

# Folder -> prefixes of our paths that it may include. A folder that is missing here is free.
# An entry that ends in / is a folder; any other is a file's name less its extension, and
# likewise the target of that name.
MAY_USE = {
    "base": ["base/"],
    # kernels/evaluate computes constants while a model is read.
    "graph": ["graph/", "kernels/evaluate/", "base/"],
    "rewrite": ["rewrite/", "graph/", "kernels/evaluate/", "base/"],
    # Kernels are made from definitions, whatever the operator.
    "kernels": ["kernels/", "graph/expr/", "graph/dtype", "graph/dtypes/small_float", "base/"],
    "runtime": ["runtime/", "graph/", "kernels/", "base/"],
    "generator": ["generator/", "rewrite/", "graph/", "kernels/evaluate/", "base/"],
    "verifier": ["verifier/", "rewrite/", "graph/", "kernels/", "base/"],
    "pet": [
        "pet/",
        "verifier/prover/prover",
        "verifier/verdict",
        "rewrite/",
        "graph/",
        "kernels/evaluate/",
        "kernels/loops/cost",
        "base/",
    ],
    "optimizer": [
        "optimizer/",
        "rewrite/",
        "graph/",
        "kernels/evaluate/",
        "kernels/loops/cost",
        "runtime/measure",
        "base/",
    ],
}
ROOMS = sorted([*MAY_USE])
# The library under the command, and the programs that use it as the command does.
MAY_USE["api"] = [f"{room}/" for room in [*ROOMS, "api"]]
# The Python package runs the command.
MAY_USE["python"] = ["python/", "cli/lemma"]
MAY_USE["tools"] = [*MAY_USE["api"], "tools/", "tests/"]
OUR_FOLDERS = set(MAY_USE) | {"cli", "tests"}

# The same, for what is stricter than its folder: what the small checker shares with the prover is
# what states a claim, and nothing else.
MAY_USE_ONLY = {
    # The language of definitions.
    "graph/expr/": ["graph/expr/", "graph/dtype", "base/"],
    "verifier/checker/": [
        "verifier/checker/",
        "rewrite/rules/rule_text",
        "rewrite/rules/substitution",
        "rewrite/rules/term",
        "graph/graph",
        "base/hash",
        "graph/dtype",
        "graph/op_def",
        "graph/expr/scalar_expr",
        "graph/expr/tensor_expr",
    ],
    # What a verdict of the referee rests on shares nothing with its search. Nor does the checker of
    # its certificates.
    "verifier/referee/evidence/": [
        "verifier/referee/evidence/",
        "verifier/normal_form/",
        "verifier/prover/",
        "verifier/verdict",
        "rewrite/rules/",
        "graph/",
        "kernels/evaluate/",
        "base/",
    ],
    "verifier/referee/certificate/": [
        "verifier/referee/certificate/",
        "verifier/referee/evidence/",
        "verifier/certificate/certificate",
        "verifier/certificate/run_graphs",
        "verifier/certificate/sizes_to_try",
        "verifier/prover/prover",
        "verifier/verdict",
        "rewrite/rules/substitution",
        "graph/",
        "base/",
    ],
    # The certificate checker shares with the optimizer only the files that state a certificate.
    "verifier/certificate/": [
        "verifier/certificate/",
        "rewrite/rules/certificate",
        "rewrite/rules/coverage",
        "rewrite/rules/held_numbers",
        "rewrite/rules/proof_check",
        "rewrite/rules/statement",
        "rewrite/rules/substitution",
        "graph/graph",
        "graph/barrier",
        "graph/builder",
        "graph/rebuild",
        "graph/sizes/specialize",
        "graph/sizes/symbolic_size",
        "base/hash",
        "base/sha256",
        "base/status_macros",
        "graph/expr/field",
        "kernels/evaluate/evaluate",
    ],
}

# Name -> headers, targets, the only folders that see them. Tests of a folder are like the folder.
LIBRARIES = {
    "Z3": (r"z3(\+\+|_\w+)?\.h$", ["//third_party:z3"], ["verifier/"]),
    "oneDNN": (r"(oneapi/dnnl/)?dnnl\w*\.(h|hpp)$", ["//third_party:dnnl"], ["runtime/cpu/"]),
    "Graphviz": (r"graphviz/", ["//third_party:graphviz"], ["api/"]),
    "CBC": (r"coin/", ["//third_party:cbc"], ["optimizer/"]),
    "ONNX": (r"onnx/", ["//third_party:onnx"], ["graph/onnx/", "runtime/onnxruntime/"]),
    "libjpeg": (r"(jpeglib|jerror)\.h$", ["//third_party:jpeg"], ["graph/onnx/images/"]),
    "libpng": (r"png\.h$", ["//third_party:png"], ["graph/onnx/images/"]),
    "CUDA": (
        r"(cuda|cublas|cudnn|nvrtc|nvJitLink|nccl|cooperative_groups|mma\.h|cub/|nv/)",
        ["//third_party:cuda", "@local_cuda//"],
        ["kernels/", "runtime/cuda/"],
    ),
}

# The only places that may ask which operator a node is.
OPERATOR_NAMES_ALLOWED = re.compile(r"graph/ops/|graph/onnx/|tests/")
OPERATOR_TABLE = "graph/ops/op_table.inc"
# Where operators are registered: no other function than Make…() may name one.
REGISTERING = re.compile(r"runtime/cpu/kernels/")
REGISTRATION = re.compile(r"^[\w:<>]+ Make\w+\(")

# Folders whose targets anybody may use. In other folders each target names its users by visibility.
PUBLIC = {"api", "graph", "rewrite", "tests", "tools"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LABEL = re.compile(r'"((?:@\w+)?//[^":]*)(:[^"]*)?"')
SOURCE_SUFFIXES = (".cc", ".h", ".inc", ".cu", ".cuh")
LONG_FILE = 500
LARGE_FOLDER = 30


def files_of(root):
    """Returns paths below `root`: those git knows or would add, or all outside a checkout."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True, text=True,
        ).stdout.split("\0")
        paths = [path for path in listed if path and (root / path).is_file()]
    else:
        paths = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return sorted(set(paths))


def folder(path):
    return path.split("/", 1)[0]


def matches(path, entry):
    """Is `path` (with or without extension) what an entry of MAY_USE allows?"""
    if entry.endswith("/"):
        return path.startswith(entry)
    return re.sub(r"(\.pb)?\.\w+$", "", path) == entry


def use_problem(path, used):
    """Returns why the file `path` may not use our file or target `used`, or None."""
    allowed = MAY_USE.get(folder(path))
    if allowed is not None and not any(matches(used, entry) for entry in allowed):
        return f"{folder(path)}/ may not use {used}; it may use {', '.join(allowed)}"
    for below, others in MAY_USE_ONLY.items():
        if path.startswith(below) and not any(matches(used, entry) for entry in others):
            return f"{below} may not use {used}; it may use {', '.join(others)}"
    return None


def library_problem(path, library):
    """Returns why `path` may not use the library of that name, or None."""
    places = LIBRARIES[library][2]
    mirrored = path[len("tests/"):] if path.startswith("tests/") else path
    if mirrored.startswith(tuple(places)):
        return None
    return f"{library} may only be used in {' and '.join(places)}"


def include_problems(root, path, line):
    found = INCLUDE.match(line)
    if not found:
        return
    quote, header = found.groups()
    if folder(header) in OUR_FOLDERS and "/" in header:
        problem = use_problem(path, header)
        if problem:
            yield problem
        if quote == "<":
            yield f'write "{header}": <> is for the system\'s headers'
        return
    if "/" not in header and quote == '"' and (root / path).with_name(header).exists():
        yield f'write "{pathlib.PurePosixPath(path).with_name(header)}": paths start at the root'
    for library, (headers, _, _) in LIBRARIES.items():
        problem = re.match(headers, header) and library_problem(path, library)
        if problem:
            yield f"<{header}>: {problem}"


def label_problems(path, line):
    """The same rules for the targets a BUILD.bazel depends on, and who may be public."""
    if '"//visibility:public"' in line.split("#")[0] and folder(path) not in PUBLIC:
        yield f"{folder(path)}/ is not public: name the packages that may use it"
    for package, target in LABEL.findall(line.split("#")[0]):
        if "__" in target:  # a visibility
            continue
        label = package + target
        for library, (_, targets, _) in LIBRARIES.items():
            if any(label == t or (t.endswith("//") and label.startswith(t)) for t in targets):
                # `load` of constants links nothing.
                if target.endswith(".bzl"):
                    continue
                problem = library_problem(path, library)
                if problem:
                    yield f"{label}: {problem}"
        inside = package[len("//"):]
        if package.startswith("//") and folder(inside) in OUR_FOLDERS:
            used = inside + "/" + (target[1:] or inside.rsplit("/", 1)[-1])
            problem = use_problem(path, used)
            if problem:
                yield f"{label}: {problem}"


def operator_names(root):
    """Returns the names in the operator table; empty where there is none yet."""
    table = root / OPERATOR_TABLE
    if not table.exists():
        return []
    return re.findall(r'^\s*LEMMA_OP\w*\(\s*"?(\w+)"?', table.read_text(), re.MULTILINE)


def operator_name_pattern(names):
    """Matches a comparison of an operator's name with a string, in either order."""
    if not names:
        return None
    literal = '"(?:' + "|".join(map(re.escape, sorted(names))) + ')"'
    # The compared expression must mention an operator or a name: "max" may be something else.
    asked = r"[\w.>()\[\]:*&-]*(?:\b[oO]p|_op|Op|[nN]ame|[kK]ind)[\w.>()\[\]:*&-]*"
    return re.compile(
        rf"{asked}\s*[!=]=\s*{literal}|{literal}\s*[!=]=\s*{asked}|(?:\.|->)IsOp\("
    )


def unregistered_names(lines, names):
    """Yields (line number, message) of operators' names outside of functions Make…()."""
    registers = False
    for number, line in enumerate(lines, 1):
        registers = registers or REGISTRATION.match(line)
        for name in re.findall(r'"(\w+)"', line.split("//")[0]):
            if name in names and not registers:
                yield number, (
                    f'names the operator "{name}" outside of a registration, KernelDef Make…():'
                    " derive it from the operator's definition"
                )
        registers = registers and line.rstrip() != "}" and not line.rstrip().endswith("; }")


def file_problems(root, path, names, compared):
    """Yields (line number, message) of one file."""
    build_file = path.endswith("BUILD.bazel")
    if not build_file and not path.endswith(SOURCE_SUFFIXES):
        return
    lines = (root / path).read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        problems = label_problems(path, line) if build_file else include_problems(root, path, line)
        for problem in problems:
            yield number, problem
        if build_file or not compared or OPERATOR_NAMES_ALLOWED.match(path):
            continue
        if compared.search(line.split("//")[0]):
            yield number, "asks for an operator by name: derive it from the operator's definition"
    if not build_file and REGISTERING.match(path):
        yield from unregistered_names(lines, names)
    if len(lines) > LONG_FILE:
        print(f"warning: {path} has {len(lines)} lines", file=sys.stderr)


NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{")
TYPE = re.compile(
    r"^(?:template <[^{;]*>\s+)?(?:struct|class|enum(?: class| struct)?|union) (\w+)(?: final)?"
    r"(?:\s*:[^:;{][^;{]*)?\s*\{"
)


def types_of(text):
    """The types that a file defines outside of others and of unnamed namespaces, with their
    namespaces."""
    namespaces = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("}  // namespace"):
            namespaces = namespaces[:-1]
        elif match := NAMESPACE.match(line):
            namespaces.append(match[1])
        # The head of a definition may take several lines.
        elif "" not in namespaces and (match := TYPE.match(" ".join(lines[number:number + 4]))):
            yield "::".join([*namespaces, match[1]])


def type_problems(root, paths):
    """Two types of one name are one to the linker, which takes either's functions for both."""
    seen = {}
    for path in paths:
        if not path.endswith((".h", ".cc")) or folder(path) not in OUR_FOLDERS:
            continue
        for name in types_of((root / path).read_text(errors="replace")):
            other = seen.setdefault(name, path)
            if other != path:
                yield f"{path}: defines {name}, as {other} does"


def folder_problems(paths):
    """A folder of many files is several rooms."""
    sources = collections.Counter(
        str(pathlib.PurePosixPath(path).parent) for path in paths
        if path.endswith((*SOURCE_SUFFIXES, ".py"))
    )
    for name, count in sorted(sources.items()):
        if count > LARGE_FOLDER:
            yield f"{name}: has {count} source files directly in it; at most {LARGE_FOLDER}"


def check(root):
    """Returns the violations below `root`, each one line of text."""
    paths = files_of(root)
    result = list(folder_problems(paths))
    for name in sorted({folder(path) for path in paths}):
        if name not in TOP_LEVEL and not name.startswith("."):
            result.append(f"{name}: not in the list of top-level names")
    names = set(operator_names(root))
    compared = operator_name_pattern(names)
    for path in paths:
        if folder(path) in OUR_FOLDERS:
            result += [f"{path}:{n}: {message}" for n, message in file_problems(root, path, names, compared)]
    return [*result, *type_problems(root, paths)]


def main(arguments):
    if "--help" in arguments or "-h" in arguments:
        print(__doc__.strip())
        return 0
    here = pathlib.Path(__file__).resolve().parent.parent
    problems = check(pathlib.Path(arguments[0]) if arguments else here)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
