#!/usr/bin/env bash
# Builds the shipped tools and packs each into guest-tools/dist/NAME.wasm: the component with its documentation beside
# the code. Needs a Rust compiler; toolchain.sh finds the target's or makes it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=(basics fetch files js plan shell weather)

# In a shell of its own: the host's compiler, not the guests', builds the packer.
(
  cd "$here"
  lines=$(./toolchain.sh)
  eval "$lines"
  # What the caller wants of other builds must not reach these.
  unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
  built=(--workspace)
  # Debian's compiler is older than what the engine of `js` asks for. An empty file says that it is not in the build.
  if [ "$(printf '%s\n' 1.91 "$("${RUSTC:-rustc}" --version | cut -d ' ' -f 2)" | sort -V | head -n 1)" != 1.91 ]; then
    echo "guest-tools: js needs Rust 1.91 for wasm32-wasip2; building without it" >&2
    built+=(--exclude js)
    rm -f "$here/target/wasm32-wasip2/release/js.wasm"
  fi
  cargo build --release --locked --target wasm32-wasip2 --target-dir "$here/target" "${built[@]}"
)

mkdir -p "$here/dist"
cd "$here/.."
for tool in "${tools[@]}"; do
  if [ ! -e "$here/target/wasm32-wasip2/release/$tool.wasm" ]; then
    : >"$here/dist/$tool.wasm"
    continue
  fi
  cargo run --quiet -p toolcell-package --bin toolcell-pack -- \
    "$here/target/wasm32-wasip2/release/$tool.wasm" --wit "$here/$tool/wit" --world "$tool" -o "$here/dist/$tool.wasm"
done
