#!/usr/bin/env bash
# Finds a Rust compiler for wasm32-wasip2, or makes one, and prints the shell lines that put it to use:
#
#   lines=$(guest-tools/toolchain.sh) && eval "$lines"
#
# It tries, in this order: the rustc that is there; one that an earlier run made; rustup; Debian's packages.
# Everything that it makes lies under TOOLCELL_TOOLCHAIN_DIR (default: toolcell/guest-toolchain in the user's
# cache folder). Progress and reasons go to stderr. It fails, saying why, when no way works.
set -euo pipefail

target=wasm32-wasip2
recipe=1 # Raise it whenever the Debian way changes: older toolchains are then made anew.
cache=${TOOLCELL_TOOLCHAIN_DIR:-${XDG_CACHE_HOME:-${HOME:?set HOME or TOOLCELL_TOOLCHAIN_DIR}/.cache}/toolcell/guest-toolchain}
reasons=()

say() { printf 'guest toolchain: %s\n' "$*" >&2; }

# Whether the compiler $1 makes a component of a program: it has the target's standard library and its linkers.
works() {
  local scratch status=0
  scratch=$(mktemp -d)
  echo 'fn main() {}' >"$scratch/main.rs"
  "$1" --target "$target" --crate-name probe -o "$scratch/probe.wasm" "$scratch/main.rs" >/dev/null 2>&1 || status=1
  rm -rf "$scratch"
  return "$status"
}

# The folders in which every rustup toolchain carries wasm-component-ld and wasm-ld.
linkers() {
  local bin
  bin=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
  printf '%s:%s' "$bin" "$bin/gcc-ld"
}

use_made() {
  printf 'export RUSTC=%q\n' "$cache/rustc"
  printf 'export PATH=%q:"$PATH"\n' "$(linkers)"
}

made_works() {
  [ "$(cat "$cache/stamp" 2>/dev/null)" = "recipe $recipe" ] && PATH=$(linkers):$PATH works "$cache/rustc"
}

add_with_rustup() {
  command -v rustup >/dev/null || { reasons+=("rustup is not installed"); return 1; }
  # A server that cannot be reached must not cost minutes.
  timeout 30 rustup target add "$target" >/dev/null 2>&1 || { reasons+=("'rustup target add $target' failed"); return 1; }
  works rustc || { reasons+=("rustup added $target, but rustc cannot build with it"); return 1; }
}

# apt with lists and caches of its own under $1, so that the system's stay as they are and root is not needed.
private_apt() {
  local state=$1
  shift
  "$1" -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User="$(id -un)" \
    -o Debug::NoLocking=true "${@:2}"
}

