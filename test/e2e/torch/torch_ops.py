"""A module around one function, its program, and PyTorch's numbers. Needs PyTorch."""

import random
import zlib

import numpy as np
import torch

from torch_op_cases import CASES

# Numbers of 16 bits as f32, which NumPy has.
HALVES = (torch.bfloat16, torch.float16)


class Op(torch.nn.Module):
    """The weighted sum of the results of `function`, and the results. Float inputs are parameters x0, x1, …."""

    def __init__(self, function, inputs):
        super().__init__()
        self.function, self.inputs = function, []
        for i, value in enumerate(inputs):
            isfloat = value.is_floating_point() and value.dtype == torch.float32
            self.inputs.append(f"x{i}" if isfloat else None)
            if isfloat:
                self.register_parameter(f"x{i}", torch.nn.Parameter(value))
        self.factor = torch.nn.Parameter(torch.tensor(1.5))

    def forward(self, *batch):
        batch = iter(batch)
        results = self.function(*(next(batch) if name is None else getattr(self, name) for name in self.inputs))
        results = results if isinstance(results, tuple) else (results,)
        loss = 0.0
        for result in results:
            weights = torch.cos(torch.arange(result.numel()) * 1.3 + 0.2).reshape(result.shape)
            finite = torch.nan_to_num(result.float(), 0.0, 0.0, 0.0) if not result.is_floating_point() else result.float()
            loss = loss + (finite * weights).sum()
        return (loss * self.factor, *results)


def draw(name, seed):
    """The module of a case and its batch."""
    seed = zlib.crc32(f"{name} {seed}".encode())
    random.seed(seed)
    torch.manual_seed(seed)
    function, inputs = CASES[name]()
    module = Op(function, inputs)
    return module, tuple(v for v, own in zip(inputs, module.inputs) if own is None)


def as_array(value):
    value = value.detach()
    return np.asarray(value.float() if value.dtype in HALVES else value)


def reference(module, batch):
    """The loss, the results in their order, and the gradient of each parameter."""
    loss, *results = module(*batch)
    loss.backward()
    found = {"loss": as_array(loss)} | {f"result{i}": as_array(r) for i, r in enumerate(results)}
    return found | {f"gradient.{name}": as_array(p.grad) for name, p in module.named_parameters()
                    if p.grad is not None}
