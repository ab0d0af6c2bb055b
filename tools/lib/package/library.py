#!/usr/bin/env python3
"""Installs the library for C++ programs: headers, liblemma.a, and files for CMake and pkg-config.

Usage: tools/lib/package/library.py BAZEL_BIN VERSION PREFIX

BAZEL_BIN has what `bazel build //api:lemma` made. Programs also need the development packages that
Lemma is built with.
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
# What docs/library.md describes. Other headers go along if one of these includes them.
PUBLIC = ["api/*.h", "api/json/*.h", "api/models/*.h", "api/rules/*.h"]


def headers(bazel_bin):
    """Path in the repository -> file, for the public headers and all of ours that they include."""
    found = {}
    waiting = sorted(str(path.relative_to(ROOT)) for pattern in PUBLIC for path in ROOT.glob(pattern))
    while waiting:
        name = waiting.pop()
        path = next((base / name for base in (ROOT, bazel_bin) if (base / name).is_file()), None)
        if path is not None and name not in found:
            found[name] = path
            waiting += INCLUDE.findall(path.read_text())
    return found


def write(bazel_bin, version, prefix):
    include = prefix / "include/lemma"
    for name, path in headers(bazel_bin).items():
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, include / name)
    library = prefix / "lib"
    for folder in ("pkgconfig", "cmake/lemma"):
        (library / folder).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(bazel_bin / "api/liblemma.a", library / "liblemma.a")
    compiling, linking = (bazel_bin / "api/lemma.flags").read_text().split("\n")[:2]
    (library / "pkgconfig/lemma.pc").write_text(
        "prefix=${pcfiledir}/../..\n\n"
        "Name: lemma\n"
        "Description: Rewrites tensor programs by proved rules, so that they run faster\n"
        f"Version: {version}\n"
        f"Cflags: -std=c++17 -I${{prefix}}/include/lemma {compiling}\n"
        f"Libs: -L${{prefix}}/lib -llemma {linking}\n")
    (library / "cmake/lemma/lemma-config.cmake").write_text(
        "# find_package(lemma) defines the target lemma::lemma.\n"
        'get_filename_component(_lemma_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)\n'
        "if(NOT TARGET lemma::lemma)\n"
        "  add_library(lemma::lemma STATIC IMPORTED)\n"
        "  set_target_properties(lemma::lemma PROPERTIES\n"
        '    IMPORTED_LOCATION "${_lemma_prefix}/lib/liblemma.a"\n'
        '    INTERFACE_INCLUDE_DIRECTORIES "${_lemma_prefix}/include/lemma"\n'
        f'    INTERFACE_COMPILE_OPTIONS "{";".join(compiling.split())}"\n'
        "    INTERFACE_COMPILE_FEATURES cxx_std_17\n"
        f'    INTERFACE_LINK_LIBRARIES "{";".join(linking.split())}")\n'
        "endif()\n"
        "unset(_lemma_prefix)\n")
    (library / "cmake/lemma/lemma-config-version.cmake").write_text(
        f'set(PACKAGE_VERSION "{version}")\n'
        'if(PACKAGE_FIND_VERSION STREQUAL "" OR PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)\n'
        "  set(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
        "endif()\n"
        "if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)\n"
        "  set(PACKAGE_VERSION_EXACT TRUE)\n"
        "endif()\n")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
