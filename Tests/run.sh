#!/usr/bin/env bash
# The checks, from a fresh clone and from any folder: see `Tests/run.sh --help`.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'TEXT'
usage: Tests/run.sh [--long] [--simulate=HOURS] [lint|unit|page|e2e|threads|package …]

One debug build with tests, and everything by default on it:

lint      format of files changed in the last hundred commits or not committed, shell scripts, the table of bounds, the patches of
          Tests/Bugs
unit      the unit tests
page      the page's modules in Node, the page in Chromium
e2e       the end-to-end tests of the built program
threads   code with more than one thread, under Thread Sanitizer: not by default. Run it when such code changed
package   the Debian package, installed into an empty system: not by default

Without a part: lint, then unit, e2e and page side by side.
--long    all parts at full length, once an issue: format of all files; a release build with examples/quickstart.sh, its linkage,
          the benchmark, and the end-to-end tests on it too; package; Thread Sanitizer over all unit tests; 50,000 simulated worlds and each patch
          of Tests/Bugs found by them; kills of a journal's agent; trials with a broker and kills of its leader; full sizes of the
          random tests; all of the page's tests, with screenshots in both themes on a desktop and a phone
--simulate=HOURS    nothing but simulated worlds, other ones each time

The tests of a process in which none has begun or ended for three minutes (an hour with --long) have failed; they are named.
A process is ended after 20 failures, as one fault may make many tests wait until their limits.
Logs are in .build/tests.
TEXT
}
export PYTHONDONTWRITEBYTECODE=1
# Without debug information, and without an index: they take a quarter of a build's time. See also Package.swift.
export CATWATCH_CHECKS=1
strict=(-Xswiftc -warnings-as-errors -Xswiftc -gnone --disable-index-store)
venv=.build/venv
cores=$(nproc)
stalled=180

step=
begun=$SECONDS
# Names the step that begins, and says how long the one before it took.
heading() {
    if [[ -n $step ]]; then printf -- '-- %s: %s s\n' "$step" $((SECONDS - begun)); fi
    step=$1
    begun=$SECONDS
    printf '\n== %s\n' "$step"
}

