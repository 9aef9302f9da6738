"""Makes the plugin of the build folder available to JAX in tests."""

import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
BUILD = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build"))


def has_jax():
    """Returns True if JAX is installed. If not, a line says so before the last line, which has the counts."""
    if importlib.util.find_spec("jax"):
        return True
    print("skipped: jax is not installed (scripts/setup.sh --tests)\n0 passed, 0 failed")
    return False


def environment(devices, **others):
    """The environment that a process needs to find the plugin."""
    python = os.pathsep.join(filter(None, [str(ROOT / "plugins/pjrt/python"), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": python, "JAX_PLATFORMS": "st,cpu", "ST_DEVICES": str(devices),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "ST_PJRT_PLUGIN": os.environ.get("ST_PJRT_PLUGIN", str(BUILD / "lib/pjrt_plugin_st.so")), **others}


def use(devices):
    """Makes this process use the plugin; call it before JAX is imported."""
    os.environ.update(environment(devices))
    sys.path.insert(0, str(ROOT / "plugins/pjrt/python"))
