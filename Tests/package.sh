#!/usr/bin/env bash
# Makes the Debian package of a release build, looks at it, installs it into an empty system and purges it there:
# Tests/package.sh PROGRAM
#
# The system is of the Debian release that this machine runs and from where this machine's apt gets it (mmdebstrap). Nothing
# of it stays.
set -euo pipefail

program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "Tests/package.sh: $*" >&2
    exit 1
}

# mmdebstrap may be another user by the time that it reads these.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

examples/package.sh --program "$program" "$work"
(umask 077 && TZ=Asia/Tokyo examples/package.sh --program "$program" "$work/again")
for file in "$work"/*.deb "$work"/*.tar.gz; do
    cmp "$file" "$work/again/${file##*/}" || fail "${file##*/} differs from run to run"
done
package=$(echo "$work"/*.deb)
lintian --fail-on error,warning "$package" || fail "lintian does not take it"
size=$(dpkg-deb -f "$package" Installed-Size)
echo "installed size: $size KiB"
# 10,240 are wanted, and missed: see docs/performance.md.
((size <= 10400)) || fail "more than it had"
# Units lie in usr/lib there; there are no folders, which are the machine's own.
diff <(dpkg-deb -c "$package" | awk '{ print $6 }' | sed -e '\#/$#d' -e 's#^\./lib/#./usr/lib/#' | sort) \
    <(tar -tf "$work"/*.tar.gz | sed -E 's#^[^/]+/#./#' | sort) || fail "the tar ball holds something else"

# All pages and examples: but for pictures, decisions, and what builds the program and the package.
missing=$(git ls-files 'docs/*.md' docs/*.json examples | grep -vE '^(docs/decisions|examples/package)/|^examples/[^/]*\.sh$' |
    sed -E 's#^(docs/.*\.md)$#\1.gz#; s#^#./usr/share/doc/catwatch/#' | sort |
    comm -3 - <(dpkg-deb -c "$package" | awk '{ print $6 }' | grep -E '/doc/catwatch/(docs|examples)/.*[^/]$' | sort))
[[ -z $missing ]] || fail "the package lacks these pages and examples, or (indented) has too many: $missing"
! dpkg-deb -c "$package" | grep ' \./etc/.*[^/]$' || fail "the package brings a configuration, with which the service would start"

# Over a system that is one already, as on every machine that a tar ball is for.
root=$work/root
mkdir -p "$root"/usr/{bin,lib} "$root/etc/catwatch"
ln -s usr/lib "$root/lib"
echo '{ "every": "1m" }' >"$root/etc/catwatch/config.jsonc"
tar -C "$root" --strip-components 1 -xf "$work"/*.tar.gz
[[ -L $root/lib ]] || fail "the tar ball puts a folder where the link /lib was"
[[ $(<"$root/etc/catwatch/config.jsonc") == '{ "every": "1m" }' ]] || fail "the tar ball overwrites a configuration"
[[ $("$root/usr/bin/catwatch" --version) == "$("$program" --version)" ]] || fail "the tar ball has another program"
for unit in examples/systemd/*.service examples/systemd/*.socket; do
    [[ -f $root/usr/lib/systemd/system/${unit##*/} ]] || fail "the tar ball has no ${unit##*/}"
done

# Only Debian's own: what is beside it in this machine's sources is none of an empty system's.
format="deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)"
apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' | sort -u >"$work/sources"
[[ -s $work/sources ]] || fail "apt knows of no Debian archive; 'apt-get update' tells it"
# Proxies and the like.
apt-config dump --format '%f "%v";%n' Acquire::http Acquire::https Acquire::Retries >"$work/apt.conf"
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
depends=$(dpkg-deb -f "$package" Depends | sed -E 's/ *\([^)]*\)//g; s/, /,/g')
# shellcheck disable=SC2016 # the hook's own argument: the root
mmdebstrap --quiet --variant=apt --format=null --include="man-db,$depends" --aptopt="$work/apt.conf" \
    --customize-hook="upload $package /tmp/catwatch.deb" \
    --customize-hook="upload Tests/package-inside.sh /tmp/inside" \
    --customize-hook='chroot "$1" bash /tmp/inside' \
    "$codename" - - <"$work/sources"
