"""Writes a safetensors file of random tensors: random_inputs.py FILE NAME=f32:2x3..."""

import sys

import numpy as np
from safetensors.numpy import save_file

rng = np.random.default_rng(0)
tensors = {}
for argument in sys.argv[2:]:
    name, kind = argument.split("=")
    dtype, shape = kind.split(":")
    shape = tuple(int(d) for d in shape.split("x") if d)
    values = rng.standard_normal(shape).astype(np.float32) if dtype == "f32" else rng.integers(0, 8, shape, np.int32)
    tensors[name] = np.array(values)
save_file(tensors, sys.argv[1])
