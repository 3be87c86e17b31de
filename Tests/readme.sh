#!/usr/bin/env bash
# Runs every command of the README, in order, in a fresh copy of the tree: what ```sh blocks hold is
# promised to work. The copy keeps its build products, so that a second run is quick.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=.build/readme

mkdir -p "$copy"
find "$copy" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard --deduplicate \
  | while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done \
  | tar --create --null --files-from=- | tar --extract --directory "$copy"

# `make test` is what runs this, and `make bench` wants a machine to itself.
commands=$(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md \
  | grep -vE '^make (test|bench)\b')
[ -n "$commands" ] || { echo "README.md:1: holds no \`\`\`sh block to be run" >&2; exit 1; }

cd "$copy"
if ! bash -euo pipefail -x -c "$commands"; then
  echo "README.md: one of its commands failed, see above" >&2
  exit 1
fi
