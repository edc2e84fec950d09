#!/usr/bin/env bash
# Installs the Debian packages that catwatch needs, those that are missing: examples/setup.sh build|package|test|bench|fleet …
# This is the one list of them. Elsewhere than on Debian and its derivatives it says what to install.
set -euo pipefail

# What a Debian 12 with nothing but the Swift toolchain lacks: to run the toolchain, to link its runtime, to link us.
build_packages=(
    ca-certificates git tzdata libncurses6 libsqlite3-0 libuuid1 libxml2
    binutils libc6-dev libstdc++-12-dev pkg-config
    libcurl4-openssl-dev libmicrohttpd-dev zlib1g-dev libsqlite3-dev libnats-dev libssl-dev
)
# What examples/package.sh calls.
package_packages=(binutils dpkg-dev)
# The servers, and what makes their certificates and keys: examples/fleet.
fleet_packages=(nats-server openssl python3)
# Python for the checks of the lines and for httpbin; nginx as a server that is not ours; what ships and reads the feed (jq, lnav,
# miller, nodejs, rsyslog); what scrapes it (prometheus, with promtool); what shows the page and what may stand in front of it
# (chromium, caddy); what it is published to; what looks at the package and makes an empty system for it (uidmap for who is not root); what sets the clock
# of a program (faketime); the rest to look from outside.
test_packages=(
    "${fleet_packages[@]}" python3-venv nginx-light curl jq lnav miller nodejs rsyslog lintian mmdebstrap uidmap procps shellcheck
    strace faketime tmux chromium caddy prometheus sqlite3
)
# The peers that catwatch-bench measures itself against.
bench_packages=(collectd-core jq libyajl2 nats-server nginx-light)

say() { echo "setup: $*" >&2; }

usage() {
    echo "usage: ${0##*/} build|package|test|bench|fleet …" >&2
    exit 2
}

# Whether dpkg has the package installed and configured.
installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

policy=/usr/sbin/policy-rc.d
made_policy=
tidy_up() {
    if [[ -n $made_policy ]]; then "${root[@]}" rm -f "$policy"; fi
}

# Tests and benchmarks start servers of their own: a package must not start one now, nor at the next boot.
install_packages() {
    root=()
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            say "neither root nor sudo; as root run: apt-get install --no-install-recommends $*"
            exit 1
        fi
        root=(sudo)
    fi
    trap tidy_up EXIT
    trap 'exit 130' INT TERM
    if [[ ! -e $policy ]]; then
        made_policy=1
        printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
        "${root[@]}" chmod 755 "$policy"
    fi
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
    # Servers that were there before are none of our business.
    local server fresh=()
    for server in nginx rsyslog caddy prometheus nats-server; do
        if ! installed "$server"; then fresh+=("$server"); fi
    done
    say "installing $*"
    "${apt[@]}" update >&2
    "${apt[@]}" install --no-install-recommends "$@" >&2
    for server in "${fresh[@]}"; do
        if ! installed "$server"; then continue; fi
        # For SysV, and for systemd where it is there.
        if [[ -e /etc/init.d/$server ]]; then "${root[@]}" update-rc.d "$server" disable >&2; fi
        if command -v systemctl >/dev/null; then "${root[@]}" systemctl disable --quiet "$server" >&2 || true; fi
    done
}

# Without apt: what has to be there by whatever way.
elsewhere() {
    local missing=() package tool library
    for library in libcurl libmicrohttpd zlib sqlite3 libnats libcrypto; do
        pkg-config --exists "$library" 2>/dev/null || missing+=("$library with its headers")
    done
    for package in "$@"; do
        tool=
        case $package in
            python3 | caddy | chromium | curl | faketime | jq | lnav | nats-server | openssl | prometheus | shellcheck | sqlite3 | strace | tmux) tool=$package ;;
            miller) tool=mlr ;;
            nodejs) tool=node ;;
            nginx-light) tool=nginx ;;
            rsyslog) tool=rsyslogd ;;
        esac
        if [[ -n $tool ]] && ! command -v "$tool" >/dev/null; then say "some checks will miss the command $tool"; fi
    done
    if ((${#missing[@]} == 0)); then return; fi
    say "this is not a Debian; install by your system's means what these Debian packages have:"
    say "  $*"
    say "not found by pkg-config: $(printf '%s, ' "${missing[@]}" | sed 's/, $//')"
    exit 1
}

main() {
    (($# > 0)) || usage
    local packages=() missing=() package
    for package in "$@"; do
        case $package in
            build) packages+=("${build_packages[@]}") ;;
            package) packages+=("${package_packages[@]}") ;;
            test) packages+=("${test_packages[@]}") ;;
            bench) packages+=("${bench_packages[@]}") ;;
            fleet) packages+=("${fleet_packages[@]}") ;;
            *) usage ;;
        esac
    done
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        elsewhere "${packages[@]}"
        return
    fi
    for package in "${packages[@]}"; do
        installed "$package" || missing+=("$package")
    done
    if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi
}

main "$@"
