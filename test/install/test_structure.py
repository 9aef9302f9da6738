"""Checks the structure of the tree: includes between folders and their cycles, a lit file for each pass, sizes of folders and
functions, and names of classes.

The table is docs/architecture.md's. A folder may always include itself.
"""

import ast
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)

# folder -> the other folders it may include; "mlir" represents mlir/ and llvm/ headers.
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

# The largest numbers of source files in a folder, and of lines in a function.
MOST_FILES, MOST_LINES = 30, 80
# The folder of inputs that fuzzing has found, one a file.
CORPUS = "test/fuzz/corpus/"
# Comments, preprocessor lines and literals, whose braces are no blocks.
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"([^()\\ ]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.){1,8}'"""
                     r"""|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*""", re.S | re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*([\w:]*)\s*$")
CLASS = re.compile(r"(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)\s*(?:final\s*)?(?::(?!:).*)?$", re.S)
SCOPE = re.compile(r"(inline\s+)?namespace\b|extern\b\s*$|(typedef\s+)?(class|struct|union|enum)\b[^()]*$")

OUR_ROOTS = ("lib/", "dialects/", "passes/", "backends/", "plugins/", "tools/", "st/", "test/")


def files():
    """All existing files of the repository; without git, those of its source folders."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [pathlib.Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]
    folders = ("lib", "dialects", "passes", "backends", "include", "plugins", "tools", "test", "benchmarks", "scripts")
    return [p.relative_to(ROOT) for d in folders for p in (ROOT / d).rglob("*") if p.is_file() and "__pycache__" not in p.parts]


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


def cycle_errors(includes):
    """Files that include each other, directly or through others. `includes`: file -> the files that it includes."""
    state = {}

    def visit(path, chain):
        state[path] = "open"
        for other in sorted(includes.get(path, ())):
            if state.get(other) == "open":
                yield f"{other}: includes itself: {' -> '.join(map(str, [*chain[chain.index(other):], other]))}"
            elif other not in state:
                yield from visit(other, [*chain, other])
        state[path] = "done"

    for path in sorted(includes):
        if path not in state:
            yield from visit(path, [path])


def includes_of(texts):
    """The files of the repository that each file includes."""
    found = {}
    for path, text in texts.items():
        targets = [pathlib.Path("include/" + name if name.startswith("st/") else name) for name in INCLUDE.findall(text)]
        found[path] = {target for target in targets if target in texts}
    return found


def pass_errors():
    """Every pass `verb-object` has VerbObject.cpp in a folder of passes/ and a lit file verb-object.mlir."""
    lit_files = {p.name for p in (ROOT / "test").rglob("*.mlir")}
    for td in sorted((ROOT / "passes").rglob("*Passes.td")) + sorted((ROOT / "backends").rglob("*Passes.td")):
        for name in re.findall(r'Pass<"([a-z0-9-]+)"', td.read_text()):
            camel = "".join(word.capitalize() for word in name.removeprefix("st-").split("-"))
            if not any(p.stem.lower() == camel.lower() for p in td.parent.rglob("*.cpp")):
                yield f"{td.relative_to(ROOT)}: pass {name} has no {camel}.cpp below its folder"
            if f"{name}.mlir" not in lit_files:
                yield f"{td.relative_to(ROOT)}: pass {name} has no lit file {name}.mlir"


def folder_errors(paths):
    """A README and a build file describe a folder's sources and are none."""
    counts = collections.Counter(p.parent.as_posix() for p in paths if not p.as_posix().startswith(CORPUS)
                                 and p.name not in ("README.md", "CMakeLists.txt"))
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder}: has {count} files, expected at most {MOST_FILES}: split it by theme"


def functions_of_cpp(text):
    """The name and number of lines of each function body: a scope outside of any function, after a parameter list."""
    code = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    scopes, start = [], 0
    for match in re.finditer(r"[{};]", code):
        inside = any(scope[0] == "function" for scope in scopes)
        if match[0] == "{":
            head = re.sub(r"\b(public|private|protected):", "", code[start:match.start()]).strip()
            plain = re.sub(r"^template\s*<.*?>\s*(?=class|struct)", "", head, flags=re.S)
            kind = ("block" if inside else "scope" if SCOPE.match(plain)
                    else "function" if re.search(r"\)[^=]*$", head) else "value")
            name = re.search(r"([~\w:]+)\s*\(", head)
            scopes.append((kind, match.start(), name[1] if name else ""))
            if kind in ("scope", "function"):
                start = match.end()
        elif match[0] == "}" and scopes:
            kind, begin, name = scopes.pop()
            if kind == "function":
                yield name, code.count("\n", begin, match.end()) + 1
            if kind in ("scope", "function"):
                start = match.end()
        elif not inside:
            start = match.end()


