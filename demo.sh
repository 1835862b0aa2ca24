#!/bin/sh
# Builds the package alone, without tests and tools, and trains a small model with torch's loss and with logitile's: see
# bench/demo/demo.py.
set -eu
cd "$(dirname "$0")"
echo "demo: building the package; up to ten minutes on two cores and 5 GB of disk the first time, seconds later"
./setup.sh _native
echo "demo: training a small model twice, with torch's loss and with logitile's; one to two minutes"
PYTHONPATH="$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}" exec .venv/bin/python bench/demo/demo.py
