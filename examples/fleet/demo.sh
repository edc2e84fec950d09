#!/usr/bin/env bash
# A fleet on this machine, to look at: three servers of NATS, five agents, and the view over them. Every half minute the server that
# leads is killed, and comes back ten seconds later.
#
# usage: examples/fleet/demo.sh [--check]
#
# --check reads lines instead, kills once, says what came of it, and exits 1 when a line is missing, repeated or late for more than
# 60 s. Everything is in a temporary folder and on loopback; all of it ends with this script. CATWATCH_BINARY is the program,
# .build/release/catwatch without it: examples/quickstart.sh builds that.
set -euo pipefail

say() { echo "demo: $*" >&2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
check=
case ${1:-} in
    '') [[ -t 1 ]] || check=1 ;;
    --check) check=1 ;;
    *)
        echo "usage: ${0##*/} [--check]" >&2
        exit 2
        ;;
esac
program=${CATWATCH_BINARY:-$here/../../.build/release/catwatch}
if [[ ! -x $program ]]; then
    say "there is no $program; examples/quickstart.sh builds it"
    exit 1
fi
"$here/../setup.sh" fleet

folder=$(mktemp -d "${TMPDIR:-/tmp}/catwatch-demo-XXXXXX")
# All that runs, by its process: what is killed here leaves it.
declare -A running=()
tidy_up() {
    local status=$? pid
    trap - EXIT
    local keep=
    if ((status != 0 && status < 128)); then
        keep=1
        say "the files are in $folder"
    fi
    # The shell has words for each that is killed.
    exec 2>/dev/null
    for pid in "${!running[@]}"; do kill -KILL "$pid" || true; done
    wait || true
    if [[ -z $keep ]]; then rm -rf "$folder"; fi
    exit "$status"
}
trap tidy_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# As `catwatch` for cluster.sh, whatever the program's file is called.
mkdir "$folder/bin"
ln -s "$(realpath "$program")" "$folder/bin/catwatch"
PATH=$folder/bin:$PATH
cd "$folder"

agents=(web1 web2 web3 db1 db2)
read -ra ports <<<"$("$here/natsadmin.py" ports 6)"
addresses=("127.0.0.1:${ports[0]}" "127.0.0.1:${ports[1]}" "127.0.0.1:${ports[2]}")
"$here/cluster.sh" . "${addresses[0]}:${ports[3]} ${addresses[1]}:${ports[4]} ${addresses[2]}:${ports[5]}" "${agents[*]}"

declare -A server_pid=()
start_server() {
    # shellcheck disable=SC2030 # for the server alone
    (cd "$1" && STATE_DIRECTORY=$PWD exec nats-server -c nats-server.conf >>log 2>&1) &
    server_pid[$1]=$!
    running[$!]=1
}
ask() {
    local all
    all=$(IFS=, && echo "${addresses[*]}")
    "$here/natsadmin.py" ask "$all" "$1" --ca ca.pem --nkey operator.nk
}
# A quarter of a gigabyte is enough for a demo.
say "three servers in $folder"
for name in n1 n2 n3; do start_server "$name"; done
# shellcheck disable=SC2016 # $JS is a subject
sed -i 's/"max_bytes": [0-9]*/"max_bytes": 268435456/' stream.json && ask '$JS.API.STREAM.CREATE.CATWATCH' <stream.json >created
# shellcheck disable=SC2016
leader() { ask '$JS.API.STREAM.INFO.CATWATCH' </dev/null | sed -n 's/.*"leader": "\([^"]*\)".*/\1/p'; }

# configuration FILE KEY: one of the examples with the addresses and files of this cluster.
configuration() {
    sed -e "s#n1.example.org:4222#${addresses[0]}#; s#n2.example.org:4222#${addresses[1]}#; s#n3.example.org:4222#${addresses[2]}#" \
        -e "s#/run/credentials/catwatch.service/nkey#$folder/$2.nk#; s#/etc/catwatch/nats-ca.pem#$folder/ca.pem#" \
        -e "s#/var/lib/catwatch/#$folder/#g; s#127.0.0.1:2287#127.0.0.1:0#" "$here/$1"
}
watching=()
for agent in "${agents[@]}"; do
    configuration agent.jsonc "$agent" >"$agent.jsonc"
    catwatch -c "$agent.jsonc" --agent-name "$agent" --demo -e 200ms -o none -q --output-file "$agent.ndjson" 2>"$agent.log" &
    running[$!]=1
    watching+=("$!")
