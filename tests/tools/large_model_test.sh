#!/usr/bin/env bash
# A model of 6 GB is optimized, checked, shown and copied in little memory.
set -euo pipefail
if ! /usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null; then
  echo "skipped: python3-onnx is not installed"
  exit 0
fi
exec tools/check_large --lemma "$PWD/$1" --out "$TEST_TMPDIR"
