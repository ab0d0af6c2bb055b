#!/usr/bin/env bash
# Models that others published on npm, end to end: at five sizes each, against ONNX Runtime.
set -euo pipefail
HOME="$(getent passwd "$(id -u)" | cut -d: -f6)" # Bazel hides it; the tools install there
export HOME
missing=
/usr/bin/python3 -c 'import onnx, torch, torchvision' 2>/dev/null || missing="PyTorch (tools/install --models)"
command -v npm >/dev/null || missing="Node.js (tools/install --peers)"
if [[ -n "$missing" ]]; then
  echo "skipped: $missing is not installed"
  exit 0
fi
exec tools/check_sizes --ort --seconds 5 --lemma "$PWD/$1" --out "$TEST_TMPDIR" \
  text_detection text_recognition text_direction voice_legacy voice_v5 voice_v6
