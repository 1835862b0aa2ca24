#!/bin/sh
# Builds, then runs every test and adds them up. Arguments go to test/run_tests.py: --full runs the slow parts too.
set -eu
cd "$(dirname "$0")"
./setup.sh
exec .venv/bin/python test/run_tests.py "$@"
