"""PyTorch's numbers of operators and models. Needs PyTorch."""

import numpy as np
import torch
from torch_models import MODELS
from torch_ops import as_array, draw, reference
from torch_programs import EPSILON, RATE, STEPS, differences, digest, make_batches, make_values

import st_torch


def record_op(name, seed):
    """The graph of a case of an operator, its inputs, and PyTorch's results and gradients."""
    module, batch = draw(name, seed)
    graph = st_torch.to_graph(torch.export.export(module, batch))
    labels = [i.label for i in graph.inputs if i.role == "batch"]
    inputs = {label: as_array(value) for label, value in zip(labels, batch, strict=True)}
    inputs |= {key: as_array(value) for key, value in module.named_parameters()}
    return {"graph": graph, "inputs": inputs, "expected": reference(module, batch)}


def _train(module, inputs, values, batches, trained, dtype):
    """The losses of STEPS steps of AdamW, the digests of the first gradients, and those of the last parameters and buffers."""
    module.to(dtype)
    with torch.no_grad():
        for key, tensor in module.state_dict(keep_vars=True).items():
            if key in values:
                tensor.copy_(torch.from_numpy(values[key]))
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, eps=EPSILON)
    losses, gradients = [], {}
    for step in range(STEPS):
        batch = [torch.from_numpy(batches[label][step]) for label in inputs]
        loss = module(*(b.to(dtype) if b.is_floating_point() else b for b in batch))
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            gradients = {key: digest(key, np.asarray(p.grad)) for key, p in module.named_parameters() if key in trained}
        optimizer.step()
        losses.append(loss.item())
    last = module.state_dict()
    return losses, gradients, {key: digest(key, np.asarray(last[key])) for key in values}


def record_model(name):
    """The graph of a model, the limits of its inputs, and PyTorch's numbers in float64. The errors are the largest
    differences between PyTorch's numbers in float32 and these: the tolerance for an implementation in float32."""
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    module.train()
    example = tuple(torch.zeros(shape, dtype=torch.float32 if limit is None else torch.int64) for limit, shape in inputs.values())
    graph = st_torch.to_graph(torch.export.export(module, example), name)
    limits = {label: limit for label, (limit, _) in inputs.items()}
    values, batches = make_values(graph), make_batches(graph, limits)
    trained = {i.label for i in graph.inputs if i.role == "parameter"}
    losses, gradients, final = _train(module, inputs, values, batches, trained, torch.float64)
    _, narrow_gradients, narrow_final = _train(module, inputs, values, batches, trained, torch.float32)
    return {"graph": graph, "limits": limits, "losses": losses, "gradients": gradients, "final": final,
            "gradient_errors": differences(narrow_gradients, gradients), "final_errors": differences(narrow_final, final)}
