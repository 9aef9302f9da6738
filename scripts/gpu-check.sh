#!/usr/bin/env bash
# Checks on a GPU what the tests check without one, and times training steps there.
#
#   scripts/gpu-check.sh
#
# Needs an NVIDIA GPU of compute capability 8.0 or more with its driver, and cuBLASLt. Takes the build in ./build where
# there is one, made here or carried from another machine, and sets up what is missing otherwise. Programs are compiled for
# the newest target that the GPU runs; ranks share the GPUs that there are. Prints a table last; exit code 1 where a check
# failed. compute-sanitizer is left out where it is not installed, and the table says so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "gpu-check: $*" >&2; }

gpu=$(nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null | head -1)
[ -n "$gpu" ] || { say "error: nvidia-smi finds no GPU"; exit 1; }
capability=${gpu##*, }
case $capability in
  8.*) ST_GPU=cuda-sm_80 ;;
  9.* | [1-9][0-9].*) ST_GPU=cuda-sm_90 ;;
  *) say "error: ${gpu%, *} has compute capability $capability; 8.0 is needed"; exit 1 ;;
esac
export ST_GPU ST_ALL=1

if ! build/bin/st-compile --help >/dev/null 2>&1 || ! .venv/bin/python -c "import numpy, safetensors" 2>/dev/null; then
  scripts/setup.sh --tests st-compile st-runner st-opt st-translate st-differential || exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=() failed=0

# check NAME SECONDS COMMAND...: the last line that it prints goes into the table.
check() {
  local name=$1 limit=$2 begin=$SECONDS code=0
  shift 2
  say "$name"
  timeout "$limit" "$@" >"$work/log" 2>&1 || code=$?
  local result
  result=$(grep -v '^$' "$work/log" | tail -1)
  if [ $code -ne 0 ]; then
    failed=1
    tail -20 "$work/log" >&2
    result="FAILED (exit $code): $result"
  fi
  rows+=("$(printf '%-28s %4d s  %s' "$name" $((SECONDS - begin)) "${result:0:150}")")
}

# step NAME FLAGS...: compiles BERT-large and trains eight steps of it; the loss and time of the last.
step() {
  local name=$1
  shift
  check "$name" 150 bash -c '
    build/bin/st-compile examples/models/bert-large-uncased --target="$ST_GPU" -o "$0" "${@}" 2>/dev/null &&
    "$0" --steps=8 2>/dev/null | grep "^step 8"' "$work/bert" "$@"
}

check "conformance" 240 .venv/bin/python test/e2e/test_cuda_conformance.py
check "training, ranks on one GPU" 240 .venv/bin/python test/e2e/test_cuda_training.py
if command -v compute-sanitizer >/dev/null; then
  cat >"$work/config.json" <<'JSON'
{"model_type": "gpt2", "vocab_size": 64, "n_embd": 64, "n_head": 2, "n_layer": 1, "n_positions": 32}
JSON
  mkdir "$work/small" && mv "$work/config.json" "$work/small/"
  check "small model compiles" 60 build/bin/st-compile "$work/small" --task=clm --batch=2 --seq=32 --target="$ST_GPU" \
    -o "$work/small.bin"
  check "compute-sanitizer" 120 compute-sanitizer --error-exitcode=1 "$work/small.bin" --steps=1
else
  rows+=("compute-sanitizer            is not installed")
fi
echo '{"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}' >"$work/bf16.json"
for batch in 8 32; do
  step "BERT-large, bf16, $batch x 512" --task=mlm --batch=$batch --seq=512 --parallel="$work/bf16.json"
done
step "BERT-large, bf16, 1 x 384" --task=span --batch=1 --seq=384 --parallel="$work/bf16.json"
step "BERT-large, 8 x 4" --task=span --batch=1 --seq=384 --parallel=examples/parallel/bert-large-gpu-8x4.json

# PyTorch and JAX where they are; ST_TORCH names a Python with PyTorch for GPUs.
if "${ST_TORCH:-.venv/bin/python}" -c "import torch" 2>/dev/null; then
  timeout 120 .venv/bin/python benchmarks/gpu_step.py --target="$ST_GPU" --sizes=8x512 --rounds=1 --losses=0 \
    --torch-python="${ST_TORCH:-.venv/bin/python}" || failed=1
else
  rows+=("benchmarks/gpu_step.py       no PyTorch: ST_TORCH names a Python that has it")
fi

echo "$(date +%F)  ${gpu%, *}, sm_${capability/./}, compiled for ${ST_GPU#cuda-}, ${SECONDS} s"
printf '%s\n' "${rows[@]}"
exit $failed
