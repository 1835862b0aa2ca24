#!/bin/sh
# Builds only the Python package, without tests, tools and emulator. Then trains a small model with
# torch's loss and with logitile's: see bench/demo/demo.py.
set -eu
cd "$(dirname "$0")"
begin=$(date +%s)
echo "demo: step 1 of 2, the package: about five minutes on two cores and 5 GB of disk the first time, seconds later"
LOGITILE_UNITY=ON LOGITILE_REQUIREMENTS=bench/demo/requirements.txt ./setup.sh _native
built=$(date +%s)
echo "demo: step 1 took $((built - begin)) s"
echo "demo: step 2 of 2, training a small model twice, with torch's loss and with logitile's: one to two minutes"
status=0
PYTHONPATH="$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}" .venv/bin/python bench/demo/demo.py || status=$?
echo "demo: step 2 took $(($(date +%s) - built)) s"
exit $status