done
configuration fleet.jsonc reader >view.jsonc

# When each agent last said something, by the lines of the fleet that have come so far.
fresh() {
    local agent
    for agent in "${agents[@]}"; do
        # A line's time is its second key, so words can be compared.
        awk -v since="$1" -F '"' '$4 == "time" && $6 > since { found = 1 } END { exit !found }' \
            < <(tac fleet.ndjson | grep -m 1 -F "\"agent\":\"$agent\",\"origin_run\":") || return 1
    done
}
# wait_for SECONDS WHAT COMMAND …
wait_for() {
    local limit=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        if ((SECONDS >= limit)); then
            say "waited in vain for $what"
            return 1
        fi
        sleep 0.2
    done
}
now() { date -u +%FT%T.%6NZ; }
kill_server() {
    kill -KILL "${server_pid[$1]}"
    wait "${server_pid[$1]}" 2>/dev/null || true
    unset "running[${server_pid[$1]}]"
}

if [[ -z $check ]]; then
    # The view has the terminal, and this script goes on behind it.
    exec 3<&0
    catwatch -c view.jsonc <&3 2>fleet.log &
    view=$!
    running[$view]=1
    victim='' told=()
    next=$((SECONDS + 30))
    while kill -0 $view 2>/dev/null; do
        sleep 0.2
        if ((SECONDS < next)); then continue; fi
        if [[ -z $victim ]]; then
            victim=$(leader) || continue
            kill_server "$victim"
            told+=("$(date +%T) killed $victim, which led")
            next=$((SECONDS + 10))
        else
            start_server "$victim"
            told+=("$(date +%T) started $victim again")
            victim=''
            next=$((SECONDS + 20))
        fi
    done
    for line in "${told[@]}"; do say "$line"; done
    cat fleet.log >&2
    wait $view
    exit
fi

catwatch -c view.jsonc -o ndjson -q >fleet.ndjson 2>fleet.log &
fleet=$!
running[$fleet]=1
wait_for 30 "lines of five agents" fresh 0
sleep 3
victim=$(leader)
begin=$SECONDS moment=$(now)
kill_server "$victim"
say "killed $victim, which led"
wait_for 60 "lines after that" fresh "$moment"
pause=$((SECONDS - begin))
start_server "$victim"
sleep 3

# What the agents said themselves, up to their end, against what came over the servers; windows are the fleet's own.
kill -TERM "${watching[@]}"
for pid in "${watching[@]}"; do
    wait "$pid" || say "an agent ended with $?"
    unset "running[$pid]"
done
for agent in "${agents[@]}"; do
    sed -nE 's/^\{"seq":([0-9]+),"time":"[^"]*","type":"([^"]*)".*/\1 \2/p' "$agent.ndjson" |
        awk -v agent="$agent" '$2 != "window" { print agent, $1 }'
done | sort >said
arrived() {
    sed -nE 's/.*,"agent":"([^"]*)","origin_run":"[^"]*","origin_seq":([0-9]+)(,"origin_[a-z]*":[^,]*)*\}$/\1 \2/p' fleet.ndjson >came
    sort came | uniq | comm -23 said - >missing
    [[ ! -s missing ]]
}
wait_for 20 "the last lines" arrived || true
kill -TERM $fleet
wait $fleet || say "the fleet ended with $?"
unset "running[$fleet]"
arrived || true
repeated=$(awk '$2 <= last[$1] { n++ } { last[$1] = $2 } END { print n + 0 }' came)
lost=$(grep -c '^{"seq":[0-9]*,"time":"[^"]*","type":"lost"' fleet.ndjson || true)
echo "$(wc -l <came) lines of ${#agents[@]} agents; $victim was killed, and nothing came for up to $pause s:" \
    "$(wc -l <missing) missing, $repeated repeated or out of order, $lost named as lost"
[[ ! -s missing && $repeated == 0 && $lost == 0 && -s came ]]
