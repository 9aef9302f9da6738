#!/usr/bin/env bash
# Installs the dependencies, builds, and runs every test. The last line counts them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh --tests all
exec .venv/bin/python test/run.py "$@"
