#!/usr/bin/env bash
# Fuzzes what reads bytes from outside with libFuzzer: Tests/fuzz.sh [SECONDS, 60 by default [TARGET]]
#
# TARGET is a number, its place in Tests/Fuzz/FuzzTarget.swift from 0; without it all of them share the time.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
if [[ -n ${2:-} ]]; then export CATWATCH_FUZZ_TARGET=$2; fi
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
    # libFuzzer itself is C++.
    -Xlinker "$runtime" -Xlinker -lstdc++)
swift build "${build[@]}"
corpus=.build/fuzz/corpus
mkdir -p "$corpus"
# Something of every kind to begin with.
number=0
for line in '{"since":41,"run":"ab"}' '{"replay":false}' '{"types":["latency"],"sources":["fact"]}' '{"poll":"fact"}'; do
    number=$((number + 1))
    printf '\x01\x00%s' "$line" >"$corpus/request-$number"
done
.build/release/catwatch --demo -n 3 -i 1 -d 3s --alert 'a: fact ms > 0' --alert 'b: fact text contains "cat"' 2>/dev/null | while IFS= read -r line; do
    number=$((number + 1))
    printf '\x00\x00%s' "$line" >"$corpus/line-$number"
    printf '\x02\x08%s\n' "$line" >"$corpus/split-$number"
    printf '\x0c\x00s~~\n%s\nk2L[\033[D\nt!\nk3\n%s\n' "$line" "$line" >"$corpus/view-$number"
done
# A target's number, and what Fuzz.swift calls the choice, both in hexadecimal.
add() {
    number=$((number + 1))
    printf "\\x$1\\x$2"'%b' "$3" >"$corpus/own-$number"
}
for choice in 00 02 07 0f 14 1f; do
    add 03 "$choice" '{"k":"Ulm","a":[1,{"b":"x"}],"b":" 7 "}\n{"k":7,"a":{"1":2,"b":"\\u00e9"}}\r\n\n1e999\n"2026-01-02T03:04:05Z"'
done
half='"\\ud83d","\\ud83d\\ude3a"' deep="$(printf '[%.0s' {1..29})1$(printf ']%.0s' {1..29})"
head='{"seq":1,"time":"2026-01-02T03:04:05Z","type":"f","source":"s","series":"s"'
for value in "[$half]" "$deep" "[$deep]" 1e309 "-17976931348623158079372897140530341507993413271003782693617377898044e241" \
    1e9223372036854775807 -10E+9223372036854775806 0.01e-9223372036854775808; do
    add 00 00 "$head,\"data\":$value,\"x\":[$half]}"
    add 03 00 "{\"d\":$value}"
    add 05 00 "{\"d\":[$value]}"
done
add 04 00 '/a~1b/0\n{"a/b":[7],"a\\u002fb":8}'
add 04 00 '\n[]'
for choice in 00 02 05 08 11 1f; do
    add 05 "$choice" '{"d":[{"k":"x","a":[0,1],"a":2},null,"3",4],"e\\n":{"k":1,"a":{"1":"5"}}}'
done
add 06 00 '\x89\x01a\x01\x03\xe2\x82\xac\x80\x7e\x00\x80'"$(printf 'x%.0s' {1..128})"'\x82\x00\x88\x05\x03\xe8bye'
add 06 01 '\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58\x88\x80\x01\x02\x03\x04'
for choice in 00 01 02; do
    add 07 "$choice" 'HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: b\r\n\r\n\x81\x00'
    add 07 "$choice" 'HTTP/1.1 503 Busy\nRetry-After: 5\n\n'
done
for line in 'hot: rooms/"a b" > 1e3 and ms not in 1s..2s for 2m until < 800 for 1s' 'all s = 1' 'any s/* text contains "\\u00e9"' \
    's p95 over 1m > 3%' 'errors over 5m > 5%' '/a~1b/0 != null' 'agent * silent 30s' 'count over 1h >= 2'; do
    add 0e 00 "$line\n$head,\"value\":1,\"data\":{\"a/b\":[2]}}"
done
about='"source":"s","about":"s/k","condition":"hot","id":"1","at":"2026-01-02T03:04:05Z","since":"2026-01-02T03:04:05Z","test":"> 5"'
alert='{"seq":7,"time":"2026-01-02T03:04:06Z","type":"alert",'$about',"evidence":{"run":"r","from":1,"to":6}'
add 00 00 "$alert"',"state":"resolved","value":-1.5e300,"op":"outside","threshold":1,"threshold_to":2,"down_s":1.5,"reason":"changed"}'
add 00 00 '{"seq":8,"time":"2026-01-02T03:04:06Z","type":"clock","source":"catwatch","step_s":-3600.5,"slept_s":7}'
hello='"format":1,"filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":1,"host":{"name":"h"}'
hello='{"type":"hello","time":"2026-01-02T03:04:05Z",'$hello',"app":{"name":"catwatch","version":"1"},"run":'
for line in 'hot: s > 1 for 5s until < 0' 'any s/* > 9' 's mean over 1m > 1' 's silent 9s'; do
    add 0f 00 "$line"'\n'"$hello"'"r"}\n'"$head"',"value":2}\n'"$alert"',"state":"firing"}\n'"$hello"'"q"}\n'"$head"',"value":-1}'
done
for file in examples/*.jsonc; do
    number=$((number + 1))
    { printf '\x08\x00' && cat "$file"; } >"$corpus/own-$number"
done
for url in 'https://me:p%40ss@h.example:8443/v1/F?key=s#top' 'ws://[2001:db8::1]:80' 'http://a/\xc3\xbc?\xc3\x9f'; do
    add 09 00 "$url"
done
add 0a 00 'X-Key: \t abc '
add 0a 01 ' abc.DEF-1_2~+/==\n'
add 0b 00 '5s\n-u\nhttp://h/\n--items=\n--key\n#\ncheck\n--explain'
add 0b 1f '-vqn3\n--listen=/x\n--connect\ntcp:h:1\n--header\nA: b\n-'
add 0d 00 'since=41&run=a-b&replay=true&types=a%2Cb,gr%C3%BCn+&sources=c'
add 0d 01 'ab12-41'
add 0d 02 '[2001:db8::1]:2287'
add 0d 02 'localhost:'
add 0d 03 'Basic eDowMTIzNDU2Nzg5YWJjZGVm'
add 0d 03 'Bearer 0123456789abcdef'
"$(swift build "${build[@]}" --show-bin-path)/catwatch-fuzz" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 \
    -artifact_prefix=.build/fuzz/ "$corpus"
