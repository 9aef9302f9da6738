"""lit's configuration: tools run on text, and FileCheck or diff checks the output."""

import importlib.util
import os
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "St"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "e2e", "fuzz", "install", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.st_build_dir, "test")

config.substitutions.append(("%st_source_dir", config.st_source_dir))
config.substitutions.append(("%python", f'"{sys.executable}"'))

# Tests that compare with JAX run if lit's own Python has it.
if importlib.util.find_spec("jax"):
    config.available_features.add("jax")

llvm_config.with_system_environment(["HOME", "TMP", "TEMP"])
llvm_config.use_default_substitutions()

# RUN lines use tool names without a path.
llvm_config.with_environment("PATH", [config.st_tools_dir, config.llvm_tools_dir], append_path=True)
