#!/usr/bin/env bash
# The proof of the proof: every patch in Tests/Bugs is a bug, and the simulation has to find it.
# Tests/bugs.sh [--long [NAME ...]]
#
# Without --long it is only looked whether each still applies to the sources; with it, each is built in a copy of them and must
# make SimulationTests fail within their usual number of seeds: by what it says of one, or by ending the process in one.
# With names (of patches, without .patch) only those are looked for.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# With it, `swift test` would run nothing: see Package.swift.
unset CATWATCH_CHECKS
strict=(-Xswiftc -warnings-as-errors)
patches=(Tests/Bugs/*.patch)

if ((${#patches[@]} < 10)); then
    echo "Tests/bugs.sh: there are only ${#patches[@]} bugs" >&2
    exit 1
fi
for patch in "${patches[@]}"; do
    git apply --check "$patch" || {
        echo "Tests/bugs.sh: $patch does not apply any more: put the same bug into what the sources are now" >&2
        exit 1
    }
done
if [[ ${1:-} != --long ]]; then exit 0; fi
if (($# > 1)); then
    patches=()
    for name in "${@:2}"; do
        if [[ ! -f Tests/Bugs/$name.patch ]]; then
            echo "Tests/bugs.sh: there is no bug $name" >&2
            exit 2
        fi
        patches+=("Tests/Bugs/$name.patch")
    done
fi

# Kept from time to time, as most of it is built once.
copy=$PWD/.build/bugs
log=$PWD/.build/bugs.log
mkdir -p "$copy"
rm -rf "$copy"/{Sources,Tests}
git ls-files -z | xargs -0 cp -p --parents -t "$copy"
cd "$copy"
swift build --build-tests "${strict[@]}"
missed=()
for patch in "${patches[@]}"; do
    patch --quiet --no-backup-if-mismatch -p1 <"$patch"
    swift build --build-tests "${strict[@]}" >"$log" 2>&1 || {
        cat "$log"
        exit 1
    }
    if timeout 1800 swift test --disable-xctest --skip-build --filter '^CommandTests\.SimulationTests/nothing' \
        "${strict[@]}" >"$log" 2>&1; then
        missed+=("$patch")
        echo "$patch: not found"
    else
        # The time that a suite has is no invariant.
        found=$(grep -aoE '\bseed [0-9]+: ' "$log" | tr -d ':' | sort -n -k2 | head -1) || true
        under_way=$(grep -aoE '\bseed [0-9]+ is under way' "$log" | cut -d ' ' -f 2 | sort -n | xargs) || true
        if [[ -n $found ]]; then
            echo "$patch: found at $found"
        elif [[ -n $under_way ]]; then
            echo "$patch: found, the process ended in one of the seeds $under_way"
        else
            missed+=("$patch")
            echo "$patch: no seed is named by what failed:"
            tail -n 20 "$log"
        fi
    fi
    patch --quiet --no-backup-if-mismatch -R -p1 <"$patch"
done
if ((${#missed[@]} > 0)); then
    echo "Tests/bugs.sh: the simulation does not find ${missed[*]}" >&2
    exit 1
fi
