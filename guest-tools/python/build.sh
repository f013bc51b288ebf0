#!/usr/bin/env bash
# Builds `run_python` and packs it into guest-tools/dist/python.wasm: CPython with its library, as a component. Needs Python
# 3.10 or newer with venv, and once a registry of Python packages, from which componentize-py comes. That lies under
# TOOLCELL_PYTHON_DIR (default: toolcell/guest-python in the user's cache folder), which may be deleted at any time.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${TOOLCELL_PYTHON_DIR:-${XDG_CACHE_HOME:-${HOME:?set HOME or TOOLCELL_PYTHON_DIR}/.cache}/toolcell/guest-python}
wanted=$(sha256sum <"$here/requirements.txt")

fail() {
  printf "guest-tools/python: %s\n" "$@" >&2
  exit 1
}

is_ready() { [ "$(cat "$folder/stamp" 2>/dev/null)" = "$wanted" ] && "$folder/bin/python" -c '' 2>/dev/null; }

install() {
  command -v python3 >/dev/null || fail "python3 is not installed"
  printf "guest-tools/python: installing componentize-py in %s, once\n" "$folder" >&2
  # The stamp is written last: an installation that was interrupted is made anew.
  rm -rf "$folder"
  python3 -m venv "$folder" >&2 ||
    fail "python3 cannot make a virtual environment; on Debian, 'apt-get install python3-venv' brings what is missing"
  "$folder/bin/pip" --quiet --disable-pip-version-check install --require-hashes --only-binary :all: -r "$here/requirements.txt" >&2 ||
    fail "pip could not install $here/requirements.txt, see the lines above"
  echo "$wanted" >"$folder/stamp"
}

# One builder at a time; who waited finds it ready.
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
if command -v flock >/dev/null; then flock 9; fi
is_ready || install

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What is imported while it is built is in it: the tool, and the time zones, and nothing else of that folder.
cp -r "$here/src/toolcell_python" "$work/"
cp -r "$folder"/lib/python3*/site-packages/tzdata "$work/"
# By itself it would look for packages in whatever environment its caller is in.
env -u VIRTUAL_ENV -u PYTHONPATH "$folder/bin/componentize-py" --quiet -d "$here/wit" -w python \
  componentize -p "$work" toolcell_python -o "$work/component.wasm"

dist=$here/../dist
mkdir -p "$dist"
cd "$here/../.."
cargo run --quiet -p toolcell-package --bin toolcell-pack -- \
  "$work/component.wasm" --wit "$here/wit" --world python -o "$dist/.python.wasm"
# Whole or not at all: what is half would count as built.
mv "$dist/.python.wasm" "$dist/python.wasm"
