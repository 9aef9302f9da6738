"""Records programs of torch.export and PyTorch's numbers as the references of the tests in this folder.

    python3 -m venv VENV && VENV/bin/pip install torch torchvision transformers numpy safetensors ml_dtypes
    VENV/bin/python test/e2e/torch/record_torch.py

Names of models after the command record only these; `ops` names the operators.
"""

import pathlib
import sys
import warnings

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import torch
import torchvision
import transformers
from torch_models import MODELS
from torch_numbers import record_model, record_op
from torch_ops import CASES
from torch_programs import REFERENCES, write_reference


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    REFERENCES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ["ops", *MODELS]:
        if name == "ops":
            size = write_reference("ops", {case: record_op(case, seed=0) for case in CASES})
        else:
            size = write_reference(name, record_model(name))
        print(f"{name}: {size / 1024:.0f} KiB", flush=True)
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}, transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
