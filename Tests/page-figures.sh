#!/usr/bin/env bash
# The page's figures of docs/performance.md, with their limits: Tests/page-figures.sh [PROGRAM]
#
# Without PROGRAM it takes the release build, else the debug build. It takes about three minutes, wants a machine that does
# nothing else, and ends with 1 when a limit is missed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONDONTWRITEBYTECODE=1
if (($# > 0)); then export CATWATCH_BINARY=$1; fi
Tests/venv.sh .build/venv-page Tests/page/requirements.txt
exec .build/venv-page/bin/python Tests/page/figures.py
