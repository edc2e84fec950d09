#!/usr/bin/env bash
# Draws the pictures in README.md anew, from the program as it runs: Tests/pictures.sh [PROGRAM]
#
# They are docs/pictures/*.svg. Without PROGRAM it takes the release build, else the debug build. Values and times differ from
# run to run, and nothing else does. Needs tmux and Python, as the tests do.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${1:-}
for build in release debug; do
    if [[ -z $program && -x .build/$build/catwatch ]]; then program=.build/$build/catwatch; fi
done
if [[ -z $program ]]; then
    echo "Tests/pictures.sh: there is no build; swift build makes one" >&2
    exit 1
fi

readonly columns=80 rows=16 history=36
folder=$(mktemp -d)
# A tmux server of its own, which ends with its only session.
tmux() { command tmux -S "$folder/socket" -f /dev/null "$@"; }
tidy_up() {
    tmux kill-server 2>/dev/null || true
    rm -rf "$folder"
}
trap tidy_up EXIT

# Waits until the screen has an extended regular expression.
shown() {
    local _
    for _ in {1..300}; do
        tmux capture-pane -p >"$folder/pane"
        if grep -Eq -- "$1" "$folder/pane"; then return; fi
        sleep 0.1
    done
    echo "Tests/pictures.sh: waited in vain for $1 on:" >&2
    cat "$folder/pane" >&2
    exit 1
}

# picture NAME TITLE: the screen as it is, with its colours and without the name of this machine.
picture() {
    mkdir -p docs/pictures
    tmux capture-pane -e -p |
        python3 Tests/python/frame_svg.py $columns $rows "$2" "$(uname -n)" >docs/pictures/"$1".svg
}

export LC_ALL=C.UTF-8 TZ=UTC COLORTERM=truecolor
tmux new-session -d -x $columns -y $rows \
    "exec $(printf '%q' "$program") --demo --preset all -i 1s --history ${history}s"
shown ' Bhopal '
# A history's worth of windows.
sleep $((history + 1))
shown 'q quit'
picture list 'catwatch: the list of series'
tmux send-keys /
tmux send-keys -l delhi
shown 'filter: delhi'
tmux send-keys Enter
shown '▸ +Delhi '
tmux send-keys Enter
shown 'mean '
picture detail 'catwatch: one series'
tmux send-keys q
