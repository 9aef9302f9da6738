"""Follows docs/contributing: applies the edits of its pages to a copy of the tree, builds the changed parts and runs the added
tests.

Objects of changed files are compiled as in the build folder, and linked before its libraries, so that little is built. With
ST_ALL=1 the copy is built from its own CMake files as well.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build"))
PAGES = ["add-an-op.md", "add-a-differentiation-rule.md", "add-a-pass.md", "add-a-collective-algorithm.md",
         "add-a-device-description.md", "add-a-model-family.md", "add-a-backend.md"]
TOOLS = ["st-opt", "st-translate", "st-dtu-run"]
BLOCK = re.compile(r"^```(\w+) (create|edit|run)\b([^\n]*)\n(.*?)^```$", re.M | re.S)
INSERTION = re.compile(r'^=(\S+)(?: (after|before|replace)="(.*)")?$')


class Failure(Exception):
    pass


def run(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))[:300]}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def ccache_settings(base):
    """As in scripts/setup.sh: ccache finds objects again under another `base`."""
    return {**os.environ, "CCACHE_BASEDIR": str(base), "CCACHE_NOHASHDIR": "1", "CCACHE_PCH_EXTSUM": "1",
            "CCACHE_SLOPPINESS": "pch_defines,time_macros"}


class Recipe:
    """The blocks of the pages, in order."""

    def __init__(self, pages):
        self.edits, self.commands, self.new, self.changed = [], [], [], []
        for page in pages:
            text = (ROOT / "docs/contributing" / page).read_text()
            blocks = BLOCK.findall(text)
            if len(re.findall(r"^```\w+ (?:create|edit|run)", text, re.M)) != len(blocks):
                raise Failure(f"{page}: a block is not closed")
            for _, kind, rest, body in blocks:
                if kind == "run":
                    self.commands.append((page, body))
                else:
                    self.edits.append((page, kind, rest, body))

    def apply(self, tree):
        for page, kind, rest, body in self.edits:
            match = INSERTION.match(rest)
            if not match or (kind == "edit") != (match[2] is not None):
                raise Failure(f"{page}: {kind}{rest}: expected create=FILE, or edit=FILE with after, before or replace")
            path = tree / match[1]
            if kind == "create":
                if path.exists():
                    raise Failure(f"{page}: {match[1]} exists already")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(body)
                self.new.append(match[1])
            else:
                insert(page, path, match[2], match[3], body)
                self.changed.append(match[1])


def insert(page, path, where, anchor, body):
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    found = [i for i, line in enumerate(lines) if line.rstrip("\n") == anchor]
    if len(found) != 1:
        raise Failure(f"{page}: {path.name}: expected the line {anchor!r} once, found it {len(found)} times")
    at = found[0] + (where == "after")
    lines[at:at + (where == "replace")] = [body]
    path.write_text("".join(lines))


def copy_tree(to):
    """Copies files that git tracks, and new ones that it does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if not {".git", "build", ".venv"} & set(p.relative_to(ROOT).parts)]
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)


def check_paths(tree):
    """Files and folders of the tree that the pages name exist, including the added ones."""
    for page in sorted((tree / "docs/contributing").glob("*.md")):
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for name in re.findall(r"`((?:backends|devices|dialects|docs|include|lib|passes|test|tools)/[\w./-]+)`", text):
            if not (tree / name).exists() and "NAME" not in name:
                raise Failure(f"{page.name}: names {name}, which does not exist")


