#!/usr/bin/env bash
# Hours of everything at once, with faults: Tests/soak.sh HOURS [FOLDER]
#
# What catwatch holds is read every second into FOLDER/soak.csv (.build/soak), and drawn into FOLDER/soak.svg at the end. The
# program is the release build, or CATWATCH_BINARY. Exits with 1 when it holds more at the end than after five minutes (a
# tenth of the time, when that is less): 1 MiB of memory, a descriptor or a thread.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($# < 1 || $# > 2)); then
    sed -n 's/^# Hours .*: \(Tests.*\)/usage: \1/p' "$0" >&2
    exit 2
fi
exec env PYTHONDONTWRITEBYTECODE=1 python3 Tests/python/soak.py "${CATWATCH_BINARY:-.build/release/catwatch}" "$1" "${2:-.build/soak}"
