#!/usr/bin/env bash
# Makes all that a cluster of NATS for catwatch needs, in FOLDER: examples/fleet/cluster.sh FOLDER "SERVER …" "AGENT …"
#
# A SERVER is HOST, HOST:PORT or HOST:PORT:ROUTE, the port of the others (4222 and 6222). An AGENT is its name: ASCII letters, digits, - and _.
# Needed are openssl, Python and a catwatch on the PATH. What is there already stays, so a further agent is one more name.
#
#   FOLDER/n1 …         nats-server.conf, users.conf and the certificate of a server: goes to /etc/nats there
#   FOLDER/AGENT.nk     the seed of an agent's nkey: goes to that agent alone
#   FOLDER/reader.nk    of who reads all agents; operator.nk may do everything; tools.nk is for readers that acknowledge
#   FOLDER/ca.pem       whom to trust: goes to everybody; ca.key to nobody
#   FOLDER/stream.json  the stream, as `catwatch nats stream` has it
set -euo pipefail

usage="usage: ${0##*/} FOLDER \"HOST[:PORT[:ROUTE]] …\" \"AGENT …\""
folder=${1:?$usage}
read -ra servers <<<"${2:?$usage}"
read -ra agents <<<"${3:?$usage}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for command in catwatch openssl python3; do
    if ! command -v $command >/dev/null; then
        echo "${0##*/}: there is no $command on the PATH" >&2
        exit 1
    fi
done
umask 077
mkdir -p "$folder"
cd "$folder"

# permissions KIND NAME: those of an agent (1), or of a reader (2), of all that `catwatch nats permissions` prints.
permissions() { catwatch nats permissions --agent-name "$2" | awk -v kind="$1" '/^permissions/ { n++ } !/^#/ && n == kind'; }
user() { echo "    { nkey: $(python3 "$here/natsadmin.py" nkey "$1.nk")"; }

{
    echo "authorization {"
    echo "  users: ["
    for agent in "${agents[@]}"; do
        if [[ ! $agent =~ ^[A-Za-z0-9_-]{1,63}$ || $agent =~ ^(reader|operator|tools|ca)$ ]]; then
            echo "${0##*/}: no agent is called '$agent'" >&2
            exit 2
        fi
        user "$agent"
        permissions 1 "$agent"
        echo "    }"
    done
    user reader
    permissions 2 reader
    echo "    }"
    # Others' tools read by consumers that the operator has made, and acknowledge. Their inboxes have any name, so they hear answers to
    # agents, too: of what is in the stream, which they read anyway. No agent may have this: `*` permits what `>` stands for.
    user tools
    cat <<'END'
permissions {
  publish { allow: ["$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.CATWATCH", "$JS.API.CONSUMER.INFO.CATWATCH.*", "$JS.API.CONSUMER.MSG.NEXT.CATWATCH.*", "$JS.ACK.CATWATCH.>"] }
  subscribe { allow: ["_INBOX.>"] }
}
    }
END
    user operator
    echo "    }"
    echo "  ]"
    echo "}"
} >users.conf

routes=() names=()
for server in "${servers[@]}"; do
    IFS=: read -r host port route <<<"$server"
    routes+=("nats-route://$host:${route:-6222}")
    if [[ $host =~ ^[0-9.]+$ ]]; then kind=IP; else kind=DNS; fi
    names+=("n${#routes[@]}/server=$kind:$host")
done
bash "$here/certificates.sh" . "${names[@]}"

for number in "${!servers[@]}"; do
    name=n$((number + 1))
    IFS=: read -r host port route <<<"${servers[number]}"
    cp ca.pem users.conf "$name/"
    cat >"$name/nats-server.conf" <<END
# Run in this file's folder: STATE_DIRECTORY=/var/lib/nats nats-server -c nats-server.conf
server_name: $name
listen: "$host:${port:-4222}"
# A line of catwatch has up to 1 MiB, and headers count.
max_payload: 2MB
# At least what the stream may have, max_bytes.
jetstream { store_dir: \$STATE_DIRECTORY, max_mem: 64M, max_file: 20G }
tls { cert_file: "server.pem", key_file: "server.key" }
cluster {
  name: fleet
  listen: "$host:${route:-6222}"
  routes: [$(IFS=,; echo "${routes[*]}")]
  # Only who has a certificate of ours is one of us.
  tls { cert_file: "server.pem", key_file: "server.key", ca_file: "ca.pem", verify: true }
}
include "users.conf"
END
done
catwatch nats stream >stream.json
