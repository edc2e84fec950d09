#!/usr/bin/env bash
# Makes catwatch_VERSION_ARCHITECTURE.deb, and a tar ball of the files in it:
# examples/package.sh [--program FILE] [FOLDER]
#
# They go to FOLDER (.build/package). Without --program the release is built first; what is in examples/package/ says the
# rest. Two runs with one program and one commit make the same bytes; SOURCE_DATE_EPOCH sets another time than the
# commit's. No root is needed.
set -euo pipefail

say() { echo "package: $*" >&2; }

program=
folder=.build/package
while (($# > 0)); do
    case $1 in
        --program)
            program=$(realpath "${2:?}")
            shift
            ;;
        -*)
            echo "usage: ${0##*/} [--program FILE] [FOLDER]" >&2
            exit 2
            ;;
        *) folder=$1 ;;
    esac
    shift
done
mkdir -p "$folder"
folder=$(realpath "$folder")

cd "$(dirname "${BASH_SOURCE[0]}")/.."
examples/setup.sh package
if [[ -z $program ]]; then
    examples/setup.sh build
    swift build -c release --static-swift-stdlib --product catwatch >&2
    program=$(swift build -c release --static-swift-stdlib --show-bin-path)/catwatch
fi

export LC_ALL=C.UTF-8 TZ=UTC
umask 022
version=$("$program" --version)
version=${version#catwatch }
if [[ $(dpkg-parsechangelog -l examples/package/changelog -S Version) != "$version" ]]; then
    say "the program is $version, which has no entry at the top of examples/package/changelog"
    exit 1
fi
# dpkg-deb and gzip take no time from the clock with this.
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) ||
        SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l examples/package/changelog -S Timestamp)
fi
export SOURCE_DATE_EPOCH
name=catwatch_${version}_$(dpkg --print-architecture)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree

# put MODE PATH: standard input as a file of the package.
put() {
    mkdir -p "$tree/${2%/*}"
    cat >"$tree/$2"
    chmod "$1" "$tree/$2"
}

# protect LINKED STRIPPED: says again what is only to be read once it is linked (PT_GNU_RELRO), which strip(1) forgets when it
# leaves out a section that is loaded. In place of where the notes are (PT_NOTE), which nobody looks at in a program of ours.
protect() {
    local start size memory offset place value bytes
    read -r start size memory < <(readelf -lW "$1" | awk '$1 == "GNU_RELRO" { print $3, $5, $6 }')
    read -r offset place < <(readelf -lW "$2" | awk -v start="$start" '
        $1 == "LOAD" && $3 == start { offset = $2 }
        $1 == "NOTE" { place = n + 0 }
        /^  [A-Z]/ && $1 != "Type" { n++ }
        END { print offset, place }')
    bytes=
    # The members of an Elf64_Phdr, each with its size.
    for value in 0x6474e552:4 4:4 "$offset:8" "$start:8" "$start:8" "$size:8" "$memory:8" 1:8; do
        for ((n = 0; n < ${value#*:}; n++)); do
            bytes+=$(printf '\\x%02x' $((${value%:*} >> 8 * n & 255)))
        done
    done
    printf '%b' "$bytes" | dd of="$2" bs=1 seek=$((64 + 56 * place)) conv=notrunc status=none
    readelf -lW "$2" | grep -q 'GNU_RELRO'
}

put 755 usr/bin/catwatch <"$program"
# Nothing is thrown through frames, and nobody looks them up: there is no table of them either (Package.swift).
strip --strip-unneeded --remove-section=.comment --remove-section=.note --remove-section=.eh_frame \
    "$tree/usr/bin/catwatch"
protect "$program" "$tree/usr/bin/catwatch"
"$program" --man | gzip -9n | put 644 usr/share/man/man1/catwatch.1.gz
"$program" --completions bash | put 644 usr/share/bash-completion/completions/catwatch
"$program" --completions zsh | put 644 usr/share/zsh/vendor-completions/_catwatch
"$program" --completions fish | put 644 usr/share/fish/vendor_completions.d/catwatch.fish
# Empty: nothing is watched before somebody says what.
mkdir -p "$tree/etc/catwatch"
# Where Debian 12 wants units; what they say of an installation by hand stays behind.
for unit in examples/systemd/*.service examples/systemd/*.socket; do
    sed -n -e 's#/usr/local/bin/#/usr/bin/#' -e '/^\[Unit\]$/,$p' "$unit" | put 644 "lib/systemd/system/${unit##*/}"
done
put 644 usr/lib/sysusers.d/catwatch.conf <examples/systemd/catwatch.sysusers
put 644 usr/lib/tmpfiles.d/catwatch.conf <examples/systemd/catwatch.tmpfiles
documentation=usr/share/doc/catwatch
put 644 $documentation/copyright <examples/package/copyright
gzip -9n <examples/package/changelog | put 644 $documentation/changelog.gz
# All pages and examples, but what builds the program and the package. Pictures and decisions are for who changes it.
for file in docs/*.md; do
    gzip -9n <"$file" | put 644 "$documentation/$file.gz"
done
find docs/*.json examples -path examples/package -prune -o -type f ! -path 'examples/*.sh' -print >"$work/plain"
find examples/fleet -type f -name '*.sh' >>"$work/plain"
sort -u "$work/plain" | while read -r file; do
    put 644 "$documentation/$file" <"$file"
done

# Debian's tools say what the program depends on and how large all of it is; they look for a file debian/control.
mkdir -p "$work/debian"
cp examples/package/control "$work/debian/"
(
    cd "$work"
    mkdir tree/DEBIAN
    dpkg-shlibdeps -Tsubstvars -Stree tree/usr/bin/catwatch
    dpkg-gencontrol -Ptree -Tsubstvars -fdebian/files -l"$OLDPWD/examples/package/changelog" -O >control
    mv control tree/DEBIAN/control
)
for script in postinst prerm postrm; do put 755 DEBIAN/$script <examples/package/$script; done
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) | put 644 DEBIAN/md5sums

dpkg-deb --root-owner-group --build "$tree" "$folder/$name.deb" >/dev/null
# To be unpacked over a system by `tar -C / --strip-components 1 -xf …`. Hence only files, since tar replaces a link to a
# folder, such as /lib, by a folder of that name; and units where no link is in the way.
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -print0 | sort -z) |
    tar -C "$tree" --null -T - --transform 's#^\./lib/#./usr/lib/#' --transform "s#^\.#$name#" \
        --owner=root:0 --group=root:0 --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -c | gzip -9n >"$folder/$name.tar.gz"
say "$folder/$name.deb, $folder/$name.tar.gz"
