#!/usr/bin/env bash
# Every check there is, from a fresh clone and from any folder:
# Tests/run.sh [--long] [--simulate=HOURS] [lint|build|unit|tsan|package|page|e2e …]
#
# Without a part it runs all of them, the end-to-end tests last, so the output ends with the test runner's own summary.
# --long gives the random tests their full size. --simulate runs nothing but simulations, of other seeds each time.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONDONTWRITEBYTECODE=1
strict=(-Xswiftc -warnings-as-errors)
release=(-c release --static-swift-stdlib --product catwatch "${strict[@]}")
venv=.build/venv

step=
begun=$SECONDS
# Names the step that begins, and says how long the one before it took.
heading() {
    if [[ -n $step ]]; then printf -- '-- %s: %s s\n' "$step" $((SECONDS - begun)); fi
    step=$1
    begun=$SECONDS
    printf '\n== %s\n' "$step"
}

failed() {
    local status=$?
    if ((status != 0)) && [[ -n $step ]]; then printf '\nTests/run.sh: failed at: %s\n' "$step" >&2; fi
    exit "$status"
}
trap failed EXIT

# Each part needs what the ones before it made, which is there already when all are run: nothing is built twice.
debug_built=
build_debug() {
    if [[ -n $debug_built ]]; then return; fi
    heading "debug build with tests, warnings are errors"
    swift build --build-tests "${strict[@]}"
    debug_built=1
}

release_built=
build_release() {
    if [[ -n $release_built ]]; then return; fi
    heading "release build, warnings are errors"
    swift build "${release[@]}"
    CATWATCH_BINARY=$(swift build "${release[@]}" --show-bin-path)/catwatch
    export CATWATCH_BINARY
    release_built=1
}

# The program links the system's libraries and a static Swift: no Foundation, no ICU, no dynamic Dispatch.
check_linkage() {
    heading "linkage of the release build"
    local unwanted libraries symbols
    libraries=$(ldd "$CATWATCH_BINARY")
    # A check that looks at nothing must not pass.
    grep -q 'libc\.so' <<<"$libraries"
    if unwanted=$(grep -iE 'Foundation|libicu|dispatch|BlocksRuntime|libswift' <<<"$libraries"); then
        printf 'links what it must not:\n%s\n' "$unwanted" >&2
        return 1
    fi
    symbols=$(nm "$CATWATCH_BINARY")
    grep -q ' T main$' <<<"$symbols"
    # Mangled names of the modules Foundation and FoundationEssentials, and of Core Foundation's C functions.
    if unwanted=$(grep -E '[$]s(10Foundation|20FoundationEssentials)| _*CF(Runtime|String|Allocator)' <<<"$symbols"); then
        printf 'holds symbols of Foundation:\n%s\n' "$(head -5 <<<"$unwanted")" >&2
        return 1
    fi
    # String.contains(String) brings the regular expressions along: half a megabyte resident.
    if unwanted=$(grep -E '[$]s12_RegexParser' <<<"$symbols"); then
        printf 'links the regular expressions; use String.holds:\n%s\n' "$(head -3 <<<"$unwanted")" >&2
        return 1
    fi
    awk '{ print "  " $1 }' <<<"$libraries" | sort | paste -sd' ' | fold -s -w 100
}

# `swift test`, which must have run something: a filter that matches nothing is no success.
run_tests() {
    local log=.build/tests.log
    mkdir -p .build
    swift test --disable-xctest "$@" 2>&1 | tee "$log"
    if ! grep -qE 'Test run with [1-9][0-9]* tests?' "$log"; then
        echo "Tests/run.sh: not a single test was run" >&2
        return 1
    fi
}

