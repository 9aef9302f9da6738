"""JAX on simulated DTU clusters: set JAX_PLATFORMS=st.

Environment variables: ST_TARGET (a device description, "dtu-t10"), ST_DEVICES (32), ST_HOST_THREADS, ST_REPORT (a folder
for a page about each compiled function) and ST_EXPLAIN (a folder for the bytes and reasons of its reshards).
"""

import ctypes
import json
import os
import pathlib

__all__ = ["initialize", "last_step", "library_path", "load_state", "save_state"]

from jax_plugins.st.checkpoints import load_state, save_state

PLATFORM = "st"


def library_path():
    """The plugin's shared library: ST_PJRT_PLUGIN, or the one beside this file."""
    return os.environ.get("ST_PJRT_PLUGIN") or str(pathlib.Path(__file__).with_name("pjrt_plugin_st.so"))


def initialize():
    """Registers the platform. JAX calls this when it looks for plugins."""
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir

    path = library_path()
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(f"{path}: the library of the platform \"{PLATFORM}\" does not exist")
    xla_bridge.register_plugin(PLATFORM, priority=500, library_path=path, options=None)
    _add_host(xla_bridge)
    # JAX donates buffers only on the platforms in its own list.
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)
    _use_compilation_cache()
    from jax_plugins.st import callbacks, host_linalg, inspection, lowerings

    lowerings.register()
    host_linalg.register()
    callbacks.register(path)
    inspection.register(path)


def _add_host(xla_bridge):
    """Starts JAX's CPU with the platform, even if the user names only "st": JAX puts the arguments of callbacks on it.

    The names in jax_platforms stay as they are: JAX's own tests must not see that option change.
    """
    start = xla_bridge._init_backend

    def start_with_host(platform):
        backend = start(platform)
        if platform == PLATFORM and "cpu" not in xla_bridge._backends:
            xla_bridge._backends["cpu"] = start("cpu")
        return backend

    xla_bridge._init_backend = start_with_host


def _use_compilation_cache():
    """Enables JAX's cache on disk (JAX_COMPILATION_CACHE_DIR), which works only for the platforms in its list."""
    from jax import errors
    from jax._src import compilation_cache

    is_used_by_others = compilation_cache.is_cache_used
    put_of_others = compilation_cache.put_executable_and_time

    def is_cache_used(backend):
        return compilation_cache._is_cache_enabled() if backend.platform == PLATFORM else is_used_by_others(backend)

    def put_executable_and_time(cache_key, module_name, executable, backend, compile_time):
        try:
            put_of_others(cache_key, module_name, executable, backend, compile_time)
        except errors.JaxRuntimeError as error:
            # A program that calls functions of this process is not stored.
            if backend.platform != PLATFORM or not str(error).startswith("UNIMPLEMENTED"):
                raise

    compilation_cache.is_cache_used = is_cache_used
    compilation_cache.put_executable_and_time = put_executable_and_time


def last_step(timeline=False):
    """Returns the work of the last program on the devices, as a dictionary.

    "seconds" is simulated time, "lower_bound_seconds" a roofline bound; "flops" are those of matrix products, bytes are
    those that engines move per memory ("l1_bytes", "l2_bytes", "l3_bytes") and send ("sent_bytes", by "links"), over all
    devices. `timeline` adds the intervals of each engine. Waits for unfinished runs.
    """
    return _ask("st_last_step", ctypes.c_int, int(timeline))


def _ask(name, kind, argument):
    """Calls a function of the library that returns JSON, or a text that begins with "error: "."""
    library = ctypes.CDLL(library_path())
    function = getattr(library, name)
    function.restype, function.argtypes = ctypes.c_void_p, [kind]
    library.st_free.argtypes = [ctypes.c_void_p]
    pointer = function(argument)
    try:
        text = ctypes.string_at(pointer).decode()
    finally:
        library.st_free(pointer)
    if text.startswith("error: "):
        raise RuntimeError(text.removeprefix("error: "))
    return json.loads(text)
