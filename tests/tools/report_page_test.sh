#!/usr/bin/env bash
# The page of a report, used in a real browser.
set -euo pipefail
if ! command -v chromium-headless-shell >/dev/null; then
  echo "skipped: no Chromium (tools/install --browser)"
  exit 0
fi
exec tools/check_report --lemma "$1" --out "$TEST_TMPDIR" data/models/light/light_squeezenet.onnx \
  data/models/light/light_resnet50.onnx
