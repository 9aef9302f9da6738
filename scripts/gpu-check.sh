#!/usr/bin/env bash
# Runs a bundle of scripts/gpu-bundle.sh on a machine with an NVIDIA GPU: stages with a time limit and a log each, 8 minutes
# in all, and a table whose failed rows name the call that failed and the next thing to try.
#
#   ./gpu-check.sh [--results=DIR] [--stages=NAME,...]           in the bundle's folder
#   scripts/gpu-check.sh --bundle=DIR ...                        from a checkout
#
# Needs bash and Python 3.8 or newer. ST_TORCH names a python3 with PyTorch, if the one on PATH has none.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 -B "$here/gpu_check" "$@"
