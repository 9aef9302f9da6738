"""Compares two safetensors files: compare.py EXPECTED ACTUAL [RTOL]. Prints the number of tensors that agree."""

import sys

import numpy as np
from safetensors.numpy import load_file

expected, actual = load_file(sys.argv[1]), load_file(sys.argv[2])
rtol = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
for name, value in expected.items():
    np.testing.assert_allclose(actual[name], value, rtol=rtol, atol=rtol, err_msg=name)
print(f"{len(expected)} tensors agree")
