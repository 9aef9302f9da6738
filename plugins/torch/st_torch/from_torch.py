"""Converts a torch.export.ExportedProgram to a graph."""

import math
import re

import torch
from torch.export.graph_signature import InputKind, OutputKind

from .graph import Graph, Input, Node, Output, Ref, Type, UnsupportedError

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "ui8", torch.bool: "i1"}
# Operators that the printer handles without decomposition: their decompositions lose `detach`, or take matrices apart.
KEPT = ("detach", "linear", "matmul", "roll", "scaled_dot_product_attention")
# Results of more elements stay ops.
LARGEST_FOLDED = 1 << 16


def type_of(tensor, name):
    """The static type of a tensor."""
    if tensor.dtype not in DTYPES:
        raise UnsupportedError(f"{name}: elements of type {tensor.dtype} are not supported")
    if not all(isinstance(size, int) for size in tensor.shape):
        raise UnsupportedError(f"{name}: the shape {tuple(map(str, tensor.shape))} is dynamic; export with fixed sizes")
    return Type(tuple(tensor.shape), DTYPES[tensor.dtype])


def bytes_of(tensor):
    """The elements, row-major and little-endian."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def decompose(program):
    """The program in core ATen operators, except for KEPT ones."""
    table = torch.export.default_decompositions()
    for overload in list(table):
        if overload.name().removeprefix("aten::").partition(".")[0] in KEPT:
            table.pop(overload)
    return program.run_decompositions(table)



class _Converter:
    def __init__(self, program):
        self.program = program
        self.inputs, self.nodes, self.outputs = [], [], []
        self.values = {}  # name of a torch node -> Ref, or a tuple of Refs
        self.known = {}  # name of a torch node -> its tensors, if they depend on no argument
        self.mutated = {s.target for s in program.graph_signature.output_specs if s.kind == OutputKind.BUFFER_MUTATION}
        self.arguments = {}  # (identity of a tensor) -> Ref, for parameters with two names
        self.constants = {}

    def run(self, name):
        specs = iter(self.program.graph_signature.input_specs)
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self.add_input(node, next(specs))
            elif node.op == "call_function":
                self.add_call(node)
            elif node.op == "output":
                self.add_outputs(node.args[0])
            else:
                raise UnsupportedError(f"node {node.name}: {node.op}, as in control flow of torch.cond, is not supported")
        used = self.reached([o.ref.name for o in self.outputs])
        trained = self.reached([o.ref.name for o in self.outputs if o.role == "loss"], through_detach=False)
        for i in self.inputs:
            # PyTorch's optimizers do not change a parameter without gradient.
            if i.role == "parameter" and i.name not in trained:
                i.role = "frozen"
        kept = [i for i in self.inputs if i.name in used or i.role != "constant"]
        return Graph(name, kept, [n for n in self.nodes if n.name in used], self.outputs)

    def reached(self, names, through_detach=True):
        """The names of all nodes and inputs that `names` depend on."""
        used = set(names)

        def visit(value):
            if isinstance(value, Ref):
                used.add(value.name)
            elif isinstance(value, (list, tuple)):
                for item in value:
                    visit(item)

        for node in reversed(self.nodes):
            if node.name in used and (through_detach or node.op != "aten.detach.default"):
                visit(node.args)
                visit(list(node.kwargs.values()))
        return used

    # Inputs

    def add_input(self, node, spec):
        if spec.kind == InputKind.USER_INPUT:
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor):
                if value is None or isinstance(value, (bool, int, float, str)):
                    self.values[node.name] = value  # a constant of the export
                    return
                raise UnsupportedError(f"input {node.name}: expected a tensor, found a {type(value).__name__}")
            self.declare(node.name, type_of(value, f"input {node.name}"), "batch", node.name)
            return
        if spec.kind == InputKind.PARAMETER or (spec.kind == InputKind.BUFFER and (spec.persistent or spec.target in self.mutated)):
            tensor = self.program.state_dict.get(spec.target)
            tensor = self.program.constants[spec.target] if tensor is None else tensor
            trained = spec.kind == InputKind.PARAMETER and tensor.requires_grad
            if spec.target in self.mutated:
                role = "state"
            elif trained or tensor.is_floating_point():
                role = "parameter" if trained else "frozen"
            else:
                self.known[node.name] = tensor
                return
            self.declare_once(node.name, tensor, role, spec.target)
            return
        if spec.kind in (InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            self.known[node.name] = self.program.constants[spec.target]
            return
        raise UnsupportedError(f"input {node.name}: {spec.kind.name} is not supported")

    def declare_once(self, name, tensor, role, label):
        """A tensor with two names is one argument."""
        identity = (tensor.data_ptr(), tensor.shape, tensor.stride()) if tensor.numel() else label
        if identity in self.arguments:
            self.values[name] = self.arguments[identity]
            return
        self.declare(name, type_of(tensor, label), role, label)
        self.arguments[identity] = self.values[name]

    def declare(self, name, type, role, label):
        self.inputs.append(Input(name, type, role, label))
        self.values[name] = Ref(name)

    def constant(self, name, tensor):
        """An input for the value of a node that depends on no argument."""
        key = (tensor.dtype, tuple(tensor.shape), bytes_of(tensor))
        if key not in self.constants:
            self.inputs.append(Input(f"constant.{name}", type_of(tensor, name), "constant", "", key[2]))
            self.constants[key] = Ref(f"constant.{name}")
        return self.constants[key]

    # Calls

    def add_call(self, node):
        if getattr(node.target, "__name__", "") == "getitem":
            source, index = node.args
            if source.name in self.known:
                self.known[node.name] = self.known[source.name][index]
            else:
                self.values[node.name] = Ref(source.name, index)
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            raise UnsupportedError(f"{node.target}, node {node.name}: this operator is not supported")
        if self.fold(node):
            return
        results = node.meta.get("val")
        results = [] if results is None else list(results) if isinstance(results, (list, tuple)) else [results]
        name = node.target.name().replace("::", ".") + ("" if "." in node.target.name() else ".default")
        types = [type_of(r, f"{name}, node {node.name}") if isinstance(r, torch.Tensor) else Type((), "f32") for r in results]
        self.nodes.append(Node(node.name, name, [self.convert(a, node) for a in node.args],
                               {key: self.convert(a, node) for key, a in node.kwargs.items() if key not in ("device", "layout", "pin_memory")},
                               types, _place_of(node)))
        self.values[node.name] = Ref(node.name)

    def fold(self, node):
        """Computes a node that depends on no argument; returns False if it does or if its result is large."""
        if any(a.name not in self.known for a in node.all_input_nodes) or "expand" in node.target.name() or node.target._schema.is_mutable:
            return False
        value = node.meta.get("val")
        results = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(r, torch.Tensor) and math.prod(r.shape) <= LARGEST_FOLDED for r in results):
            return False
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            return False
        args = torch.fx.node.map_arg(node.args, lambda n: self.known[n.name])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: self.known[n.name])
        with torch.no_grad():
            self.known[node.name] = node.target(*args, **kwargs)
        return True

    def convert(self, value, node):
        """An argument as plain data."""
        if isinstance(value, torch.fx.Node):
            if value.name in self.known:
                return self.constant(value.name, self.known[value.name])
            return self.values[value.name]
        if isinstance(value, (list, tuple)):
            return [self.convert(v, node) for v in value]
        if isinstance(value, torch.dtype):
            return DTYPES.get(value, str(value))
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (torch.memory_format, torch.layout, torch.device)):
            return None
        raise UnsupportedError(f"{node.target}, node {node.name}: an argument of type {type(value).__name__} is not supported")

    # Results

    def add_outputs(self, values):
        losses = 0
        for value, spec in zip(values, self.program.graph_signature.output_specs):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                self.outputs.append(Output(self.result(value), "state", spec.target))
            elif spec.kind == OutputKind.USER_OUTPUT and isinstance(value, torch.fx.Node):
                tensor = value.meta["val"]
                if losses == 0 and (tensor.dim() or not tensor.is_floating_point()):
                    raise UnsupportedError(f"output {value.name}: expected the loss, a float scalar, as first result, found "
                                           f"{tensor.dtype} of shape {tuple(tensor.shape)}")
                self.outputs.append(Output(self.result(value), "metric" if losses else "loss", value.name if losses else "loss"))
                losses += 1
            elif spec.kind != OutputKind.USER_OUTPUT:
                raise UnsupportedError(f"output {value}: {spec.kind.name} is not supported")
        if not losses:
            raise UnsupportedError("the program has no result; expected the loss, a float scalar")

    def result(self, node):
        return self.constant(node.name, self.known[node.name]) if node.name in self.known else self.values[node.name]


def _place_of(node):
    """The path of the module that makes a call, such as "layer1.0.conv1"."""
    stack = node.meta.get("nn_module_stack") or {}
    path = list(stack.values())[-1][0] if stack else ""
    return re.sub(r"^L\['self'\]\.?", "", path).replace('"', "")


def to_graph(program, name="torch"):
    """The graph of an ExportedProgram whose first result is the loss."""
    return _Converter(decompose(program)).run(re.sub(r"\W", "_", name) or "torch")
