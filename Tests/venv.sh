#!/usr/bin/env bash
# A Python environment for tests, made anew when its requirements have changed: Tests/venv.sh FOLDER REQUIREMENTS
set -euo pipefail

folder=$1 requirements=$2
if cmp -s "$requirements" "$folder/requirements.txt"; then exit; fi
python=/usr/bin/python3
[[ -x $python ]] || python=python3
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/pip" install --disable-pip-version-check --quiet --requirement "$requirements"
cp "$requirements" "$folder/requirements.txt"
