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
  local word
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:@-]+$ ]]; then printf ' %s' "$word"; else printf ' %s' "${word@Q}"; fi
  done
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

title "A search over the sources: the tool stops where the model's budget ends, and says how much there is and how to go on"
search='"pattern": "fn ", "path": "/work/runtime/src", "max_results": 10000'
run 0 call grep "{$search}"
tail -n 1 "$output"
offset=$(sed -n 's/^\[matching lines 1-.* go on with offset \([0-9]*\)]$/\1/p' "$output")
[ -n "$offset" ] || fail "the search does not say how to go on"
run 0 call grep "{$search, \"offset\": $offset}"
tail -n 1 "$output"
grep -q "^\[matching lines $offset-" "$output" || fail "the second page does not begin where the first ended"

title "A result that is longer than a model should read is cut at both ends, and read back by its handle"
awk '{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "%s\\n", $0 }' Cargo.lock | sed 's/^/{"text": "/; s/$/"}/' >"$scratch/arguments.json"
run 0 call echo "@$scratch/arguments.json"
handle=$(grep -o -m 1 'o-[0-9a-f]\{32\}' "$output" | head -n 1) || fail "nothing was cut"
run 0 output show "$handle" --lines 1000:1003
diff <(sed -n 1000,1003p Cargo.lock) <(grep -v '^note' "$output") || fail "the full output is another"

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
