"""Trains PyTorch modules with St: prints what torch.export traces as a StableHLO program.

    graph = st_torch.export(module, args, folder="model")

writes model/model.mlir for st-compile, and model/model.safetensors with the parameters for the binary's --init.
"""

from .graph import Graph, UnsupportedError, from_json, to_json
from .printer import print_program

__all__ = ["Graph", "UnsupportedError", "export", "from_json", "load", "print_program", "save_batches", "to_graph", "to_json"]


def to_graph(program, name="torch"):
    """The graph of a torch.export.ExportedProgram whose first result is the loss."""
    from .from_torch import to_graph as convert
    return convert(program, name)


def export(module, args=(), kwargs=None, *, folder):
    """Writes a module whose first result is the loss to `folder`; see files.py."""
    from .files import export as write
    return write(module, args, kwargs, folder)


def save_batches(path, batches):
    """Writes batches, dictionaries of tensors by the names of forward's arguments, for the binary's --data."""
    from .files import save_batches as write
    write(path, batches)


def load(module, folder):
    """Reads the parameters and buffers of a checkpoint that a binary saved into a module."""
    from .files import load as read
    return read(module, folder)