aside=()
finish() {
    local status=$?
    if ((${#aside[@]} > 0)); then kill -- "${aside[@]/#/-}" 2>/dev/null || true; fi
    if ((status != 0)) && [[ -n $step ]]; then printf '\nTests/run.sh: failed at: %s\n' "$step" >&2; fi
    exit "$status"
}
trap finish EXIT

# Each part needs what the ones before it made, which is there already when all are run: nothing is built twice.
debug_built=
build_debug() {
    if [[ -n $debug_built ]]; then return; fi
    heading "debug build with tests, warnings are errors"
    swift build --build-tests "${strict[@]}"
    CATWATCH_BINARY=$PWD/.build/debug/catwatch
    export CATWATCH_BINARY
    debug_built=1
}

# The release build is what the quickstart makes.
release=$PWD/.build/release/catwatch
release_built=
build_release() {
    if [[ -n $release_built ]]; then return; fi
    heading "release build by the quickstart"
    env -u CATWATCH_CHECKS examples/quickstart.sh -n 3 -e 10ms >.build/quickstart.ndjson
    "$venv/bin/python" Tests/python/validate_lines.py --expect-bye <.build/quickstart.ndjson
    [[ $(grep -c '^{"seq".*"type":"fact"' .build/quickstart.ndjson) == 3 ]]
    check_linkage
    heading "release build of the benchmark"
    env -u CATWATCH_CHECKS swift build -c release --static-swift-stdlib --product catwatch-bench -Xswiftc -warnings-as-errors
    release_built=1
}

# The program links the system's libraries and a static Swift: no Foundation, no ICU, no dynamic Dispatch.
check_linkage() {
    heading "linkage of the release build"
    local unwanted libraries symbols
    libraries=$(ldd "$release")
    # A check that looks at nothing must not pass.
    grep -q 'libc\.so' <<<"$libraries"
    if unwanted=$(grep -iE 'Foundation|libicu|dispatch|BlocksRuntime|libswift' <<<"$libraries"); then
        printf 'links what it must not:\n%s\n' "$unwanted" >&2
        return 1
    fi
    symbols=$(nm "$release")
    grep -q ' T main$' <<<"$symbols"
    # Mangled names of the modules Foundation and FoundationEssentials, and of Core Foundation's C functions.
    if unwanted=$(grep -E '[$]s(10Foundation|20FoundationEssentials)| _*CF(Runtime|String|Allocator)' <<<"$symbols"); then
        printf 'holds symbols of Foundation:\n%s\n' "$(head -5 <<<"$unwanted")" >&2
        return 1
    fi
    awk '{ print "  " $1 }' <<<"$libraries" | sort | paste -sd' ' | fold -s -w 100
}

# Runs test targets of a build, each in a process of its own: run_tests FOLDER [OPTION …] TARGET …
run_tests() {
    local bundle=$1/debug/catwatchPackageTests.xctest
    python3 Tests/python/run_targets.py "$bundle" --stalled "$stalled" "${@:2}"
}

# The Swift files whose format is checked, each ended by a NUL: those that changed, or all.
swift_files() {
    if [[ -n ${CATWATCH_LONG:-} ]] || ! git rev-parse --quiet --verify HEAD~100 >/dev/null; then
        find Package.swift Sources Tests -name '*.swift' -print0
    else
        git diff -z --name-only --diff-filter=d HEAD~100 -- '*.swift'
        git ls-files -z --others --exclude-standard -- '*.swift'
    fi
}

run_lint() {
    heading "format"
    swift_files | xargs -0 -r -n 40 -P "$cores" swift format lint --strict
    heading "what runs the tests can fail"
    python3 Tests/python/run_targets_test.py
    heading "time limits of the suites"
    if grep -rn --include='*.swift' '@Suite' Tests | grep -v '@Suite(\.limited'; then
        echo "Tests/run.sh: a test of these suites that hangs would not be named: @Suite(.limited)" >&2
        return 1
    fi
    heading "the table of bounds"
    python3 Tests/python/bounds.py --check
    heading "bugs for the simulation"
    Tests/bugs.sh
    if command -v shellcheck >/dev/null; then
        heading "shell scripts"
        shellcheck examples/*.sh examples/fleet/*.sh examples/package/{postinst,prerm,postrm} Tests/*.sh .ci/run
    fi
}

# Servers of others, for the tests that want one.
use_python() {
    heading "python environment"
    Tests/venv.sh "$venv" Tests/python/requirements.txt
    export CATWATCH_PYTHON=$PWD/$venv/bin/python
}

make_environments() {
    Tests/venv.sh "$venv" Tests/python/requirements.txt
    Tests/venv.sh .build/venv-page Tests/page/requirements.txt
}

# Every target but the end-to-end tests.
unit_targets() { find Tests -mindepth 1 -maxdepth 1 -name '*Tests' ! -name EndToEndTests -printf '%f\n' | sort; }

run_unit() {
    use_python
    build_debug
    heading "unit tests"
    local targets
    mapfile -t targets < <(unit_targets)
    # One that waits leaves its core to another.
    run_tests .build --at-once $((cores + 1)) "${targets[@]}"
    if [[ -n ${CATWATCH_LONG:-} ]]; then
        heading "bugs that the simulation has to find"
        CATWATCH_LONG='' Tests/bugs.sh --long
    fi
}

# Each process runs one test at a time: many at once queue for a lock of Swift's runtime, for minutes.
run_threads() {
    use_python
    local targets
    if [[ -n ${CATWATCH_LONG:-} ]]; then
        heading "build of all unit tests for Thread Sanitizer"
        swift build --build-tests --sanitize=thread --scratch-path .build/threads-long "${strict[@]}"
        heading "Thread Sanitizer, all unit tests"
        mapfile -t targets < <(unit_targets)
        run_tests .build/threads-long --at-once "$cores" --logs .build/tests/threads "${targets[@]}"
    else
        # Package.swift says which tests these are.
        export CATWATCH_THREADS=1
        heading "build for Thread Sanitizer, of code with more than one thread"
        swift build --build-tests --sanitize=thread --scratch-path .build/threads "${strict[@]}"
        heading "Thread Sanitizer"
        mapfile -t targets < <(swift package --scratch-path .build/threads describe --type json |
            python3 -c 'import json, sys; print(*(t["name"] for t in json.load(sys.stdin)["targets"] if t["name"].endswith("Tests")), sep="\n")')
        run_tests .build/threads --at-once "$cores" --logs .build/tests/threads "${targets[@]}"
    fi
}

run_package() {
    use_python
    build_release
    heading "the Debian package, in an empty system"
    Tests/package.sh "$release"
}

# The page: its modules held to the vectors, and all of it in Chromium, which leaves screenshots in .build/page.
run_page() {
    build_debug
    heading "random feeds for the page's modules"
    export CATWATCH_TWIN_FEEDS=$PWD/.build/twin-feeds
    rm -rf "$CATWATCH_TWIN_FEEDS"
    mkdir -p "$CATWATCH_TWIN_FEEDS"
    run_tests .build --logs .build/tests/page FeedTests.BoardTwinTests
    heading "the page's modules in Node"
    node --test --test-timeout=60000 Tests/page/*.test.mjs
    heading "python environment of the page's tests"
    Tests/venv.sh .build/venv-page Tests/page/requirements.txt
    heading "the page of $CATWATCH_BINARY in Chromium"
    .build/venv-page/bin/python -m pytest Tests/page
}

run_e2e() {
    use_python
    build_debug
    heading "the checker of lines can fail"
    "$venv/bin/python" Tests/python/validate_lines.py --self-test
    heading "end-to-end tests of $CATWATCH_BINARY"
    # They mostly wait.
    run_tests .build --width $((cores * 4)) EndToEndTests
    if [[ -n ${CATWATCH_LONG:-} ]]; then
        build_release
        heading "end-to-end tests of $release"
        CATWATCH_BINARY=$release run_tests .build --width $((cores * 4)) --logs .build/tests/release EndToEndTests
    fi
}


# Runs groups of parts at the same time, those of a group one after the other: the output of those that failed comes last.
side_by_side() {
    local group part parts log logs=() index missed=()
    heading "side by side: $(IFS='|' && echo "$*")"
    mkdir -p .build/tests
    # Each has a process group of its own, which ends when this ends.
    set -m
    for group in "$@"; do
        log=.build/tests/run-${group// /-}.log
        logs+=("$log")
        read -ra parts <<<"$group"
        (
            step=
            # End-to-end tests wait for much, and take longest when nothing waits for them.
            if [[ $group != e2e ]]; then renice -n 5 -p "$BASHPID" >/dev/null; fi
            for part in "${parts[@]}"; do "run_$part"; done
            heading "$group: done"
        ) >"$log" 2>&1 </dev/null &
        aside+=($!)
    done
    set +m
    for index in "${!logs[@]}"; do
        if wait "${aside[index]}"; then cat "${logs[index]}"; else missed+=("${logs[index]}"); fi
    done
    aside=()
    if ((${#missed[@]} > 0)); then
        cat "${missed[@]}"
        echo "Tests/run.sh: failed, see ${missed[*]}" >&2
        grep -hE '^(✘|FAILED|not ok)' "${missed[@]}" >&2 || true
        return 1
    fi
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
        stalled=3600 run_tests .build --width "$cores" CommandTests.SimulationTests
        first=$((first + CATWATCH_SIMULATION_SEEDS))
    done
}

parts=()
hours=
for argument in "$@"; do
    case $argument in
        --long)
            export CATWATCH_LONG=1
            stalled=3600
            ;;
        --simulate=[1-9] | --simulate=[1-9][0-9]) hours=${argument#*=} ;;
        lint | unit | page | e2e | threads | package) parts+=("$argument") ;;
        --help)
            usage
            exit
            ;;
        *)
            usage >&2
            exit 2
            ;;
    esac
done

if ! command -v swift >/dev/null; then
    echo "Tests/run.sh: swift is not on the PATH; it needs Swift 6.2 or later, https://www.swift.org/install/linux/" >&2
    exit 1
fi
examples/setup.sh build package test
if [[ -n $hours ]]; then
    simulate "$hours"
elif ((${#parts[@]} > 0)); then
    for part in "${parts[@]}"; do "run_$part"; done
else
    # This waits for the network.
    make_environments &
    run_lint
    build_debug
    wait $!
    # End-to-end tests and page mostly wait.
    if [[ -n ${CATWATCH_LONG:-} ]]; then
        run_unit
        run_threads
        run_e2e
        run_page
        run_package
    else
        side_by_side unit e2e page
    fi
fi