class TouchedBuild:
    """Objects of the files that the pages touch, and the tools linked with them."""

    def __init__(self, tree, recipe, folder):
        self.tree, self.recipe, self.folder = tree, recipe, folder
        self.entries = {entry["file"]: entry for entry in json.loads((BUILD / "compile_commands.json").read_text())}

    def generate(self):
        """Runs st_tablegen for the changed folders, into a folder that is searched before the build's."""
        for td in {p for p in self.recipe.new + self.recipe.changed if p.endswith(".td")}:
            cmake = (self.tree / td).parent / "CMakeLists.txt"
            call = re.search(rf"st_tablegen\(\w+ {re.escape(pathlib.Path(td).name)}\s+(.*?)\)", cmake.read_text(), re.S)
            if not call:
                raise Failure(f"{cmake}: no st_tablegen of {td}")
            for output, flags in re.findall(r'(\S+) "(.*?)"', call[1]):
                target = self.folder / "generated" / pathlib.Path(td).parent / output
                target.parent.mkdir(parents=True, exist_ok=True)
                run(["/usr/lib/llvm-22/bin/mlir-tblgen", *flags.split(), f"-I{self.tree}", "-I/usr/lib/llvm-22/include",
                     self.tree / td, "-o", target])

    def command_for(self, source):
        """The build's command; a new file is compiled like another file of its folder, or of any folder of the
        compiler."""
        entry = self.entries.get(str(ROOT / source))
        if entry is None:
            neighbours = sorted(file for file in self.entries if pathlib.Path(file).parent == (ROOT / source).parent)
            entry = self.entries[neighbours[0] if neighbours else str(ROOT / "lib/Driver/InitAll.cpp")]
        words = shlex.split(entry["command"])
        words = words[words.index(next(w for w in words if "clang++" in w or "c++" in w)):]
        output = words.index("-o")
        del words[output:output + 2]
        words = words[:words.index("-c")]
        # Of the precompiled headers, only this one has no dialect of the build's tree.
        words = [re.sub(r"st_(dialects|gpu)_pch", "st_compiler_pch", word) for word in words]
        return [f"-I{self.tree}{w[len(str(ROOT)) + 2:]}" if w in (f"-I{ROOT}", f"-I{ROOT}/include") else w for w in words], entry["directory"]

    def compile(self, source):
        command, directory = self.command_for(source)
        command.insert(1, f"-I{self.folder / 'generated'}")
        launcher = ["ccache"] if shutil.which("ccache") else []
        output = self.folder / (source.replace("/", "_") + ".o")
        run([*launcher, *command, "-c", self.tree / source, "-o", output], cwd=directory, env=ccache_settings(ROOT))
        return output

    def sources(self):
        touched = dict.fromkeys(p for p in self.recipe.new + self.recipe.changed if p.endswith(".cpp"))
        # It includes the declarations that Passes.td generates.
        return list(touched) + ([] if "lib/Driver/InitAll.cpp" in touched else ["lib/Driver/InitAll.cpp"])

    def link(self, tool, archive):
        """The build's own command, with our archive before its libraries: a linker uses the first definition."""
        listed = run(["ninja", "-C", BUILD, "-t", "commands", f"bin/{tool}"]).splitlines()
        command = next(line for line in reversed(listed) if f"-o bin/{tool} " in line)
        command = command.replace(f"-o bin/{tool} ", f"-o {self.folder}/bin/{tool} {archive} ")
        run(["bash", "-c", command], cwd=BUILD)

    def build(self):
        (self.folder / "bin").mkdir()
        self.generate()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            archive = self.folder / "touched.a"
            run(["ar", "rcs", archive, *pool.map(self.compile, self.sources())])
            list(pool.map(lambda tool: self.link(tool, archive), TOOLS))
        return self.folder / "bin"


def run_lit(tree, tools, recipe, folder):
    """The lit files that the pages add, and those of the collectives, whose code one of the pages changes."""
    config = (BUILD / "test/lit.site.cfg.py").read_text()
    config = config.replace(str(BUILD / "bin"), f"{tools}").replace(str(ROOT / "test"), str(tree / "test"))
    config = config.replace(f'st_source_dir = "{ROOT}"', f'st_source_dir = "{tree}"').replace(
        f'st_build_dir = "{BUILD}"', f'st_build_dir = "{folder}"')
    (folder / "test").mkdir(exist_ok=True)
    (folder / "test/lit.site.cfg.py").write_text(config)
    files = [p for p in recipe.new if p.startswith("test/") and p.endswith(".mlir")] + ["test/Dtu/collectives.mlir"]
    lit = run(["llvm-config-22", "--bindir"]).strip()
    shown = run([sys.executable, f"{lit}/lit", "-v", *(folder / p for p in files)])
    if len(re.findall(r"^PASS: ", shown, re.M)) != len(files):
        raise Failure(f"lit: expected {len(files)} files to pass\n{shown}")


def run_commands(tree, tools, recipe):
    path = f"{tools}:{BUILD / 'bin'}:{os.environ['PATH']}"
    for page, body in recipe.commands:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=tree, capture_output=True, text=True,
                              env={**os.environ, "PATH": path})
        if done.returncode != 0:
            raise Failure(f"{page}: exit {done.returncode} of\n{body}{done.stdout[-2000:]}{done.stderr[-2000:]}")


def build_whole(tree):
    """Builds from the copy's own CMake files, as someone who follows the pages does."""
    settings = ccache_settings(tree)
    run(["cmake", "--preset", "default"], cwd=tree, env=settings)
    run(["ninja", "-C", tree / "build", "-j2", *TOOLS], env=settings)
    return tree / "build/bin"


def check_refusals():
    """An edit whose line does not appear exactly once is refused."""
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("a\na\nb\n")
        file.flush()
        for anchor in ("a", "c"):
            try:
                insert("page", pathlib.Path(file.name), "after", anchor, "x\n")
            except Failure:
                continue
            raise Failure(f"an edit after {anchor!r} was applied, expected a refusal")


def main():
    passed = failed = 0
    # The name is the same each time, so that ccache finds the objects again.
    folder = BUILD / "recipes"
    tree = folder / "tree"
    shutil.rmtree(folder, ignore_errors=True)
    tree.mkdir(parents=True)
    try:
        check_refusals()
        copy_tree(tree)
        recipe = Recipe(PAGES)
        recipe.apply(tree)
        check_paths(tree)
        tools = TouchedBuild(tree, recipe, folder).build()
        run_lit(tree, tools, recipe, folder)
        run_commands(tree, tools, recipe)
        passed += 1
        if os.environ.get("ST_ALL") == "1":
            run_lit(tree, build_whole(tree), recipe, folder)
            passed += 1
    except Failure as failure:
        print(failure)
        failed += 1
    shutil.rmtree(folder)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