run_lint() {
    heading "format"
    swift format lint --strict --parallel --recursive Package.swift Sources Tests
    heading "time limits of the suites"
    if grep -rn --include='*.swift' '@Suite' Tests | grep -v '@Suite(\.limited'; then
        echo "Tests/run.sh: a test of these suites that hangs would not be named: @Suite(.limited)" >&2
        return 1
    fi
    heading "bugs for the simulation"
    Tests/bugs.sh
    if command -v shellcheck >/dev/null; then
        heading "shell scripts"
        shellcheck examples/*.sh examples/fleet/*.sh examples/package/{postinst,prerm,postrm} Tests/*.sh .ci/run
    fi
}

run_build() {
    build_debug
    build_release
    check_linkage
}

# Servers of others, for the tests that want one.
use_python() {
    heading "python environment"
    Tests/venv.sh "$venv" Tests/python/requirements.txt
    export CATWATCH_PYTHON=$PWD/$venv/bin/python
}

run_tsan() {
    use_python
    heading "thread sanitizer over the unit tests"
    # Without the longest of those that have one thread: lines, numbers and documents, and no loop.
    run_tests --sanitize=thread --scratch-path .build/tsan \
        --skip 'EndToEndTests|LineBufferTests|StdinLineParserTests|JSON[A-Za-z]*Tests|ExtractionTwinTests|Config[A-Za-z]*Tests|ScreenSnapshotTests|CurlStream|WebSocketPeer|BoardTwinTests|SHA256Tests|FibonacciNumbersTests|LargeDocumentTests|aClientThatTakesNothingIsCutOff'
}

run_unit() {
    use_python
    build_debug
    heading "unit tests"
    run_tests --skip-build --skip EndToEndTests "${strict[@]}"
    if [[ -n ${CATWATCH_LONG:-} ]]; then
        heading "bugs that the simulation has to find"
        CATWATCH_LONG='' Tests/bugs.sh --long
    fi
}

run_package() {
    build_release
    heading "the Debian package, in an empty system"
    Tests/package.sh "$CATWATCH_BINARY"
}

# The page: its modules held to the vectors and to what Swift makes of feeds that nobody would think of, and all of it in
# Chromium, which leaves screenshots of every screen in .build/page.
run_page() {
    build_debug
    heading "random feeds for the page's modules"
    export CATWATCH_TWIN_FEEDS=$PWD/.build/twin-feeds
    rm -rf "$CATWATCH_TWIN_FEEDS"
    mkdir -p "$CATWATCH_TWIN_FEEDS"
    run_tests --skip-build --filter '^FeedTests\.BoardTwinTests' "${strict[@]}"
    heading "the page's modules in Node"
    timeout 120 node --test Tests/page/*.test.mjs
    heading "python environment of the page's tests"
    Tests/venv.sh .build/venv-page Tests/page/requirements.txt
    build_release
    heading "the page of $CATWATCH_BINARY in Chromium"
    .build/venv-page/bin/python -m pytest Tests/page
}

run_e2e() {
    use_python
    build_debug
    build_release
    heading "the checker of lines can fail"
    "$venv/bin/python" Tests/python/validate_lines.py --self-test
    heading "the quickstart"
    # With the flags of the build that is there already; it would be made anew without.
    SWIFT_BUILD_FLAGS="${strict[*]}" examples/quickstart.sh -n 3 -e 10ms >.build/quickstart.ndjson
    "$venv/bin/python" Tests/python/validate_lines.py --expect-bye <.build/quickstart.ndjson
    [[ $(grep -c '^{"seq".*"type":"fact"' .build/quickstart.ndjson) == 3 ]]
    heading "end-to-end tests of $CATWATCH_BINARY"
    run_tests --skip-build --filter EndToEndTests "${strict[@]}"
}

# Seeds that nobody has tried, for so many hours.
simulate() {
    local end=$((SECONDS + $1 * 3600)) first
    first=$(date +%s)0000
    build_debug
    export CATWATCH_SIMULATION_SEEDS=5000 CATWATCH_SIMULATION_FIRST
    while ((SECONDS < end)); do
        CATWATCH_SIMULATION_FIRST=$first
        heading "simulations from seed $first on"
        run_tests --skip-build --filter '^CommandTests\.SimulationTests/nothing' "${strict[@]}"
        first=$((first + CATWATCH_SIMULATION_SEEDS))
    done
}

parts=()
hours=
for argument in "$@"; do
    case $argument in
        --long) export CATWATCH_LONG=1 ;;
        --simulate=[1-9] | --simulate=[1-9][0-9]) hours=${argument#*=} ;;
        lint | build | unit | tsan | package | page | e2e) parts+=("$argument") ;;
        *)
            echo "usage: Tests/run.sh [--long] [--simulate=HOURS] [lint|build|unit|tsan|package|page|e2e …]" >&2
            exit 2
            ;;
    esac
done
if ((${#parts[@]} == 0)); then parts=(lint build tsan unit package page e2e); fi

if ! command -v swift >/dev/null; then
    echo "Tests/run.sh: swift is not on the PATH; it needs Swift 6.2 or later, https://www.swift.org/install/linux/" >&2
    exit 1
fi
examples/setup.sh build package test
if [[ -n $hours ]]; then
    simulate "$hours"
    exit
fi
for part in "${parts[@]}"; do "run_$part"; done
