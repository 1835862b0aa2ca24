#!/bin/sh
# Builds the native module for one Python, beside the core: ./build_binding.sh [PYTHON [FOLDER]].
# Needs a compiler of C++20 (CXX, c++) and that Python's headers, but neither CMake nor LLVM.
# package.sh calls it in the artefact, and so may who unpacks that elsewhere; build_wheels.py names
# the folder of the core, and adds LDFLAGS.
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
folder=${2:-python/logitile}
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
if [ ! -f "$include/Python.h" ]; then
  echo "build_binding: $include/Python.h is missing; install the headers of $python (python3-dev)" >&2
  exit 1
fi
# As one file: most of the time goes into pybind11's headers.
printf '#include "%s"\n' python/bindings/*.cpp |
  "${CXX:-c++}" -std=c++20 -O2 -DNDEBUG -fstack-protector-strong -D_FORTIFY_SOURCE=2 -s -shared -fPIC -fvisibility=hidden -I. -Iinclude "-I$include" \
    -o "$folder/_native$suffix" -x c++ - -x none "-L$folder" -llogitile_core -Wl,-z,relro,-z,now '-Wl,-rpath,$ORIGIN' ${LDFLAGS:-}
echo "build_binding: $folder/_native$suffix"
