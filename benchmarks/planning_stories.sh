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

# BERT-large on 32 clusters of DTU T10: stages and shards of four and eight.
dtu() {
  title "Which layout for BERT-large on 32 clusters"
  show 13 examples/models/bert-large-uncased --cluster=dtu-t10 --devices=32 --batch=32 --seq=384 --tp=4,8 --pp=4,8 --mb=1 \
    --zero=0 --recompute=none --schedule=1f1b --sequence-parallel=false --simulate=1
}

# The table of DeepSpeed's tuner for BERT-base on 16 V100.
zero() {
  title "DeepSpeed's ZeRO table for BERT-base"
  show 7 examples/models/bert-base-cased --deepspeed=test/Inputs/DeepSpeed/bert-base.json --cluster=v100-16 --profile=deepspeed
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

# 175 B on nodes of four V100-32GB: ZeRO-3 alone, tensor shards with stages and replicas (3D), and both.
nodes175b() {
  local model=examples/models/gpt3-175b on="--cluster=v100-4x32gb --precision=f16" network
  local zero3="--profile=deepspeed --zero=3 --tp=1 --pp=1" threed="--profile=megatron-lm --zero=0,1"
  local both="--profile=megatron-deepspeed --zero=0,1,2,3"
  # shellcheck disable=SC2086
  {
    title "175 B on nodes of four V100: what is kept of a parameter"
    show '^(parameters +[0-9]{9}|state)' $model $on $threed --nodes=64 --batch=1536 --tp=4 --mb=1 --recompute=full
    show '^(parameters +[0-9]{9}|state)' $model $on $zero3 --nodes=64 --batch=1536 --mb=1 --recompute=full
    title "175 B on nodes of four V100: the fewest nodes"
    for way in "$zero3" "$zero3 --offload" "$threed" "$threed --offload" "$both" "$both --offload"; do
      for network in 135 400; do
        show '^[0-9]+ nodes?|^tp=|tokens take' $model $on $way --fewest-devices --days-for=300e9 --what-if=network:${network}Gb
      done
    done
    title "175 B on nodes of four V100: the largest model of one node"
    for way in "$zero3" "$zero3 --offload" "$threed" "$threed --offload" "$both" "$both --offload"; do
      show 'proportions|largest that fits' $model $on $way --largest-model --nodes=1 --batch=16
    done
    title "175 B on nodes of four V100: nodes against days"
    for network in 135 400; do
      for way in "$threed --recompute=full --mb=1,2" "$zero3" "$both --recompute=full --mb=1,2"; do
        show 0 $model $on $way --batch=1536 --scale=48,64,96,128,192,256 --days-for=300e9 --what-if=network:${network}Gb
      done
    done
    title "The closed form"
    show '^(layout|rate|3e|closed|   )' $model --cluster=dgx-a100-80gb --precision=f16 --nodes=128 --batch=1536 --recompute=full \
      --mb=1,2 --tp=8 --days-for=300e9 --assumed-tflops=140
  }
}

# The 104 B tune-up from Adam to 8-bit Adam, on 32 nodes of four V100-32GB.
adam8bit() {
  title "104 B: from Adam to Adam in 8 bits"
  for way in "--pp=32 --dp=1 --optimizer=adam" "--pp=16 --dp=2 --optimizer=adam" "--pp=16 --dp=2 --optimizer=adam-8bit"; do
    # shellcheck disable=SC2086
    show '^(layout|state|step|memory  |change|[a-z]+ +[0-9]+$)' examples/models/megatron-gpt-104b --cluster=v100-4x32gb \
      --profile=megatron-deepspeed --precision=f16 --nodes=32 --batch=2048 --tp=4 --mb=1 --zero=1 --recompute=full \
      --schedule=1f1b --sequence-parallel=false $way
  done
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