# Unpacks into $1/root a rustc with the WebAssembly back end, the sources of its standard library, and a C library for
# the target. Debian calls that rustc rustc-web; wasi-libc for wasip2 is in Debian 13 and later, so its index is read
# as well where the system is older.
unpack_packages() {
  local work=$1 version std llvm mirror deb
  local here=(private_apt "$work/apt") newer=(private_apt "$work/newer")
  mkdir -p "$work"/{deb,root} "$work"/{apt,newer}/{lists/partial,cache/archives/partial}
  cd "$work/deb"

  "${here[@]}" apt-get update
  version=$("${here[@]}" apt-cache policy rustc-web | sed -n 's/^ *Candidate: //p')
  [ -n "$version" ] && [ "$version" != "(none)" ] || { say "no package rustc-web in this system's sources"; return 1; }
  std=$("${here[@]}" apt-cache depends "rustc-web=$version" "libstd-rust-web-dev=$version" |
    sed -n 's/^ *Depends: \(libstd-rust-web-[0-9.]*\)$/\1/p' | tail -n 1)
  llvm=$("${here[@]}" apt-cache show "$std=$version" | sed -n 's/^Depends: .*\(libllvm[0-9][0-9.]*\).*/\1/p' | head -n 1)
  "${here[@]}" apt-get download "rustc-web=$version" "libstd-rust-web-dev=$version" "$std=$version" "rust-web-src=$version" "$llvm"

  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/\?$' | head -n 1)
  [ -n "$mirror" ] || { say "this system's sources name no Debian archive"; return 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/newer/sources.list"
  newer+=(apt-get -o Dir::Etc::SourceList="$work/newer/sources.list" -o Dir::Etc::SourceParts=/dev/null)
  "${newer[@]}" update
  "${newer[@]}" download wasi-libc

  for deb in ./*.deb; do dpkg -x "$deb" "$work/root"; done
}

# Builds the standard library for the target once and lays it where $1's rustc looks for it. With bitcode in it, so that
# guests can be optimised as a whole.
build_std() {
  local work=$1
  local usr=$work/root/usr
  local lib=$usr/lib/rustlib/$target/lib
  mkdir -p "$lib/self-contained" "$work/std/src"
  cp "$usr/lib/$target"/* "$lib/self-contained/"

  cat >"$work/rustc" <<'WRAPPER'
#!/bin/sh
usr=$(dirname "$(readlink -f "$0")")/root/usr
libraries=$(echo "$usr"/lib/*-linux-gnu*)
LD_LIBRARY_PATH=$libraries exec "$usr/bin/rustc" "$@"
WRAPPER
  chmod +x "$work/rustc"

  cd "$work/std"
  printf '[package]\nname = "std-for-guests"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >Cargo.toml
  echo 'fn main() {}' >src/main.rs
  env -u CARGO_ENCODED_RUSTFLAGS -u CARGO_TARGET_DIR -u CARGO_BUILD_TARGET PATH="$(linkers):$PATH" \
    RUSTC="$work/rustc" RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Clink-self-contained=yes -Cembed-bitcode=yes" \
    cargo build --release -Zbuild-std=std,panic_abort --target "$target" --target-dir "$work/std/target"
  cp "target/$target/release/deps"/*.rlib "$lib/"
  rm -f "$lib"/libstd_for_guests*
}

make_from_debian() {
  local tool work
  for tool in apt-get apt-cache dpkg cargo rustc; do
    command -v "$tool" >/dev/null || { reasons+=("Debian's packages need $tool, which is not installed"); return 1; }
  done
  say "building one from Debian's packages in $cache; this takes a few minutes, once"
  mkdir -p "$(dirname "$cache")"
  work=$(mktemp -d "$(dirname "$cache")/.guest-toolchain.XXXXXX")
  # A child of its own, so that a failure of any command ends it; what it says is shown only if it fails.
  if ! bash -c 'set -euo pipefail; source "$0" --functions; unpack_packages "$1"; build_std "$1"' "$self" "$work" >"$work.log" 2>&1; then
    tail -n 20 "$work.log" >&2
    rm -rf "$work" "$work.log"
    reasons+=("building from Debian's packages failed, see the lines above")
    return 1
  fi
  rm -rf "$work"/{std,deb,apt,newer} "$work.log"
  echo "recipe $recipe" >"$work/stamp"
  # Whole or not at all: a run that is interrupted leaves no toolchain that looks ready.
  chmod 755 "$work"
  rm -rf "$cache"
  mv -T "$work" "$cache"
  made_works || { reasons+=("the compiler built from Debian's packages cannot build a component"); return 1; }
}

self=${BASH_SOURCE[0]}
[ "${1:-}" != --functions ] || return 0

if command -v rustc >/dev/null; then
  works "${RUSTC:-rustc}" && exit 0
else
  say "rustc is not installed; install it with rustup or your system's packages"
  exit 1
fi
if made_works; then use_made; exit 0; fi
if add_with_rustup; then exit 0; fi

# One builder at a time; who waited finds the toolchain ready.
mkdir -p "$(dirname "$cache")"
exec 9>"$cache.lock"
if command -v flock >/dev/null; then flock 9; fi
if made_works || make_from_debian; then use_made; exit 0; fi

say "no Rust compiler for $target:"
for reason in "${reasons[@]}"; do say "- $reason"; done
say "install the target ('rustup target add $target', or your distribution's package for it) and run this again"
exit 1
