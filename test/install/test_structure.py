"""Checks the structure of the tree: includes between folders, and that each pass has its lit file.

The table is docs/architecture.md's. A folder may always include itself.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)

# folder -> the other folders it may include; "mlir" stands for mlir/ and llvm/ headers.
ALLOWED = {
    "lib/Support": [],
    "lib/Proto": [],
    "lib/Timing": ["lib/Proto", "lib/Support"],
    "lib/Reference": ["dialects", "lib/Support", "mlir"],
    "lib/Hlo": ["dialects", "lib/Proto", "lib/Support", "mlir"],
    "lib/Frontend": ["dialects", "lib/Support", "mlir"],
    "lib/Runtime": ["include/st/Runtime", "lib/Timing", "lib/Proto", "lib/Support"],
    "lib/Report": ["include/st/Runtime", "lib/Runtime", "lib/Timing", "lib/Proto", "lib/Support"],
    "lib/Costs": ["lib/Timing", "lib/Proto", "lib/Support"],
    "lib/Planner": ["lib/Costs", "lib/Timing", "lib/Proto", "lib/Support"],
    "lib/Driver": ["dialects", "passes", "backends/common", "backends/dtu/codegen", "backends/dtu/IR", "backends/dtu/isa",
                   "backends/cuda/codegen", "backends/cuda/IR", "lib", "include/st", "mlir"],
    "include/st/Runtime": [],
    "dialects/StableHLO": ["dialects/St/Interfaces", "mlir"],
    "dialects/Sdy": ["mlir"],
    "dialects/VHLO": ["dialects/Sdy", "dialects/StableHLO", "mlir"],
    "dialects/St": ["mlir"],
    "dialects/St/Sharding": ["dialects/St", "lib/Costs", "lib/Timing", "lib/Proto", "mlir"],
    "passes": ["dialects", "lib/Costs", "lib/Timing", "lib/Support", "mlir"],
    "backends/common": ["dialects", "lib/Proto", "lib/Support", "mlir"],
    "backends/cuda/IR": ["mlir"],
    "backends/cuda/codegen": ["backends/common", "backends/cuda/IR", "dialects", "lib/Timing", "lib/Proto", "lib/Support", "mlir"],
    "backends/dtu/isa": ["lib/Proto", "lib/Support"],
    "backends/dtu/IR": ["backends/dtu/isa", "dialects", "mlir"],
    "backends/cuda/runtime": ["include/st/Runtime", "lib/Proto", "lib/Support"],
    "backends/dtu/codegen": ["backends/common", "backends/dtu/isa", "backends/dtu/IR", "dialects", "lib/Timing", "lib/Proto",
                             "lib/Support", "mlir"],
    "backends/dtu/simulator": ["backends/dtu/isa", "lib/Timing", "lib/Proto", "lib/Support"],
    "backends/dtu/runtime": ["include/st/Runtime", "backends/dtu/isa", "backends/dtu/simulator", "lib/Timing",
                             "lib/Proto", "lib/Support"],
    "plugins": ["backends", "dialects", "include/st", "lib", "passes", "mlir"],
    "plugins/pjrt/abi": [],
    "plugins/pjrt/runtime": ["plugins/pjrt", "backends/dtu/runtime", "include/st/Runtime", "lib/Runtime", "lib/Timing",
                             "lib/Proto", "lib/Support"],
}

OUR_ROOTS = ("lib/", "dialects/", "passes/", "backends/", "plugins/", "tools/", "st/", "test/")


def sources():
    listed = subprocess.run(["git", "ls-files", "*.h", "*.cpp", "*.td"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [pathlib.Path(line) for line in listed.stdout.splitlines()]
    return [p.relative_to(ROOT) for d in ("lib", "dialects", "passes", "backends", "include", "plugins", "tools")
            for p in (ROOT / d).rglob("*") if p.suffix in (".h", ".cpp", ".td")]


def folder_of(path):
    text = path.as_posix()
    return max((f for f in ALLOWED if text.startswith(f + "/")), key=len, default=None)


def include_errors(path, text):
    folder = folder_of(path)
    if folder is None:
        return
    own = "/".join(path.parts[:2]) if folder == "passes" else folder
    for include in INCLUDE.findall(text):
        if include.startswith(("mlir/", "llvm/")):
            if "mlir" not in ALLOWED[folder]:
                yield f"{path}: includes {include}, but {folder} may not see MLIR or LLVM"
            continue
        if not include.startswith(OUR_ROOTS):
            continue
        target = ("include/" + include) if include.startswith("st/") else include
        if target.startswith(own + "/") or any(target.startswith(a + "/") for a in ALLOWED[folder]):
            continue
        yield f"{path}: includes {include}, which {folder} may not"


def pass_errors():
    """Every pass `verb-object` has VerbObject.cpp in a folder of passes/ and a lit file verb-object.mlir."""
    lit_files = {p.name for p in (ROOT / "test").rglob("*.mlir")}
    for td in sorted((ROOT / "passes").rglob("Passes.td")) + sorted((ROOT / "backends").rglob("Passes.td")):
        for name in re.findall(r'Pass<"([a-z0-9-]+)"', td.read_text()):
            camel = "".join(word.capitalize() for word in name.removeprefix("st-").split("-"))
            if not any(p.stem.lower() == camel.lower() for p in td.parent.rglob("*.cpp")):
                yield f"{td.relative_to(ROOT)}: pass {name} has no {camel}.cpp below its folder"
            if f"{name}.mlir" not in lit_files:
                yield f"{td.relative_to(ROOT)}: pass {name} has no lit file {name}.mlir"


def self_check():
    """The scan must be able to fail: these rules are violated on purpose."""
    planted = [("passes/Memory/X.cpp", '#include "passes/Kernels/Y.h"'),
               ("lib/Runtime/X.cpp", '#include "mlir/IR/Value.h"'),
               ("backends/dtu/simulator/X.cpp", '#include "backends/dtu/codegen/Y.h"'),
               ("backends/cuda/codegen/X.cpp", '#include "backends/dtu/codegen/Y.h"'),
               ("lib/Frontend/X.cpp", '#include "passes/Autodiff/Passes.h"')]
    for path, text in planted:
        if not list(include_errors(pathlib.Path(path), text)):
            yield f"self-check: the scan does not see {text} in {path}"


def main():
    checks = [list(self_check()), list(pass_errors())]
    paths = sources()
    checks.append([e for p in paths if (ROOT / p).exists() for e in include_errors(p, (ROOT / p).read_text())])
    if len(paths) < 20:
        checks.append([f"found only {len(paths)} sources: the scan looks in the wrong place"])
    for errors in checks:
        for error in errors:
            print(error)
    failed = sum(1 for errors in checks if errors)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
