#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer under AddressSanitizer and UBSan and runs them one after the other.
#
#   scripts/fuzz.sh SECONDS [target ...]      targets: assembly, executable, json, model-config, …
#
# Starts from test/fuzz/corpus and files of the tree (test/fuzz/inputs.py; those of `simulation` are compiled by the
# default build); new inputs go to build-fuzz/corpus/TARGET, failing inputs next to it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:?"usage: scripts/fuzz.sh SECONDS [target ...]"}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  targets=(assembly deep-speed-config executable hlo import json megatron-log model-config parallel-config program-text safetensors simulation vhlo)
fi
export CCACHE_SLOPPINESS=pch_defines,time_macros
[ -f build-fuzz/build.ninja ] || cmake --preset fuzz >/dev/null
cmake --build build-fuzz -- "${targets[@]/#/st-fuzz-}"
# MLIR and Abseil are not instrumented, so containers that cross into them look damaged, and memory that they take from an
# allocator that our code has filled looks poisoned.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0
for target in "${targets[@]}"; do
  kept=build-fuzz/corpus/$target
  seeds=()
  [ -d "test/fuzz/corpus/$target" ] && seeds=("test/fuzz/corpus/$target")
  mkdir -p "$kept"
  python3 test/fuzz/inputs.py "$target" "build-fuzz/seeds/$target"
  seeds+=("build-fuzz/seeds/$target")
  echo "fuzz: $target for $seconds s" >&2
  "build-fuzz/bin/st-fuzz-$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/$target-" "$kept" "${seeds[@]}"
done
