#!/bin/sh
# Packs logitile for a machine with an NVIDIA GPU and torch, without LLVM. ./package.sh [BUILD]
# makes build/logitile-VERSION.tar.xz from a built tree (./setup.sh), of at most 40 MB. Unpack it on
# that machine and run bench/gpu_check.sh.
set -eu
cd "$(dirname "$0")"
build=${1:-build}
limit=40000000
cached() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }

if [ ! -f "$build/CMakeCache.txt" ]; then
  echo "package: $build holds no build; make one first (./setup.sh)" >&2
  exit 1
fi
ninja -C "$build" logitile_core logitile_emulator logitile-stage gpu_conformance
python=$(cached Python3_EXECUTABLE)
name=logitile-$(cached CMAKE_PROJECT_VERSION)
stage=$build/package/$name
rm -rf "$build/package"
mkdir -p "$stage/bench" "$stage/include" "$stage/test" "$stage/runtime" "$stage/compiler" "$stage/dialect"

# The package with the core, what the binding is built from, and what gpu_check.sh runs.
cp -r python "$stage"
cp -r test/conftest.py test/e2e test/python "$stage/test"
cp bench/gpu.py bench/gpu_check.sh "$stage/bench"
cp runtime/logitile.h "$build/dialect/logitile_request.h" "$stage/runtime"
cp compiler/Request.def "$stage/compiler"
cp "$build/dialect/Request.h.inc" "$stage/dialect"
cp "$build/dialect/_request.pyi" "$stage/python/logitile"
cp -r "$("$python" -c 'import pybind11; print(pybind11.get_include())')/pybind11" "$stage/include"
find "$stage" -name __pycache__ -prune -exec rm -r {} +
for file in liblogitile_core.so liblogitile_emulator.so logitile-stage; do
  cp "$build/python/logitile/$file" "$stage/python/logitile"
  strip "$stage/python/logitile/$file"
done
cp "$build/test/gpu_conformance" "$stage/test"
strip "$stage/test/gpu_conformance"

# For every Python from 3.10 on with headers: the binding, and what the tests import beside torch
# and NumPy.
pythons() { # on PATH, and of pyenv
  echo "$python"
  (IFS=:; for folder in $PATH; do find "$folder"/ -maxdepth 1 -name 'python3*' 2>/dev/null || true; done) | grep -E '/python3(\.[0-9]+)?$' || true
  find "${PYENV_ROOT:-$HOME/.pyenv}/versions/" -path '*/bin/python3' 2>/dev/null || true
}
versions() { # "3.12 /usr/bin/python3.12", one of each version
  pythons | while read -r each; do
    "$each" -c 'import os, sys, sysconfig
if sys.version_info >= (3, 10) and os.path.exists(sysconfig.get_path("include") + "/Python.h"):
    print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
  done | sort -u -k1,1
}
packages="pytest pluggy iniconfig packaging pygments pytest-xdist execnet ml_dtypes"
pinned=$("$python" -c 'import importlib.metadata, sys; print(*(f"{n}=={importlib.metadata.version(n)}" for n in sys.argv[1:]))' $packages)
versions > "$build/package/pythons"
while read -r version each; do
  CXX=$(cached CMAKE_CXX_COMPILER) "$stage/python/build_binding.sh" "$each"
  "$python" -m pip --disable-pip-version-check install -q --no-compile --no-deps --only-binary=:all: --implementation cp \
    --python-version "$version" --target "$stage/site/$version" $pinned ||
    echo "package: without pytest and ml_dtypes for Python $version, which pip does not find; the GPU machine has to have them"
done < "$build/package/pythons"

# One dictionary spans core and tests, which share most of LLVM.
tar c -C "$build/package" "$name" | xz --lzma2=preset=2,dict=64MiB > "$build/$name.tar.xz"
bytes=$(wc -c < "$build/$name.tar.xz")
echo "package: $build/$name.tar.xz: $bytes bytes, for Python $(cut -d' ' -f1 "$build/package/pythons" | tr '\n' ' ')"
if [ "$bytes" -gt $limit ]; then
  echo "package: that is more than the $limit bytes that it may have" >&2
  exit 1
fi
