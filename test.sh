#!/bin/sh
# Builds, then runs every test and prints the total. Arguments go to test/run_tests.py: --full also
# runs the slow parts.
set -eu
cd "$(dirname "$0")"
./setup.sh
exec .venv/bin/python test/run_tests.py "$@"
