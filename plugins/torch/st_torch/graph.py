"""A traced program as plain data: no torch, and it can be written to a file.

`from_torch.py` makes a graph of a torch.export.ExportedProgram; `printer.py` prints it as StableHLO.
"""

import base64
import dataclasses
import json
import zlib

# Element types as StableHLO names them, with their sizes in bytes.
SIZES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "ui8": 1, "ui32": 4, "ui64": 8,
         "i1": 1}


class UnsupportedError(Exception):
    """A program that cannot be printed; the message is one line that names the op and the node."""


@dataclasses.dataclass(frozen=True)
class Type:
    """A tensor's static shape and element type."""
    shape: tuple
    dtype: str

    def __str__(self):
        return "tensor<" + "".join(f"{size}x" for size in self.shape) + self.dtype + ">"


@dataclasses.dataclass(frozen=True)
class Ref:
    """Result `index` of a node, or an input, by its name."""
    name: str
    index: int = 0


@dataclasses.dataclass
class Input:
    """An argument of the program, or a constant.

    `role` is "parameter", "frozen" (a parameter without gradient, or a buffer that the program reads), "state" (a buffer that
    the program replaces), "batch" or "constant". `label` is the name in checkpoints and data files. A constant's `data` are
    its bytes, row-major and little-endian.
    """
    name: str
    type: Type
    role: str
    label: str
    data: bytes = b""


@dataclasses.dataclass
class Node:
    """One call of an ATen operator. Tensors among the arguments are `Ref`s, element types are strings such as "f32"."""
    name: str
    op: str
    args: list
    kwargs: dict
    types: list
    place: str = ""  # the module that called it, such as "layer1.0.conv1"


@dataclasses.dataclass
class Output:
    """A result: `role` is "loss", "metric" or "state"; the label of a state is that of its input."""
    ref: Ref
    role: str
    label: str


@dataclasses.dataclass
class Graph:
    name: str
    inputs: list
    nodes: list
    outputs: list


def _encode(value):
    if isinstance(value, Ref):
        return {"ref": [value.name, value.index]}
    if isinstance(value, (list, tuple)):
        return [_encode(v) for v in value]
    # JSON has no infinities.
    return {"float": str(value)} if isinstance(value, float) and abs(value) == float("inf") else value


def _decode(value):
    if isinstance(value, dict):
        return Ref(*value["ref"]) if "ref" in value else float(value["float"])
    return [_decode(v) for v in value] if isinstance(value, list) else value


def _encode_type(type):
    return [list(type.shape), type.dtype]


def _decode_type(value):
    return Type(tuple(value[0]), value[1])


def to_json(graph):
    """The graph as text."""
    return json.dumps({
        "name": graph.name,
        "inputs": [[i.name, _encode_type(i.type), i.role, i.label, base64.b64encode(zlib.compress(i.data)).decode() if i.data else ""]
                   for i in graph.inputs],
        "nodes": [[n.name, n.op, _encode(n.args), {key: _encode(v) for key, v in n.kwargs.items()},
                   [_encode_type(t) for t in n.types], n.place] for n in graph.nodes],
        "outputs": [[_encode(o.ref), o.role, o.label] for o in graph.outputs],
    }, separators=(",", ":"))


def from_json(text):
    """The graph that to_json() wrote."""
    value = json.loads(text)
    return Graph(
        value["name"],
        [Input(name, _decode_type(type), role, label, zlib.decompress(base64.b64decode(data)) if data else b"")
         for name, type, role, label, data in value["inputs"]],
        [Node(name, op, _decode(args), {key: _decode(v) for key, v in kwargs.items()}, [_decode_type(t) for t in types], place)
         for name, op, args, kwargs, types, place in value["nodes"]],
        [Output(_decode(ref), role, label) for ref, role, label in value["outputs"]])
