#!/bin/sh
# Sets everything up and trains a small model with torch's loss and with logitile's: see bench/demo/demo.py.
set -eu
cd "$(dirname "$0")"
./setup.sh
PYTHONPATH="$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}" exec .venv/bin/python bench/demo/demo.py
