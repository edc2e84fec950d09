#!/usr/bin/env bash
# Takes the pictures of the page in docs/pictures anew, from the program as it runs: Tests/page-pictures.sh [PROGRAM]
#
# Without PROGRAM it takes the release build, else the debug build. Values and times differ from run to run, and nothing else
# does. It takes two minutes, in most of which values come.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONDONTWRITEBYTECODE=1
if (($# > 0)); then export CATWATCH_BINARY=$1; fi
Tests/venv.sh .build/venv-page Tests/page/requirements.txt
exec .build/venv-page/bin/python Tests/page/pictures.py
