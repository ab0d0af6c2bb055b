#!/usr/bin/env bash
# data/referee is what its script writes, and each pair differs, or not, as its verdict says.
set -euo pipefail
if ! /usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null; then
  echo "skipped: /usr/bin/python3 lacks numpy or onnx (tools/install --models)"
  exit 0
fi
exec tools/make_referee_corpus --check --no-ort
