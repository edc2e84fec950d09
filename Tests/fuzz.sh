#!/usr/bin/env bash
# Fuzzes what reads bytes from outside with libFuzzer: Tests/fuzz.sh [SECONDS, 60 by default]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
runtime=$(find "$toolchain/lib" -name 'libclang_rt.fuzzer_no_main-*.a' -print -quit)
if [[ -z $runtime ]]; then
    echo "Tests/fuzz.sh: this Swift toolchain has no libFuzzer" >&2
    exit 1
fi

export CATWATCH_FUZZ=1
build=(-c release --product catwatch-fuzz --scratch-path .build/fuzz
    -Xswiftc -sanitize=address
    -Xswiftc "-sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table"
    -Xlinker "$runtime")
swift build "${build[@]}"
corpus=.build/fuzz/corpus
mkdir -p "$corpus"
# Something of every kind to begin with.
number=0
for line in '{"since":41,"run":"ab"}' '{"replay":false}' '{"types":["latency"],"sources":["fact"]}' '{"poll":"fact"}'; do
    number=$((number + 1))
    printf '\x01%s' "$line" >"$corpus/request-$number"
done
.build/release/catwatch --demo -n 3 -i 1 -d 3s 2>/dev/null | while IFS= read -r line; do
    number=$((number + 1))
    printf '\x00%s' "$line" >"$corpus/line-$number"
    printf '\x42%s\n' "$line" >"$corpus/split-$number"
done
# The first byte: a target's number, and eight times what Fuzz.swift calls the choice.
add() {
    number=$((number + 1))
    printf "\\x$1"'%b' "$2" >"$corpus/own-$number"
}
for first in 03 13 3b 7b a3 fb; do
    add "$first" '{"k":"Ulm","a":[1,{"b":"x"}],"b":" 7 "}\n{"k":7,"a":{"1":2,"b":"\\u00e9"}}\r\n\n1e999\n"2026-01-02T03:04:05Z"'
done
add 04 '/a~1b/0\n{"a/b":[7],"a\\u002fb":8}'
add 04 '\n[]'
for first in 05 15 2d 45 8d fd; do
    add "$first" '{"d":[{"k":"x","a":[0,1],"a":2},null,"3",4],"e\\n":{"k":1,"a":{"1":"5"}}}'
done
"$(swift build "${build[@]}" --show-bin-path)/catwatch-fuzz" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 \
    -artifact_prefix=.build/fuzz/ "$corpus"