def classes_of(text):
    """The namespace and name of each class that is defined in no other class or function, and whether other files see it."""
    code = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    scopes, start = [], 0
    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            head = code[start:match.start()].strip()
            plain = re.sub(r"^template\s*<.*?>\s*(?=class|struct|union)", "", head, flags=re.S)
            namespace, name = NAMESPACE.match(head), CLASS.match(plain)
            if name and None not in scopes:
                yield "::".join(filter(None, scopes)), name[1], "" not in scopes
            scopes.append(namespace[1] if namespace else None)
        elif match[0] == "}" and scopes:
            scopes.pop()
        start = match.end()


def class_errors(texts):
    """Two classes of one name in one namespace, unless no header and no other file sees either of them: the linker uses
    one for both, or a file that includes a header finds two."""
    found = collections.defaultdict(list)
    for path, text in sorted(texts.items()):
        for namespace, name, is_visible in classes_of(text):
            found[namespace, name].append((path, is_visible))
    for (namespace, name), places in found.items():
        if len(places) > 1 and any(is_visible for _, is_visible in places):
            paths = ", ".join(str(path) for path, _ in places)
            yield f"class {namespace}::{name} is defined in {paths}: rename one"


def functions_of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def function_errors(path, text):
    functions = functions_of_python(text) if path.suffix == ".py" else functions_of_cpp(text)
    for name, lines in functions:
        if lines > MOST_LINES:
            yield f"{path}: {name} has {lines} lines, expected at most {MOST_LINES}: split it by meaning"


def self_check():
    """The scans must be able to fail: these rules are violated on purpose."""
    body = "  int x = '{' + f(\"}\", [] { return 1; }); // {\n" * MOST_LINES
    for text in (f"int A::f(int y) const {{\n{body}}}", f"namespace a {{\nclass B : public C {{\n  B() : x(0) {{\n{body}}}\n}};\n}}",
                 f"TEST(A, B) {{\n{body}}}"):
        if len(list(function_errors(pathlib.Path("X.cpp"), text))) != 1:
            yield f"self-check: the scan does not see the long function of {text[:30]}"
    short = "int f() {\n  return 1;\n}\n" * MOST_LINES
    if list(function_errors(pathlib.Path("X.cpp"), f"namespace a {{\n{short}}}\nint x[] = {{\n{'  1,' * MOST_LINES}\n}};")):
        yield "self-check: the scan sees a long function where there is none"
    if not list(function_errors(pathlib.Path("x.py"), "def f():\n" + "    pass\n" * MOST_LINES)):
        yield "self-check: the scan does not see a long function of Python"
    if not list(folder_errors([pathlib.Path(f"lib/X/{i}.cpp") for i in range(MOST_FILES + 1)])):
        yield "self-check: the scan does not see a large folder"
    visible, hidden = "namespace a {\nstruct B : C {};\n}", "namespace a {\nnamespace {\nstruct B {};\n}\n}"
    for one, other, errors in ((visible, visible, 1), (visible, hidden, 1), (hidden, hidden, 0),
                               (visible, visible.replace("B", "D"), 0)):
        if len(list(class_errors({pathlib.Path("X.h"): one, pathlib.Path("Y.cpp"): other}))) != errors:
            yield f"self-check: the scan does not find {errors} repeated classes in {one} and {other}"
    for pairs, errors in (([("a", "b"), ("b", "c"), ("c", "a")], 1), ([("a", "b"), ("a", "c"), ("b", "c")], 0)):
        cycle = {name: {b for a, b in pairs if a == name} for name in "abc"}
        if len(list(cycle_errors(cycle))) != errors:
            yield f"self-check: the scan does not find {errors} cycles of includes in {pairs}"
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
    every = files()
    paths = [p for p in every if p.suffix in (".h", ".cpp", ".td")]
    texts = {p: (ROOT / p).read_text() for p in every if p.suffix in (".h", ".cpp", ".td", ".py")}
    checks.append([e for p in paths for e in include_errors(p, texts[p])])
    checks.append(list(cycle_errors(includes_of({p: texts[p] for p in paths}))))
    checks.append(list(folder_errors(every)))
    checks.append([e for p, text in texts.items() if p.suffix != ".td" for e in function_errors(p, text)])
    # A stand-in replaces a library, so it defines classes of the same names.
    checks.append(list(class_errors({p: text for p, text in texts.items()
                                     if p.suffix in (".h", ".cpp") and p.parts[:2] != ("test", "standins")})))
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
