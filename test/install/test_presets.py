"""Commands of cmake, ctest, cpack and ninja in the documents are valid: their presets, folders and targets exist."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PRESETS = json.loads((ROOT / "CMakePresets.json").read_text())
KINDS = {"cmake --build": "buildPresets", "cmake --workflow": "workflowPresets", "cmake": "configurePresets", "ctest": "testPresets",
         "cpack": "packagePresets"}
COMMAND = re.compile(r"\b(cmake --build|cmake --workflow|cmake|ctest|cpack) --preset[= ]([\w-]+)")


def names(kind):
    return {preset["name"] for preset in PRESETS[kind]}


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md")),
            *sorted((ROOT / "scripts").glob("*.sh"))]


def command_errors(name, text):
    for command, preset in COMMAND.findall(text):
        if preset not in names(KINDS[command]):
            yield f"{name}: {command} --preset {preset}: expected one of {sorted(names(KINDS[command]))}"
    folders = {preset.get("binaryDir", "").removeprefix("${sourceDir}/") for preset in PRESETS["configurePresets"]}
    for folder in re.findall(r"\b(?:ninja -C|cmake --build|cmake --install) (build[\w-]*)", text):
        if folder not in folders:
            yield f"{name}: {folder}: expected the folder of a preset, {sorted(folders - {''})}"


def check_documents():
    found = 0
    for path in documents():
        text = path.read_text()
        found += len(re.findall(r"--preset[= ]", text))
        yield from command_errors(path.relative_to(ROOT), text)
    if found < 5:
        yield f"expected at least 5 commands with a preset, found {found}"


def check_cmake_reads_them():
    """CMake itself accepts the file, and lists its presets."""
    for kind, flag in [("configurePresets", "configure"), ("buildPresets", "build"), ("testPresets", "test"),
                       ("packagePresets", "package"), ("workflowPresets", "workflow")]:
        done = subprocess.run(["cmake", f"--list-presets={flag}"], cwd=ROOT, capture_output=True, text=True)
        listed = set(re.findall(r'^  "([\w-]+)"', done.stdout, re.M))
        if done.returncode or listed != names(kind):
            yield f"cmake --list-presets={flag}: expected {sorted(names(kind))}, found {sorted(listed)} {done.stderr}"


def self_check():
    """The scan must be able to fail."""
    for text in ("cmake --preset nowhere", "cmake --build --preset nowhere", "ctest --preset nowhere", "ninja -C build-nowhere x"):
        if not list(command_errors("x", text)):
            yield f"self-check: the scan does not see {text}"


def main():
    results = [list(check()) for check in (check_documents, check_cmake_reads_them, self_check)]
    for errors in results:
        for error in errors:
            print(error)
    failed = sum(1 for errors in results if errors)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
