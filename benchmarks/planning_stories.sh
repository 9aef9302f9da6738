#!/usr/bin/env bash
# Runs the commands of docs/planning.md and prints what they say, so that the page can be brought up to date in one go.
#
#   benchmarks/planning_stories.sh [STORY ...]     (default: all; BUILD=build)
#
# Stories: dtu, zero, bert345m, nodes175b, adam8bit. A command that fails is printed with its error and the others go on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
plan="${BUILD:-build}/bin/st-plan"
failed=0

title() { printf '\n## %s\n' "$*"; }

# Prints a command as the page has it, and of its output the first lines (all of them for 0), or those that match.
show() {
  local lines=$1
  shift
  printf '\n    build/bin/st-plan %s\n\n' "$*"
  local text
  text=$("$plan" -q "$@" 2>&1) || failed=1
  text=$(grep -v '^st-plan: note: nothing was measured' <<<"$text")
  case $lines in
  0) ;;
  *[!0-9]*) text=$(grep -E "$lines" <<<"$text") ;;
  *) text=$(head -n "$lines" <<<"$text") ;;
  esac
  sed 's/^/    /' <<<"$text"
}

# BERT-large on 32 clusters of DTU T10.
dtu() {
  title "Which layout for BERT-large on 32 clusters"
  show 12 examples/models/bert-large-uncased --cluster=dtu-t10 --devices=32 --batch=32 --seq=384
}

# The table of DeepSpeed's tuner for BERT-base on 16 V100.
zero() {
  title "DeepSpeed's ZeRO table for BERT-base"
  show 7 examples/models/bert-base-cased --deepspeed=test/Inputs/DeepSpeed/bert-base.json --cluster=v100-16 \
    --profile=deepspeed --task=span --seq=128
}

# BERT-345M from 1 to 128 A100: a log predicted, then more nodes.
bert345m() {
  title "BERT-345M from 1 to 128 GPUs"
  show 14 --lint-log=test/Inputs/Megatron/megatron-bert-345m-32gpus.log --cluster=dgx-a100-40gb
  show 9 examples/models/megatron-bert-345m --cluster=dgx-a100-40gb --precision=f16 --devices=1 --batch=8 --mb=4 --recompute=full
  show 0 examples/models/megatron-bert-345m --cluster=dgx-a100-40gb --precision=f16 --batch=32 --mb=4 --recompute=full \
    --scale=1,2,4,8,16
  show 4 test/Inputs/Megatron/megatron-bert-345m-32gpus.log --cluster=dgx-a100-40gb --shrink-to=1
}

# 175 B on nodes of four V100-32GB.
nodes175b() {
  local model=examples/models/gpt3-175b on="--cluster=v100-4x32gb --precision=f16"
  local zero3="--zero=3 --tp=1 --pp=1 --profile=deepspeed" both="--zero=0,1,2,3 --profile=megatron-deepspeed"
  title "175 B on nodes of four V100: the fewest nodes"
  for way in "$zero3" "$zero3 --offload" "--zero=0,1" "$both" "$both --offload"; do
    # shellcheck disable=SC2086
    show 3 $model $on $way --fewest-devices
  done
  title "175 B on nodes of four V100: the largest model of one node"
  for way in "$zero3" "$zero3 --offload" "--zero=0,1" "--zero=0,1 --offload"; do
    # shellcheck disable=SC2086
    show 0 $model $on $way --largest-model --nodes=1 --batch=16
  done
  title "175 B on nodes of four V100: nodes against days"
  for network in 135 400; do
    # shellcheck disable=SC2086
    show 0 $model $on --batch=1536 --recompute=full --mb=1,2 --scale=32,64,128,256 --days-for=300e9 \
      --what-if=network:${network}Gb
    # shellcheck disable=SC2086
    show 0 $model $on $zero3 --batch=1536 --scale=64,96,128,192 --days-for=300e9 --what-if=network:${network}Gb
  done
  title "The closed form"
  show 0 $model --cluster=dgx-a100-80gb --precision=f16 --nodes=128 --batch=1536 --recompute=full --mb=1,2 --tp=8 \
    --days-for=300e9 --assumed-tflops=140
}

# The 104 B tune-up from Adam to 8-bit Adam, on 32 nodes of four V100-32GB.
adam8bit() {
  local folder
  folder=$(mktemp -d)
  printf '{"model_type": "megatron-gpt", "num_layers": 64, "hidden_size": 11600, "num_attention_heads": 80, %s}\n' \
    '"max_position_embeddings": 2048, "vocab_size": 50257' >"$folder/config.json"
  title "104 B: from Adam to Adam in 8 bits"
  for way in "--tp=4 --pp=32 --dp=1 --optimizer=adam" "--tp=4 --pp=16 --dp=2 --optimizer=adam" \
    "--tp=4 --pp=16 --dp=2 --optimizer=adam-8bit"; do
    # shellcheck disable=SC2086
    show '^(layout|step|rate|memory  |[a-z]+ +[0-9]+$)' "$folder" --cluster=v100-4x32gb --precision=f16 --nodes=32 \
      --batch=2048 --mb=1 --zero=1 --recompute=full --schedule=1f1b --sequence-parallel=false $way
  done
  rm -rf "$folder"
}

if [ $# -eq 0 ]; then set -- dtu zero bert345m nodes175b adam8bit; fi
for story in "$@"; do
  case $story in
  dtu | zero | bert345m | nodes175b | adam8bit) "$story" ;;
  *)
    echo "planning_stories: no story $story: expected dtu, zero, bert345m, nodes175b or adam8bit" >&2
    exit 1
    ;;
  esac
done
exit $failed
