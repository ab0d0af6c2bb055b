#!/usr/bin/env bash
# Makes the archive twice, which must give the same file, and runs it on Debian 11, 12 and 13.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
archive="$(tools/package --lemma "$1" "$work/first")"
again="$(tools/package --lemma "$1" "$work/second")"
cmp "$archive" "$again"
if ((EUID != 0)) || ! command -v debootstrap > /dev/null; then
  echo "skipped: chroot needs root and debootstrap"
  exit 0
fi
HOME="${HOME:-/root}" tools/check_archive "$archive"
