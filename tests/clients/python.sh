#!/usr/bin/env bash
# Prints the Python that has the official clients of requirements.txt, and installs them first where they are missing:
#
#   python=$(tests/clients/python.sh)
#   python=$(tests/clients/python.sh --installed)     fails where they are missing, and reaches for no network
#   python=$(tests/clients/python.sh [--installed] earlier/requirements.txt)     others, which do not fit beside these
#
# They lie under TOOLCELL_CLIENTS_DIR (default: toolcell/test-clients in the user's cache folder), which may be deleted
# at any time. Needs Python 3.11 or newer with venv, and once a registry of Python packages.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clients=${TOOLCELL_CLIENTS_DIR:-${XDG_CACHE_HOME:-${HOME:?set HOME or TOOLCELL_CLIENTS_DIR}/.cache}/toolcell/test-clients}
mode=
if [ "${1:-}" = --installed ]; then mode=$1 && shift; fi
packages=$here/${1:-requirements.txt}
case ${1:-} in */*) clients=$clients-${1%%/*} ;; esac
wanted=$(sha256sum <"$packages")

fail() {
  printf "the tests' client packages: %s\n" "$@" >&2
  exit 1
}

is_ready() { [ "$(cat "$clients/stamp" 2>/dev/null)" = "$wanted" ] && "$clients/bin/python" -c '' 2>/dev/null; }

finish() {
  echo "$clients/bin/python"
  exit 0
}

install() {
  command -v python3 >/dev/null || fail "python3 is not installed"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "they need Python 3.11 or newer, and this is $(python3 --version)"
  printf "the tests' client packages: installing them in %s, once\n" "$clients" >&2
  # The stamp is written last: an installation that was interrupted is made anew.
  rm -rf "$clients"
  python3 -m venv "$clients" >&2 ||
    fail "python3 cannot make a virtual environment; on Debian, 'apt-get install python3-venv' brings what is missing"
  "$clients/bin/pip" --quiet --disable-pip-version-check install --require-hashes --only-binary :all: -r "$packages" >&2 ||
    fail "pip could not install $packages, see the lines above"
  echo "$wanted" >"$clients/stamp"
}

if is_ready; then finish; fi
[ "$mode" != --installed ] || fail "they are not installed; 'make test' or tests/clients/python.sh installs them"

# One installer at a time; who waited finds them ready.
mkdir -p "$(dirname "$clients")"
exec 9>"$clients.lock"
if command -v flock >/dev/null; then flock 9; fi
is_ready || install
finish
