#!/usr/bin/env bash
# readme.sh copy: makes a fresh copy of what is tracked, in .build/readme. It keeps its build products, so
#   that a second run is quick.
# readme.sh run: runs every command of the README in that copy, in order, then those of the examples': what
#   ```sh blocks hold is promised to work.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=.build/readme

if [ "$1" = copy ]; then
  mkdir -p "$copy"
  find "$copy" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard --deduplicate \
    | while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done \
    | tar --create --null --files-from=- | tar --extract --directory "$copy"
  exit
fi

# run_commands FOLDER: those of the folder's README. `make test` is what runs this, and `make bench` and
# `make long` want a machine to themselves. `make long` runs `swift test`, too, which
# would build all of Sprocket again.
run_commands() {
  local commands
  commands=$(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$1/README.md" \
    | grep -vE '^make (test|bench|long)\b|^swift test\b')
  [ -n "$commands" ] || { echo "$1/README.md:1: holds no \`\`\`sh block to be run" >&2; exit 1; }
  if ! (cd "$1" && bash -euo pipefail -x -c "$commands"); then
    echo "$1/README.md: one of its commands failed, see above" >&2
    exit 1
  fi
}

# Examples are packages of their own, each of which would build Sprocket anew. Here they take what `make
# examples` has built, with its flags, which `swift run` does not know. Exported to the shells that run the
# commands: `swift build -c release` and `swift run -c release NAME ...`.
swift() {
  local flags build="${PWD%/Examples/*}/.build"
  eval "flags=($RELEASE)"
  case "$PWD $*" in
    */Examples/*" build -c release" | */Examples/*" run -c release "*) ;;
    *)
      command swift "$@"
      return ;;
  esac
  # See `make examples`.
  rm -f "$build/release.yaml"
  SWIFTPM_BUILD_DIR=$build command swift build "${flags[@]}" || { rm -f "$build/release.yaml"; return 1; }
  rm -f "$build/release.yaml"
  [ "$1" = build ] || "$build/release/$4" "${@:5}"
}
export -f swift

# compile_documents FILE...: every ```swift block, as the body of a function in a package like the example's.
compile_documents() {
  local package=Examples/Documents
  mkdir -p "$package/Sources"
  sed 's/.*"SprocketStages".*/&\n        .product(name: "SprocketCommandLine", package: "sprocket"),\n'\
'        .product(name: "SprocketTesting", package: "sprocket"),\n'\
'        .product(name: "SprocketCapture", package: "sprocket"),/' \
    Examples/Program/Package.swift >"$package/Package.swift"
  awk '
    /^import / && inside { if (!seen[$0]++) imports = imports $0 "\n"; next }
    /^```swift$/ { inside = 1; printf "func block%d() async throws {\n", ++count; next }
    /^```$/ && inside { inside = 0; print "}"; next }
    inside
    END { print imports }
  ' "$@" >"$package/Sources/main.swift"
  (cd "$package" && swift build -c release)
}

cd "$copy"
RELEASE=$(make --silent flags)
SWIFT_EXEC=$(Tools/toolchain .build/toolchain)
export RELEASE SWIFT_EXEC
run_commands .
compile_documents README.md docs/library.md docs/sources.md docs/stages.md docs/cameras.md docs/several.md \
  docs/capture.md
for example in Examples/*/README.md; do run_commands "${example%/README.md}"; done
