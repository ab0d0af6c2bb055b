#!/bin/sh
# Starts Lemma with the libraries that lie beside it. The C library beside it serves only where the
# system's is older than 2.NEEDED, or another one. Libraries of the system that Lemma looks for
# while it runs, such as the CUDA driver, load in either case: a newer C library serves them too.
program=$(readlink -f "$0") && libraries=${program%/bin/*}/lib/lemma || exit 2
# The loader says its version since 2.33.
version=$(/lib64/ld-linux-x86-64.so.2 --version 2>/dev/null)
minor=${version#*release version 2.}
minor=${minor%%.*}
case $minor in
  '' | *[!0-9]*) minor=0 ;;
esac
if [ "$minor" -ge NEEDED ]; then
  exec "$libraries/lemma" "$@"
fi
exec "$libraries/glibc/ld-linux-x86-64.so.2" \
  --library-path "$libraries/glibc:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  "$libraries/lemma" "$@"
