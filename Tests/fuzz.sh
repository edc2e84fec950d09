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
add 06 '\x89\x01a\x01\x03\xe2\x82\xac\x80\x7e\x00\x80'"$(printf 'x%.0s' {1..128})"'\x82\x00\x88\x05\x03\xe8bye'
add 0e '\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58\x88\x80\x01\x02\x03\x04'
for first in 07 0f 17; do
    add "$first" 'HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: b\r\n\r\n\x81\x00'
    add "$first" 'HTTP/1.1 503 Busy\nRetry-After: 5\n\n'
done
"$(swift build "${build[@]}" --show-bin-path)/catwatch-fuzz" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 \
    -artifact_prefix=.build/fuzz/ "$corpus"
