#!/usr/bin/env bash
# Installs the program in each way that there is, runs it, and takes it away again:
#
#   tests/packages.sh FOLDER PACKAGES PROFILE
#
# FOLDER is what `make static` made, PACKAGES where `make deb` and `make wheel` put theirs; `cargo install` builds with
# PROFILE. Needs Python with venv, and root for dpkg: who is not only looks into the package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$1 packages=$2 profile=$3
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Nothing of whoever runs this, but for the tool chain.
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export HOME=$scratch/home XDG_CACHE_HOME=$scratch/cache XDG_CONFIG_HOME=$scratch/config XDG_STATE_HOME=$scratch/state
export XDG_DATA_HOME=$scratch/data
mkdir -p "$HOME"

fail() {
  printf 'packages: %s\n' "$*" >&2
  exit 1
}

# Runs a program that was installed; `beside` if the interpreter of Python is to be there, too.
works() {
  local how=$1 beside=$2 said
  shift 2
  said=$("$@" --version)
  [ "$said" = "toolcell $version" ] || fail "$how: --version says $said"
  said=$("$@" call add '{"a": 2, "b": 3}' --component builtin:basics)
  [ "$said" = 5 ] || fail "$how: 2 + 3 is $said"
  if [ "$beside" = beside ]; then
    said=$("$@" describe run_python --component builtin:python)
    [[ $said == *run_python* ]] || fail "$how: no run_python: $said"
  fi
  printf 'installed and run: %s\n' "$how"
}

one() {
  [ $# = 1 ] && [ -f "$1" ] || fail "one file is expected: $*"
  printf '%s\n' "$1"
}

# A root without libraries, a configuration of names, or anything but what the program brings.
mkdir -p "$scratch/empty/tmp"
cp -r "$folder/bin" "$folder/lib" "$scratch/empty/"
into=("$(PATH=$PATH:/usr/sbin command -v chroot)")
[ "$(id -u)" = 0 ] || into=("$(command -v unshare)" --map-root-user "${into[@]}")
works "the static program in an empty root" alone env -i HOME=/tmp "${into[@]}" "$scratch/empty" /bin/toolcell

deb=$(one "$packages"/*.deb)
[[ $(dpkg --contents "$deb") == *./usr/share/bash-completion/completions/toolcell* ]] || fail "no completions in the package"
if [ "$(id -u)" = 0 ]; then
  dpkg --install "$deb"
  works "the package of Debian's" beside /usr/bin/toolcell
  dpkg --remove toolcell
  [ ! -e /usr/bin/toolcell ] || fail "dpkg left the program behind"
else
  dpkg --extract "$deb" "$scratch/deb"
  works "what is in the package of Debian's" beside "$scratch/deb/usr/bin/toolcell"
fi

wheel=$(one "$packages"/toolcell-*.whl)
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" --quiet --disable-pip-version-check install --no-index "$wheel"
works "the wheel by pip" beside "$scratch/venv/bin/toolcell"
"$scratch/venv/bin/pip" --quiet --disable-pip-version-check install uv
works "the wheel by uvx" beside "$scratch/venv/bin/uvx" --quiet --from "$wheel" toolcell

cargo install --quiet --locked --path runtime --profile "$profile" --root "$scratch/cargo"
works "cargo install" alone "$scratch/cargo/bin/toolcell"
