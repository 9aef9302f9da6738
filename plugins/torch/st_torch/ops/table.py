"""The table of operators: a function for each ATen overload.

A function gets the emitter, the type of the node's first result, and the node's arguments, with Values instead of tensors. It
returns a Value, or a tuple with None for results that it does not compute.
"""

TABLE = {}


def op(*names):
    """Registers a function for overloads such as "add.Tensor"."""
    def register(function):
        for name in names:
            assert name not in TABLE, name
            TABLE["aten." + name] = function
        return function
    return register
