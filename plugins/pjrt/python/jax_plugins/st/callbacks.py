"""Functions of Python that programs call: pure_callback, io_callback, debug.callback and debug.print.

A callback is a custom call with a number. The plugin calls a handler with that number and the addresses of arrays.
"""

import ctypes
import functools
import itertools
import traceback

from jax_plugins.st import inspection

PLATFORM = "st"
TARGET = "st_host_callback"

_Pointers = ctypes.POINTER(ctypes.c_void_p)
_Handler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, _Pointers, _Pointers, ctypes.c_void_p, ctypes.c_int64)

_numbers = itertools.count(1)
# Callbacks are never removed: the plugin caches compiled programs, and a run may outlive the function that started it.
_callbacks = {}


class _Callback:
    """A function with the types of its operands and results."""

    def __init__(self, function, operands, results):
        self.function = function
        self.operands = [(aval.shape, aval.dtype) for aval in operands]
        self.results = [(aval.shape, aval.dtype) for aval in results]
        # A callback for each device: their number, and the sharding of each operand.
        self.devices, self.shardings = 1, [None] * len(self.operands)

    def __call__(self, operands, results):
        import numpy as np
        from jax._src import dtypes, op_shardings

        arrays = [_array(operands[i], *kind).copy() for i, kind in enumerate(self.operands)]
        if self.devices > 1:
            parts = [op_shardings.op_sharding_to_indices(sharding, array.shape, self.devices)
                     for sharding, array in zip(self.shardings, arrays)]
            for indices in zip(*parts):
                self.function(*(array[index] for array, index in zip(arrays, indices)))
            return
        values = self.function(*arrays)
        if len(values) != len(self.results):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(self.results)}, "
                               f"Actual: {len(values)}")
        for i, (value, (shape, dtype)) in enumerate(zip(values, self.results)):
            value = dtypes.canonicalize_value(np.asarray(value))
            if value.shape != shape:
                raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {shape}, "
                                   f"Actual: {value.shape}")
            if value.dtype != dtype:
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {dtype}, "
                                   f"Actual: {value.dtype}")
            _array(results[i], shape, dtype)[...] = value


def _array(address, shape, dtype):
    import numpy as np

    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype).reshape(shape)


def _handle(number, operands, results, error, error_size):
    try:
        callback = _callbacks.get(number)
        if callback is None:
            raise RuntimeError(f"there is no callback {number} in this process")
        callback(operands, results)
        return 0
    except BaseException:  # noqa: BLE001 - no exception may leave a function that C calls
        text = traceback.format_exc().encode()[-(error_size - 1):]
        ctypes.memmove(error, text + b"\0", len(text) + 1)
        return 1


_handler = _Handler(_handle)


def _is_global(context):
    """Returns True if the lowered ops are those of complete arrays, not of shards in a shard_map."""
    from jax._src import sharding_impls

    return isinstance(context.module_context.axis_context, sharding_impls.ShardingContext)


def _request_shardings(context, callback, operands):
    """Makes a callback one for each device; each sees its shards of the operands."""

    def set_sharding(i, sharding):
        callback.shardings[i] = sharding

    callback.devices = context.module_context.axis_context.num_devices if _is_global(context) else 1
    for i, operand in enumerate(operands):
        if callback.devices > 1:
            inspection.request_sharding(operand, functools.partial(set_sharding, i))


def _emit(context, function, token, operands, operand_avals, result_avals, has_side_effect, partitioned=False):
    from jax._src.interpreters import mlir

    number = next(_numbers)
    callback = _callbacks[number] = _Callback(function, operand_avals, result_avals)
    if partitioned:
        if result_avals:
            raise NotImplementedError("partitioned callbacks with results are not supported on platform \"st\"")
        _request_shardings(context, callback, operands)
    # JAX refuses to export a function that keeps objects of this process alive.
    context.module_context.add_keepalive(callback)
    types = [mlir.aval_to_ir_type(context.module_context, aval) for aval in result_avals]
    call = mlir.custom_call(TARGET, result_types=types, operands=list(operands), backend_config=str(number),
                            has_side_effect=has_side_effect)
    # Callbacks run in the order of the program, so the next one needs no other token.
    return list(call.results), token, None


def lower_call(context, function, operands):
    """Lowers a primitive to a call of a function of NumPy arrays without side effects."""
    results, _, _ = _emit(context, function, None, operands, context.avals_in, context.avals_out, False)
    return results


def register(library):
    """Registers JAX's lowering of callbacks for this platform, and the handler that runs them."""
    from jax._src import callback, checkify, debugging
    from jax._src.interpreters import mlir

    ctypes.CDLL(library).st_set_host_handler(_handler)
    of_others = callback.emit_python_callback

    def emit_python_callback(ctx, function, token, operands, operand_avals, result_avals, *, has_side_effect, **others):
        if tuple(ctx.module_context.platforms) == (PLATFORM,):
            return _emit(ctx, function, token, operands, operand_avals, result_avals, has_side_effect,
                         bool(others.get("partitioned")))
        return of_others(ctx, function, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                         **others)

    callback.emit_python_callback = emit_python_callback
    mlir.register_lowering(checkify.check_p, checkify.check_lowering_rule, platform=PLATFORM)
    for primitive, rule in ((debugging.debug_callback_p, debugging.debug_callback_lowering),
                            (debugging.debug_print_p, debugging.debug_print_lowering_rule)):
        mlir.register_lowering(primitive, rule, platform=PLATFORM, cacheable=False)
