#!/bin/sh
# Prepares a fresh Debian 12: installs packages, makes .venv, configures and builds. Then
# .venv/bin/python finds the package from any folder. It is safe to run again: if nothing has
# changed, it takes about a second. Arguments go to ninja. LOGITILE_REQUIREMENTS names another list
# of Python packages than requirements-dev.txt. With LOGITILE_UNITY=ON, a first build compiles
# several C++ files as one: it takes half of the time, but later edits compile more.
set -eu
cd "$(dirname "$0")"

apt_packages="libmlir-22-dev llvm-22-dev mlir-22-tools llvm-22-tools clang-22 lld-22 libclang-rt-22-dev
cmake ninja-build ccache libzstd-dev zlib1g-dev libgtest-dev xz-utils"

# The first Python from 3.10 on PATH; Debian's own where there is none.
python=
for candidate in ${LOGITILE_PYTHON:-} python3 python3.13 python3.12 python3.11 python3.10; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    python=$(command -v "$candidate")
    break
  fi
done
# The demo needs no browser; tests of the page of head.view do.
[ -n "${LOGITILE_REQUIREMENTS:-}" ] || apt_packages="$apt_packages chromium chromium-driver"
case "$python" in ''|/usr/bin/*) apt_packages="$apt_packages python3 python3-dev python3-venv" ;; esac

missing=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $apt_packages 2>/dev/null | awk -v wanted="$(echo $apt_packages)" '
  $2 == "installed" { have[$1] = 1 }
  END { n = split(wanted, name, " "); for (i = 1; i <= n; i++) if (!have[name[i]]) printf "%s ", name[i] }')
if [ -n "$missing" ]; then
  echo "setup: installing $missing; about a minute"
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get -o DPkg::Lock::Timeout=300 update -q
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $missing
fi
[ -n "$python" ] || python=/usr/bin/python3

# A torch that this Python already has is kept (it may be the right build for the machine); else
# PyPI's.
if [ ! -x .venv/bin/python ]; then
  echo "setup: creating .venv with $python"
  site=
  if "$python" -c 'import torch' 2>/dev/null; then site=--system-site-packages; fi
  "$python" -m venv $site .venv
fi
requirements=${LOGITILE_REQUIREMENTS:-requirements-dev.txt}
stamp=.venv/$(echo "$requirements" | tr / _).stamp
if ! cat bench/demo/requirements.txt "$requirements" | cmp -s - "$stamp"; then # lists begin with that of the demo
  echo "setup: installing the Python packages of $requirements; one or two minutes"
  .venv/bin/python -m pip install -q --disable-pip-version-check -r "$requirements"
  cat bench/demo/requirements.txt "$requirements" > "$stamp"
fi

# Kernels of others and their headers, for test/foreign. What the packages depend on is of no use
# there.
foreign=test/foreign/requirements.txt
if [ -z "${LOGITILE_REQUIREMENTS:-}" ] && [ -f "$foreign" ] && ! cmp -s "$foreign" .venv/foreign.stamp; then
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r "$foreign"
  cp "$foreign" .venv/foreign.stamp
fi

# What PYTHONPATH names, and an installed wheel, come before the build.
packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$PWD/build/python" > "$packages/logitile.pth"

# The kernel of a build is small, a C++ file needs up to 1 GB: one job per 2 GB, at most one per
# core.
jobs=$(awk -v cores="$(nproc)" '/MemTotal/ { n = int($2 / 2000000); if (n < 1) n = 1; print (n < cores ? n : cores) }' /proc/meminfo)
unity=${LOGITILE_UNITY:-OFF}
if [ ! -f build/build.ninja ]; then
  echo "setup: configuring the first build; all of it takes about ten minutes on two cores, the package alone seven,"
  echo "setup: and five for the demo, which compiles several files as one"
  CC=clang-22 CXX=clang++-22 cmake -G Ninja -S . -B build -DPython3_EXECUTABLE="$PWD/.venv/bin/python" -DCMAKE_UNITY_BUILD="$unity"
elif [ "$unity" = OFF ] && grep -qs '^CMAKE_UNITY_BUILD:.*=ON' build/CMakeCache.txt; then
  echo "setup: the demo compiled several files as one; each is now compiled by itself"
  cmake -DCMAKE_UNITY_BUILD=OFF build
fi
exec ninja -C build -j "$jobs" "$@"
