#!/usr/bin/env bash
# An authority of one's own and certificates that it vouches for: examples/fleet/certificates.sh FOLDER NAME=NAMES …
#
# NAMES are what a certificate is for, as OpenSSL has them: DNS:n1.example.org,IP:192.0.2.1. FOLDER gets ca.pem, ca.key, and of each
# NAME.pem and NAME.key, in the folder that NAME may begin with; what is there already stays. Keys are their owner's alone, and ca.key belongs on no server.
set -euo pipefail

folder=${1:?the folder}
shift
umask 077
mkdir -p "$folder"
cd "$folder"

key() { [[ -e $1 ]] || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

key ca.key
[[ -e ca.pem ]] || openssl req -x509 -key ca.key -subj "/CN=catwatch fleet" -days 3650 -out ca.pem
for one in "$@"; do
    name=${one%%=*}
    if [[ -e $name.pem ]]; then continue; fi
    mkdir -p "$(dirname "$name")"
    key "$name.key"
    openssl req -new -key "$name.key" -subj "/CN=${name##*/}" |
        openssl x509 -req -CA ca.pem -CAkey ca.key -days 825 -extfile <(echo "subjectAltName=${one#*=}") -out "$name.pem" 2>/dev/null
done
