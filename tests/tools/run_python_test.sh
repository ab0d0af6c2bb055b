#!/usr/bin/env bash
# Runs a Python unit test from the root of the workspace.
set -euo pipefail
exec python3 "$@"
