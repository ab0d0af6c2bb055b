#!/usr/bin/env bash
# Installs the library, and builds docs/example_optimize.cc with it by pkg-config and by CMake.
set -euo pipefail
bin="$(cd "$(dirname "$1")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 tools/lib/package/library.py "$bin" 0.1.0 "$work/prefix"
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
cp docs/example_optimize.cc "$work/"
try() {
  "$1" data/models/light/light_squeezenet.onnx "$work/out.onnx" && [[ -s "$work/out.onnx.cert" ]]
  rm "$work"/out.onnx*
}

# The flags are several words.
# shellcheck disable=SC2046
g++ $(pkg-config --cflags lemma) -o "$work/by_pkg_config" "$work/example_optimize.cc" \
  $(pkg-config --libs lemma)
try "$work/by_pkg_config"

if ! command -v cmake > /dev/null; then
  echo "skipped: CMake is missing"
  exit 0
fi
cat > "$work/CMakeLists.txt" << 'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(example CXX)
find_package(lemma 0.1.0 REQUIRED)
add_executable(example example_optimize.cc)
target_link_libraries(example lemma::lemma)
CMAKE
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/build"
try "$work/build/example"
