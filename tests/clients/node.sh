#!/usr/bin/env bash
# Prints the folder with the clients of node/package.json and their Node.js, and installs them first where they are missing:
#
#   folder=$(tests/clients/node.sh)
#   folder=$(tests/clients/node.sh --installed)       fails where they are missing, and reaches for no network
#
# Its `node` is in bin/, its packages in node_modules/. It lies at TOOLCELL_NODE_DIR (default: toolcell/test-node in the
# user's cache folder), which may be deleted at any time. Needs npm, and once a registry of its packages.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${TOOLCELL_NODE_DIR:-${XDG_CACHE_HOME:-${HOME:?set HOME or TOOLCELL_NODE_DIR}/.cache}/toolcell/test-node}
wanted=$(sha256sum <"$here/node/package-lock.json")

fail() {
  printf "the tests' clients in JavaScript: %s\n" "$@" >&2
  exit 1
}

is_ready() { [ "$(cat "$folder/stamp" 2>/dev/null)" = "$wanted" ] && "$folder/bin/node" -e ''; }

finish() {
  echo "$folder"
  exit 0
}

install() {
  command -v npm >/dev/null || fail "npm is not installed; on Debian, 'apt-get install npm' brings it"
  printf "the tests' clients in JavaScript: installing them in %s, once\n" "$folder" >&2
  # The stamp is written last: an installation that was interrupted is made anew.
  rm -rf "$folder"
  mkdir -p "$folder/bin"
  cp "$here/node/package.json" "$here/node/package-lock.json" "$folder/"
  # Not `npm ci`, which refuses lock files where a package is for other systems alone. Contents are checked all the same.
  (cd "$folder" && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2) ||
    fail "npm could not install tests/clients/node/package-lock.json, see the lines above"
  local node
  node=$(find "$folder"/node_modules/node-linux-*/bin/node -maxdepth 0 2>/dev/null | head -1)
  # A machine that the packages have no Node.js for brings its own.
  ln -s "${node:-$(command -v node || fail 'there is no Node.js for this machine')}" "$folder/bin/node"
  echo "$wanted" >"$folder/stamp"
}

if is_ready; then finish; fi
[ "${1:-}" != --installed ] || fail "they are not installed; 'make test' or tests/clients/node.sh installs them"

# One installer at a time; who waited finds them ready.
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
if command -v flock >/dev/null; then flock 9; fi
is_ready || install
finish
