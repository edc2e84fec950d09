#!/usr/bin/env bash
# What Tests/package.sh runs in an empty Debian: /tmp/catwatch.deb is installed, tried and purged, without systemd and with
# it, and nothing of it may stay.
set -euo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root

fail() {
    echo "Tests/package-inside.sh: $*" >&2
    exit 1
}

# Every path, and what stands in the files of /etc; but what apt, dpkg, man and systemd keep for themselves.
files() {
    local kept=() path
    for path in /proc /sys /dev /tmp /var/log /var/cache/{apt,man} /var/lib/apt '/var/lib/dpkg/*-old' /run/systemd '/etc/*-'; do
        kept+=(-o -path "$path")
    done
    find / -xdev \( "${kept[@]:1}" \) -prune -o -print | sort
    find /etc -type f ! -name '*-' -exec sha256sum {} + | sort -k 2
}

# What apt says is told when it fails.
apt() {
    apt-get -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@" >/tmp/apt 2>&1 || fail "apt-get $*: $(cat /tmp/apt)"
}

# purge HOW: by `apt-get purge`, or with a removal before.
purge() {
    if [[ $1 == remove-first ]]; then
        apt remove catwatch
        [[ ! -e /usr/bin/catwatch ]] || fail "a removal leaves the program"
    fi
    apt purge catwatch
    files >/tmp/after
    diff /tmp/before /tmp/after || fail "this stayed after the purge, or went with it"
}

try() {
    catwatch --demo -e 100ms -n 3 >/tmp/lines || fail "catwatch --demo -n 3 ended with $?"
    [[ $(grep -c '^{"seq".*"type":"fact"' /tmp/lines) == 3 ]] || fail "catwatch --demo -n 3 said: $(cat /tmp/lines)"
    # What everybody has who has no configuration of their own.
    catwatch check >/dev/null 2>/tmp/warnings || fail "the configuration is wrong: $(cat /tmp/warnings)"
    man --warnings -l /usr/share/man/man1/catwatch.1.gz >/tmp/page 2>/tmp/warnings || fail "there is no manual page"
    grep -q '^SYNOPSIS' /tmp/page || fail "the manual page is: $(head -5 /tmp/page)"
    [[ ! -s /tmp/warnings ]] || fail "man says: $(cat /tmp/warnings)"
    # shellcheck disable=SC1091
    (. /usr/share/bash-completion/completions/catwatch && complete -p catwatch) >/dev/null || fail "bash completes nothing"
    grep -q '^#compdef catwatch' /usr/share/zsh/vendor-completions/_catwatch || fail "zsh completes nothing"
    grep -q '^complete -c catwatch ' /usr/share/fish/vendor_completions.d/catwatch.fish || fail "fish completes nothing"
}

# The service's configuration is everybody's: what it comes to for the unit that only reads the feed.
outputs() {
    local configuration=/etc/catwatch/config.jsonc agent status=0 command
    echo '{ "output_file": "/tmp/theirs.ndjson" }' >$configuration
    mkdir -p /run/catwatch
    catwatch --config=/dev/null --demo -q -e 100ms -o none --listen=/run/catwatch/catwatch.sock &
    agent=$!
    command=$(sed -n 's/^ExecStart=//p' /lib/systemd/system/catwatch-journal.service)
    # shellcheck disable=SC2086 # a command with its arguments
    timeout 20 $command -n 2 >/tmp/lines || status=$?
    kill $agent
    wait $agent
    rm $configuration
    rmdir /run/catwatch
    [[ $status == 0 ]] || fail "catwatch-journal ended with $status"
    [[ ! -e /tmp/theirs.ndjson ]] || fail "catwatch-journal writes to the file of the service"
}

[[ ! -e /usr/bin/systemctl && ! -e /usr/bin/systemd-sysusers ]] || fail "systemd is here already"
files >/tmp/before
apt install /tmp/catwatch.deb
try
outputs
purge at-once
echo "without systemd: installed, tried, purged"

apt install systemd
install -d -m 700 /var/lib/private
files >/tmp/before
apt install /tmp/catwatch.deb
try
getent group catwatch >/dev/null || fail "there is no group"
units=(catwatch.service catwatch.socket catwatch-journal.service)
systemd-analyze verify "${units[@]}" || fail "systemd does not take the units"
[[ -d /run/catwatch ]] || fail "nobody makes the folder of the sockets"
# It polls nobody until somebody says what: the conditions of the units, as they are written.
condition=$(sed -n 's/^ConditionPathExists=//p' /lib/systemd/system/catwatch.service)
[[ $condition == /etc/catwatch/config.jsonc && ! -e $condition ]] || fail "the service starts without a configuration"
# With what makes an agent of a fleet of it, and a fleet.
mkdir /etc/systemd/system/catwatch.service.d
for part in agent fleet; do
    cp /usr/share/doc/catwatch/examples/fleet/systemd/$part.conf /etc/systemd/system/catwatch.service.d/
    systemd-analyze verify catwatch.service || fail "systemd does not take $part.conf"
done
rm -r /etc/systemd/system/catwatch.service.d
for unit in "${units[@]}"; do
    [[ $(systemctl is-enabled "$unit") == disabled ]] || fail "$unit is enabled"
done
# One that systemd makes for as long as the service runs; without a name of its own it is called as the unit is.
user=$(sed -n 's/^User=//p' /lib/systemd/system/catwatch.service)
! getent group "${user:-catwatch}" || fail "systemd makes no user beside a group of its name that stays"
# What an administrator and the service leave.
systemctl --quiet enable "${units[@]}"
[[ -L /etc/systemd/system/multi-user.target.wants/catwatch.service ]] || fail "the service was not enabled"
mkdir /var/lib/private/catwatch
ln -s private/catwatch /var/lib/catwatch
touch /var/lib/catwatch/feed.ndjson
purge remove-first
echo "with systemd: installed, tried, enabled, removed, purged"
