#!/usr/bin/env bash
# Builds the shipped tools and packs each into guest-tools/dist/NAME.wasm: the component with its documentation beside
# the code. Needs a Rust compiler; toolchain.sh finds the target's or makes it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=(basics fetch files plan shell weather)

# In a shell of its own: the host's compiler, not the guests', builds the packer.
(
  cd "$here"
  lines=$(./toolchain.sh)
  eval "$lines"
  # What the caller wants of other builds must not reach these.
  unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
  cargo build --release --locked --target wasm32-wasip2 --target-dir "$here/target"
)

mkdir -p "$here/dist"
cd "$here/.."
for tool in "${tools[@]}"; do
  cargo run --quiet -p toolcell-package --bin toolcell-pack -- \
    "$here/target/wasm32-wasip2/release/$tool.wasm" --wit "$here/$tool/wit" --world "$tool" -o "$here/dist/$tool.wasm"
done
