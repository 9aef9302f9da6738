"""Prints a graph as a StableHLO program that st-compile differentiates and trains."""

from .emitter import Emitter, Value
from .graph import Ref, Type, UnsupportedError
from .ops import TABLE


def _resolve(value, values, node):
    """An argument of a node with Values instead of references."""
    if isinstance(value, Ref):
        found = values[value.name]
        result = found if isinstance(found, Value) else found[value.index] if value.index < len(found) else None
        if result is None:
            raise UnsupportedError(f"{node.op}, node {node.name}: reads result {value.index} of {value.name}, which is not computed")
        return result
    return [_resolve(v, values, node) for v in value] if isinstance(value, (list, tuple)) else value


def _call(emitter, node, values):
    """The values of a node."""
    function = TABLE.get(node.op)
    where = f"{node.op}, node {node.name}" + (f" of module {node.place}" if node.place else "")
    if function is None:
        raise UnsupportedError(f"{where}: this operator is not supported")
    args = [_resolve(v, values, node) for v in node.args]
    kwargs = {key: _resolve(v, values, node) for key, v in node.kwargs.items()}
    emitter.place = node.place
    out = node.types[0] if node.types else Type((), "f32")
    try:
        result = function(emitter, out, *args, **kwargs)
    except UnsupportedError as error:
        raise UnsupportedError(f"{where}: {error} is not supported") from None
    except TypeError as error:
        raise UnsupportedError(f"{where}: these arguments are not supported ({error})") from None
    for value, type in zip([result] if isinstance(result, Value) else result, node.types):
        if value is not None and value.type != type:
            raise UnsupportedError(f"{where}: expected a result of type {type}, made one of type {value.type}")
    return result


def _argument(number, value, results):
    """The declaration of an argument: its name, its role and, for a state, the result that replaces it."""
    role = {"frozen": "parameter", "state": "optimizer_state"}.get(value.role, value.role)
    attributes = [f'st.name = "{value.label}"', f'st.role = "{role}"']
    if value.role == "frozen":
        attributes.append("st.frozen")
    if role != "batch":
        attributes.append('st.init = {kind = "zeros"}')
    if value.role == "state":
        attributes.append(f"tf.aliasing_output = {results[value.label]} : i32")
    return f"%arg{number}: {value.type} {{{', '.join(sorted(attributes))}}}"


def _batch_size(inputs):
    """The leading dimension that all tensors of the batch share, or None."""
    sizes = {i.type.shape[0] for i in inputs if i.role == "batch" and i.type.shape}
    return sizes.pop() if len(sizes) == 1 else None


def print_program(graph):
    """The text of the graph. Raises UnsupportedError, which names the operator and the node."""
    emitter, values = Emitter(), {}
    arguments = [i for i in graph.inputs if i.role != "constant"]
    for number, value in enumerate(arguments):
        values[value.name] = Value(f"%arg{number}", value.type)
    for value in graph.inputs:
        if value.role == "constant":
            values[value.name] = emitter.constant(value.type, value.data)
    for node in graph.nodes:
        values[node.name] = _call(emitter, node, values)
    results = {output.label: i for i, output in enumerate(graph.outputs) if output.role == "state"}
    declared = [_argument(i, value, results) for i, value in enumerate(arguments)]
    if emitter.sites:
        key = emitter.random_key()
        declared.append(f'{key.name}: {key.type} {{st.name = "rng_key", st.role = "key"}}')
    returned = [values[o.ref.name] if isinstance(values[o.ref.name], Value) else values[o.ref.name][o.ref.index] for o in graph.outputs]
    roles = {"state": "optimizer_state"}
    types = ", ".join(f'{v.type} {{st.name = "{o.label}", st.role = "{roles.get(o.role, o.role)}"}}' for v, o in zip(returned, graph.outputs))
    batch = _batch_size(arguments)
    attributes = f" attributes {{st.batch = {batch} : i64}}" if batch else ""
    return "\n".join([
        f"module @{graph.name}{attributes} {{", f"  func.func @main({', '.join(declared)}) -> ({types}) {{", *emitter.lines,
        f"    return {', '.join(v.name for v in returned)} : {', '.join(str(v.type) for v in returned)}", "  }", "}", ""])
