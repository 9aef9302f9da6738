#!/usr/bin/env bash
# Makes a folder for scripts/gpu-check.sh, on a machine without a GPU: programs with cubins and PTX, inputs, expected outputs.
#
#   scripts/gpu-bundle.sh [DIR] [--help]
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/../.venv/bin/python" -B "$here/gpu_bundle" "$@"
