#!/usr/bin/env bash
# From a fresh clone on Debian 12 with Swift to a running catwatch: installs what is missing, builds, watches a demo.
# Arguments go to catwatch: examples/quickstart.sh --every 100ms -n 20
# SWIFT_BUILD_FLAGS, words separated by blanks, go to `swift build`.
set -euo pipefail

say() { echo "quickstart: $*" >&2; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v swift >/dev/null; then
    say "swift is not on the PATH; catwatch needs Swift 6.2 or later."
    say "Get it from https://www.swift.org/install/linux/ and add its usr/bin to the PATH."
    exit 1
fi
examples/setup.sh build

# Only data goes to stdout, so that `examples/quickstart.sh | jq .` works.
say "building catwatch (the first time takes some minutes)"
read -ra flags <<<"${SWIFT_BUILD_FLAGS:-}"
swift build -c release --static-swift-stdlib --product catwatch "${flags[@]}" >&2
catwatch=$(swift build -c release --static-swift-stdlib --show-bin-path)/catwatch

# In a terminal there is something to look at: all presets, until `q`.
if (($# == 0)); then
    if [[ -t 1 ]]; then set -- --preset all; else set -- -d 15s; fi
fi
say "running: $catwatch --demo $*"
exec "$catwatch" --demo "$@"
