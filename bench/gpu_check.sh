#!/bin/sh
# Proves logitile on a machine with an NVIDIA GPU: bench/gpu_check.sh, in the unpacked artefact of
# package.sh. Needs torch and NumPy; PYTHON names the interpreter (python3). Without a GPU it runs
# what needs none, and says what it skips. LOGITILE_TEST_FULL=1 adds the slow tests of the suites,
# up to an hour of them.
# Ends with a table of the steps; the exit status is 1 where one failed. Logs and the benchmark's
# JSON go to results/.
set -u
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1
export PYTHONPATH="$PWD/python:$PWD/site/$version${PYTHONPATH:+:$PYTHONPATH}"
export LOGITILE_BUILD="$PWD" LOGITILE_CACHE_DIR=off PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 # plugins of the machine are made for its pytest
mkdir -p results
table=results/steps
: > $table
started=$(date +%s)

note() { printf '%-8s %-40s %s\n' "$1" "$2" "$3" >> $table; echo "-- $1: $3"; }
skip() { printf '\n==== %s\n' "$1"; note skipped "$1" "$2"; }

# step NAME SECONDS COMMAND...: runs it, shows it, and keeps its last line.
step() {
  name=$1 seconds=$2
  shift 2
  printf '\n==== %s\n' "$name"
  log=results/$(echo "$name" | tr -c 'a-z0-9\n' '-').log
  { timeout "$seconds" "$@" 2>&1; echo $? > results/status; } | tee "$log"
  status=$(cat results/status)
  last=$(tail -n 1 "$log")
  case $status in
  0) note passed "$name" "$last" ;;
  124) note FAILED "$name" "stopped after $seconds s" ;;
  *) note FAILED "$name" "exit status $status: $last" ;;
  esac
}
has() { "$PYTHON" -c "import $1" 2>/dev/null; }
pytest_step() { name=$1 seconds=$2; shift 2; step "$name" "$seconds" "$PYTHON" -m pytest -q --tb=short -p no:cacheprovider -p xdist "$@"; }

printf '==== versions\n'
"$PYTHON" -c 'import sys; print("python", sys.version.split()[0])'
"$PYTHON" -c 'import torch; print("torch", torch.__version__)' 2>/dev/null || echo "torch is not there"
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
if ! ls python/logitile/_native*"$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')"* > /dev/null 2>&1; then
  step "binding for Python $version from source" 300 python/build_binding.sh "$PYTHON"
fi
step "import" 60 "$PYTHON" -c 'import logitile; from logitile import _native; print(_native.build_id(), _native.host_target())'

# A GPU is what both the driver and torch see.
gpu=$("$PYTHON" -c '
import torch
from logitile import _native
assert torch.cuda.is_available(), "torch sees no GPU"
print(_native.device_target("cuda"))' 2>&1 | tail -n 1)
case $gpu in
cuda:sm_*) echo "GPU: $gpu"; export LOGITILE_TEST_GPU=1; half="emulator and $gpu" ;;
*) no_gpu="no GPU: $gpu"; echo "$no_gpu"; gpu= half="emulator alone" ;;
esac
if [ -z "$gpu" ] && nvidia-smi -L 2> /dev/null | grep -q '^GPU'; then
  note FAILED "GPU" "nvidia-smi lists one, but $no_gpu"
fi

step "instructions, $half" 120 test/gpu_conformance --gtest_brief=1
missing=
for module in numpy torch ml_dtypes pytest xdist; do has $module || missing="$missing $module"; done
if [ -n "$missing" ]; then
  skip "exact losses" "not installed:$missing"
  skip "numbers of all suites" "not installed:$missing"
else
  workers=$(( $(nproc) < 6 ? $(nproc) : 6 ))
  suites="test/e2e/gpu/test_emulator.py test/e2e/gpu/test_warpgroups.py test/e2e/numbers/test_corners.py" seconds=400
  if [ "${LOGITILE_TEST_FULL:-0}" = 1 ]; then
    suites="$suites test/e2e/numbers/test_canaries.py test/e2e/numbers/test_chunk_parity.py" seconds=3600
  fi
  pytest_step "exact losses, $half" $seconds -n $workers test/e2e/numbers/test_same_bits.py
  if [ -n "$gpu" ]; then
    export LOGITILE_TEST_BACKEND=cuda
    pytest_step "numbers of all suites, $gpu" $seconds -n $workers $suites
    unset LOGITILE_TEST_BACKEND
  else
    skip "numbers of all suites" "$no_gpu"
  fi
fi
if [ -n "$gpu" ]; then
  step "benchmark" 600 "$PYTHON" bench/gpu.py --out results/gpu
  step "benchmark, float32" 300 "$PYTHON" bench/gpu.py --dtype float32 --seconds 60 --out results/gpu-float32 \
    --shapes 2048,768,50257 8192,4096,128256
else
  skip "benchmark" "$no_gpu"
  skip "benchmark, float32" "$no_gpu"
fi

printf '\n==== steps, %s s in all\n' $(( $(date +%s) - started ))
cat $table
! grep -q '^FAILED' $table
