#!/usr/bin/env bash
# Installs the dependencies, builds, compiles BERT-large (masked LM) for 4 stages
# of 8 shards on 32 simulated DTU clusters, and trains a few steps on real text.
#
#   scripts/train-bert.sh [runner flags ...]      for example --steps=20 --trace=trace.json
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

text=/usr/share/common-licenses/GPL-3   # some 35 KB of English on every Debian machine
scripts/setup.sh st-compile st-runner
build/bin/st-compile examples/models/bert-large-uncased --task=mlm --batch=1 --seq=384 \
  --parallel=examples/parallel/bert-large-dtu-4x8.json --target=dtu-t10 \
  --optimizer=adamw --lr=1e-5 -o build/bert-large-4x8
exec build/bert-large-4x8 --steps=5 --warmup=4 --data="text:$text" "$@"
