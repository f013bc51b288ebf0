#!/usr/bin/env bash
# Prints the folder with what the projects of `toolcell new --lang js|python|c` are built with, and fills it first where
# it is empty:
#
#   folder=$(tests/languages/install.sh)
#   folder=$(tests/languages/install.sh --installed)     fails where it is not filled, and reaches for no network
#
# In npm/ is a cache of npm, in wheels/ a folder for `pip --find-links`, in bin/ a compiler of C and a generator of
# bindings; what links components is that of rustup's Rust. It lies at TOOLCELL_LANGUAGES_DIR (default:
# toolcell/test-languages in the user's cache folder), which may be deleted at any time. Needs npm, Python 3.10 or
# newer, cargo and apt-get, and once the registries of packages of these.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${TOOLCELL_LANGUAGES_DIR:-${XDG_CACHE_HOME:-${HOME:?set HOME or TOOLCELL_LANGUAGES_DIR}/.cache}/toolcell/test-languages}
templates=$here/../../runtime/src/bin/toolcell/templates
generator=0.63.0
wanted=$(cat "${BASH_SOURCE[0]}" "$templates/js/package.json.template" "$templates/python/requirements.txt.template" | sha256sum)

fail() {
  printf "the tool chains of other languages: %s\n" "$@" >&2
  exit 1
}

is_ready() { [ "$(cat "$folder/stamp" 2>/dev/null)" = "$wanted" ]; }

finish() {
  echo "$folder"
  exit 0
}

# Debian's clang for WebAssembly, of its own version or the newer one of bookworm, and the C library of Debian 13: those
# before have none for wasip2. Unpacked, not installed, by the functions that make the compiler of guests.
c_compiler() {
  local work=$1 mirror deb
  # shellcheck source=../../guest-tools/toolchain.sh
  source "$here/../../guest-tools/toolchain.sh" --functions
  local newer=(private_apt "$work/newer")
  mkdir -p "$work"/{deb,root} "$work"/{apt,newer}/{lists/partial,cache/archives/partial}
  cd "$work/deb"
  private_apt "$work/apt" apt-get update
  private_apt "$work/apt" apt-get download clang-19 libclang-rt-19-dev-wasm32 libclang-common-19-dev libclang-cpp19 libllvm19
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/\?$' | head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/newer/sources.list"
  newer+=(apt-get -o Dir::Etc::SourceList="$work/newer/sources.list" -o Dir::Etc::SourceParts=/dev/null)
  "${newer[@]}" update
  "${newer[@]}" download wasi-libc
  for deb in ./*.deb; do dpkg -x "$deb" "$work/root"; done
  rm -rf "$work"/{deb,apt,newer}
  cat >"$folder/bin/clang-19" <<'WRAPPER'
#!/bin/sh
usr=$(dirname "$(readlink -f "$0")")/../c/root/usr
libraries=$(echo "$usr"/lib/*-linux-gnu*)
LD_LIBRARY_PATH=$libraries exec "$usr/lib/llvm-19/bin/clang" --sysroot="$usr" "$@"
WRAPPER
  chmod +x "$folder/bin/clang-19"
}

install() {
  command -v npm >/dev/null || fail "npm is not installed; on Debian, 'apt-get install npm' brings it"
  command -v python3 >/dev/null || fail "python3 is not installed"
  printf "the tool chains of other languages: downloading them to %s, once\n" "$folder" >&2
  # The stamp is written last: what was interrupted is made anew.
  rm -rf "$folder"
  mkdir -p "$folder"/{project,wheels,bin}
  sed 's/{name}/project/g' "$templates/js/package.json.template" >"$folder/project/package.json"
  (cd "$folder/project" && npm install --cache "$folder/npm" --ignore-scripts --no-audit --no-fund --loglevel=error >&2) ||
    fail "npm could not install $templates/js/package.json.template, see the lines above"
  rm -rf "$folder/project"
  python3 -m pip --quiet --disable-pip-version-check download --only-binary :all: --dest "$folder/wheels" \
    -r "$templates/python/requirements.txt.template" >&2 ||
    fail "pip could not download $templates/python/requirements.txt.template, see the lines above"
  (c_compiler "$folder/c") >"$folder/c.log" 2>&1 || fail "clang could not be unpacked:" "$(tail -n 5 "$folder/c.log")"
  # What the caller wants of other builds must not reach this one.
  env -u CARGO_TARGET_DIR -u RUSTFLAGS CARGO_PROFILE_RELEASE_OPT_LEVEL=0 cargo install --quiet --locked --root "$folder" --target-dir "$folder/target" \
    --no-default-features --features c "wit-bindgen-cli@$generator" >&2 || fail "cargo could not install wit-bindgen-cli, see the lines above"
  rm -rf "$folder/target"
  echo "$wanted" >"$folder/stamp"
}

if is_ready; then finish; fi
[ "${1:-}" != --installed ] || fail "they are not there; 'make test' or tests/languages/install.sh brings them"

# One installer at a time; who waited finds them ready.
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
if command -v flock >/dev/null; then flock 9; fi
is_ready || install
finish
