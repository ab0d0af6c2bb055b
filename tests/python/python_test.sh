#!/usr/bin/env bash
# Builds the wheel, installs it into a virtual environment, and runs the tests there.
set -euo pipefail
if ! /usr/bin/python3 -c 'import ensurepip, numpy' 2>/dev/null; then
  echo "skipped: python3-venv or python3-numpy is missing"
  exit 0
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
wheel="$(/usr/bin/python3 python/build_wheel.py --binary "$1" --output "$work")"
/usr/bin/python3 -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --no-deps --disable-pip-version-check "$wheel"
models="$PWD/data/models/light"
for test in package_test calls_test pictures_test torch_test examples_test; do
  "$work/venv/bin/python" "$PWD/tests/python/$test.py" "$PWD" "$models"
done
