#!/usr/bin/env bash
# Builds the components that the tests call: tests/guests/dist/*.wasm, packed.
# A RUSTC in the environment that builds for wasm32-wasip2 is used as it is.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
built=$here/target/wasm32-wasip2/release

(
  if [ -z "${RUSTC:-}" ]; then
    lines=$("$root/guest-tools/toolchain.sh")
    eval "$lines"
  fi
  cd "$here"
  cargo build --locked --release --target wasm32-wasip2 --target-dir "$here/target"
)

mkdir -p "$here/dist"

# pack IN WORLD OUT WIT. Most functions here need no description, so the warnings are shown only with an error.
pack() {
  local messages
  messages=$(cd "$root" && env -u RUSTC cargo run --quiet --locked -p toolcell-package --bin toolcell-pack -- \
    "$1" --wit "$here/$4" --world "$2" -o "$3" 2>&1) || { printf '%s\n' "$messages" >&2; return 1; }
}

# place NAME FILE [WORLD [WIT]]: a component with a world gets its documentation; the command has none.
place() {
  local out=$here/dist/$1.wasm
  if [ -n "${3:-}" ] && [ -e "$root/runtime/package/src/bin/toolcell-pack.rs" ]; then
    pack "$built/$2" "$3" "$out.new" "${4:-wit}"
  else
    cp "$built/$2" "$out.new"
  fi
  mv "$out.new" "$out"
}

place probe probe.wasm probe
place caller caller.wasm caller-world caller/wit
place readonly-liar readonly_liar.wasm readonly-liar
place kernel kernel.wasm kernel
place judge judge.wasm judge
place conformance conformance.wasm conformance
place provider provider.wasm provided
place command command.wasm
