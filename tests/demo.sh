#!/usr/bin/env bash
# Shows toolcell on this repository: prints each command, runs it, and fails where one does not do what is said of it.
# TOOLCELL names the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

toolcell=$(realpath "${TOOLCELL:-target/debug/toolcell}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Outputs and compiled components of this run only.
export TOOLCELL_HOME=$scratch/home
output=$scratch/output

title() { printf '\n# %s\n' "$*"; }

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# run EXIT ARGUMENTS…: prints and runs a command, shows the first lines of its output, checks its exit code.
run() {
  local expected=$1 code=0
  shift
  printf '\n$ toolcell'
  printf ' %s' "${@@Q}"
  printf '\n'
  "$toolcell" "$@" >"$output" 2>&1 </dev/null || code=$?
  head -n 12 "$output" | cut -c 1-160
  local lines
  lines=$(wc -l <"$output")
  [ "$lines" -le 12 ] || printf '   … %s more lines on this screen\n' "$((lines - 12))"
  [ "$code" = "$expected" ] || fail "exit code $code, expected $expected"
}

shows() { grep -qF -- "$1" "$output" || fail "the output does not show: $1"; }
hides() { ! grep -qF -- "$1" "$output" || fail "the output shows: $1"; }

title "The tools that toolcell.toml loads"
run 0 list
shows read_file
shows calculate

title "A search whose result is longer than a model should read: both ends, and a handle for the rest"
run 0 call grep '{"pattern": "fn ", "path": "/work/runtime/src", "limit": 1000}' --json
handle=$(grep -o '"handle":[ ]*"o-[^"]*"' "$output" | head -n 1 | grep -o 'o-[^"]*') || fail "nothing was cut"
run 0 output show "$handle" --lines 3:6

title "An edit, in a copy of a file and with a grant to write there"
mkdir "$scratch/copy"
cp README.md "$scratch/copy/"
edits=(--component builtin:files --dir "$scratch/copy::/scratch::rw")
run 0 call edit_file '{"path": "/scratch/README.md", "old": "# toolcell", "new": "# toolcell, edited"}' "${edits[@]}"
head -n 1 "$scratch/copy/README.md" | grep -qx '# toolcell, edited' || fail "the file was not edited"
cmp -s README.md <(sed '1s/, edited$//' "$scratch/copy/README.md") || fail "more than the edit changed"

title "What is not granted cannot be read, by whatever name"
ln -s /etc/passwd "$scratch/copy/link"
run 1 call read_file '{"path": "/work/../../etc/passwd"}' --json
hides root:
run 1 call read_file '{"path": "/work/.git/config"}' --json
shows '"denials"'
run 1 call read_file '{"path": "/scratch/link"}' "${edits[@]}" --json
shows '"denials"'
hides root:
hides "$scratch"

title "A tool that never ends, stopped by its deadline"
run 5 call spin '{}' --component tests/guests/dist/probe.wasm --timeout 100ms
shows --timeout

printf '\nEverything behaved as said.\n'
