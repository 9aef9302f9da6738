"""The files that a program, its initial values and its batches are exchanged in."""

import pathlib

import torch
from safetensors.torch import load_file, save_file

from .from_torch import to_graph
from .printer import print_program


def export(module, args=(), kwargs=None, folder="."):
    """Writes `module`, whose first result is the loss, to `folder`; returns the graph.

    model.mlir is the program. model.safetensors has the initial parameters and buffers by their names in PyTorch, and
    batch.safetensors the batch of the arguments. `module` may be a torch.export.ExportedProgram, which has its own arguments.
    """
    program = module
    if isinstance(module, torch.nn.Module):
        program = torch.export.export(module, tuple(args), kwargs)
    graph = to_graph(program, type(module).__name__)
    text = print_program(graph)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.mlir").write_text(text)
    save_file(initial_values(program, graph), folder / "model.safetensors")
    if program.example_inputs:
        save_batches(folder / "batch.safetensors", [batch_of(program, graph)])
    return graph


def initial_values(program, graph):
    """The tensors of all parameters and states, by name."""
    values = program.state_dict | {k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}
    return {i.label: values[i.label].detach().cpu().contiguous().clone()
            for i in graph.inputs if i.role in ("parameter", "frozen", "state")}


def batch_of(program, graph):
    """The example arguments of a program, by name."""
    args, kwargs = program.example_inputs
    flat = [v for v in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]
    names = [i.label for i in graph.inputs if i.role == "batch"]
    return dict(zip(names, flat, strict=True))


def save_batches(path, batches):
    """Writes batches, dictionaries of tensors by the names of forward's arguments, for the binary's --data."""
    batches = list(batches)
    save_file({name: torch.stack([torch.as_tensor(b[name]) for b in batches]).contiguous() for name in batches[0]}, path)


def load(module, folder):
    """Reads the parameters and buffers of a checkpoint that a binary saved into a module; returns the module."""
    folder, values = pathlib.Path(folder), {}
    for path in sorted((*folder.glob("model*.safetensors"), *folder.glob("optimizer*.safetensors"))):
        values |= load_file(path)
    if not values:
        raise FileNotFoundError(f"{folder}: has no model.safetensors")
    with torch.no_grad():
        for name, tensor in module.state_dict(keep_vars=True).items():
            if name in values:
                tensor.copy_(values[name])
    return module
