"""Shardings of values that a program asks for: jax.debug.inspect_array_sharding, and callbacks for each device.

A request is a custom call with a number. After the compilation the plugin calls a handler with the number and the
sharding.
"""

import ctypes
import itertools

PLATFORM = "st"
TARGET = "st_inspect_sharding"

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)

_numbers = itertools.count(1)
# Receivers are never removed: a compiled program may be loaded again.
_receivers = {}


def _handle(number, address, size):
    from jax._src.lib import xla_client

    sharding = xla_client.OpSharding()
    sharding.ParseFromString(ctypes.string_at(address, size) if size else b"")
    if number in _receivers:
        _receivers[number](xla_client.HloSharding.from_proto(sharding))


_handler = _Handler(_handle)


def request_sharding(value, receive):
    """Requests the sharding of a value; `receive` gets an HloSharding."""
    from jax._src.interpreters import mlir

    number = next(_numbers)
    _receivers[number] = receive
    mlir.custom_call(TARGET, result_types=[], operands=[value], backend_config=str(number), has_side_effect=True)


def devices_of(context):
    """The devices of the program that is lowered."""
    from jax._src import sharding_impls

    axes = context.module_context.axis_context
    if isinstance(axes, sharding_impls.SPMDAxisContext):
        return axes.mesh._flat_devices_tuple
    return axes.device_assignment


def _mesh_of(context):
    """The mesh whose axes a sharding names; it may be empty."""
    import numpy as np
    from jax._src import mesh, sharding_impls

    axes = context.module_context.axis_context
    if isinstance(axes, sharding_impls.SPMDAxisContext):
        return axes.mesh
    shape = axes.abstract_mesh
    if shape is None:
        return mesh.thread_resources.env.physical_mesh
    return mesh.Mesh(np.array(axes.device_assignment).reshape(shape.axis_sizes), shape.axis_names)


def lower_inspection(context, value, *, callback):
    """Lowers inspect_array_sharding."""
    from jax._src import sharding_impls

    devices, mesh = devices_of(context), _mesh_of(context)

    def receive(sharding):
        if mesh.empty:
            callback(sharding_impls.GSPMDSharding(devices, sharding))
        elif sharding.is_manual():
            callback(sharding_impls.NamedSharding(mesh, sharding_impls.PartitionSpec()))
        else:
            spec = sharding_impls.parse_flatten_op_sharding(sharding, mesh)[0]
            callback(sharding_impls.NamedSharding(mesh, spec))

    if len(devices) == 1:
        receive(sharding_impls.replicated_hlo_sharding)
    else:
        request_sharding(value, receive)
    return []


def register(library):
    """Registers the lowering for this platform, and the handler that receives shardings."""
    from jax._src import debugging
    from jax._src.interpreters import mlir

    ctypes.CDLL(library).st_set_sharding_handler(_handler)
    mlir.register_lowering(debugging.inspect_sharding_p, lower_inspection, platform=PLATFORM)
