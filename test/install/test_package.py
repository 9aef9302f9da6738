"""Packages St for users: the tarball runs in a root folder that has only glibc, the Debian package names all its
dependencies, and a program outside of the tree finds St and adds a pass.

The test builds only that program; the build folder must be complete.
"""

import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "test/e2e/common"))
from bare_root import BareRoot
from st_testing import SMALL_BERT, Failure, check_run, expect, run, write_json

TOOLS = ["st-compare", "st-compile", "st-fit", "st-lsp-server", "st-opt", "st-plan", "st-reduce", "st-runner", "st-translate", "st-tune"]


def pack(folder):
    """Both packages, as in the preset except for the compression, which would take longer than everything else."""
    check_run(["cpack", "-G", "TZST;DEB", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", "--config", BUILD / "CPackConfig.cmake",
               "-B", folder], cwd=BUILD)
    return next(folder.glob("*.tar.zst")), next(folder.glob("*.deb"))


def contents_of(folder):
    for tool in TOOLS:
        expect((folder / "bin" / tool).is_file(), f"expected bin/{tool}")
    for name in ("share/st/devices/dtu-t10.textproto", "share/st/devices/clusters/dgx-h100-80gb.textproto",
                 "share/bash-completion/completions/st-compile", "share/zsh/vendor-completions/_st", "share/doc/st/docs/tools.md"):
        expect((folder / name).is_file(), f"expected {name}")


def test_tarball(folder, tarball, deb):
    """Unpacked in another folder of another root, without the machine's LLVM and libstdc++, it compiles and trains."""
    root = BareRoot(folder / "root")
    place = root.folder / "some" / "where"
    place.mkdir(parents=True)
    check_run(["cmake", "-E", "tar", "xf", tarball], cwd=place)
    prefix = next(place.iterdir())
    contents_of(prefix)
    write_json(root.folder / "model/config.json", SMALL_BERT | {"num_hidden_layers": 1})
    why_not = root.why_not()
    if why_not:
        print(f"commands keep this root: {why_not}")

    def start(*command):
        """Runs a command with paths inside the root."""
        done = run([str(root.folder) + word if word.startswith("/") else word for word in command]) if why_not else root.run(command)
        expect(done.returncode == 0, f"{command[0]}: exit {done.returncode}: {done.stdout[-500:]} {done.stderr[-2000:]}")
        return done.stdout

    inside = f"/some/where/{prefix.name}/bin"
    for tool in TOOLS:
        start(f"{inside}/{tool}", "--help")
    start(f"{inside}/st-compile", "/model", "--task=mlm", "--seq=16", "--batch=2", "--target=dtu-t10", "-o", "/tmp/train")
    expect("loss" in start("/tmp/train", "--steps=2"), "expected the training binary to print losses")


@functools.cache
def package_of(path):
    """The Debian package that has a library. A link of a development package leads to the file of the needed package; with a
    merged /usr, packages name either path."""
    resolved = str(pathlib.Path(path).resolve())
    return next(done.stdout.split(":")[0] for candidate in (resolved, resolved.removeprefix("/usr"))
                if (done := run(["dpkg", "-S", candidate])).returncode == 0)


def needed_packages(executable):
    """The packages of the shared libraries that the executable names directly."""
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", check_run(["readelf", "-d", executable]).stdout)
    paths = dict(re.findall(r"(\S+) => (/\S+) \(", check_run(["ldd", executable]).stdout))
    return {package_of(paths[name]) for name in names if not name.startswith("ld-linux")}


def test_debian(folder, tarball, deb):
    fields = check_run(["dpkg-deb", "--field", deb, "Package", "Depends", "Architecture"]).stdout
    depends = re.findall(r"[\w.+-]+", re.search(r"Depends: (.*)", fields)[1])
    unpacked = folder / "debian"
    check_run(["dpkg-deb", "-x", deb, unpacked])
    contents_of(unpacked / "usr")
    for tool in TOOLS:
        missing = needed_packages(unpacked / "usr/bin" / tool) - set(depends)
        expect(not missing, f"{tool} needs {missing}, which are not among {depends}")
        check_run([unpacked / "usr/bin" / tool, "--help"])
    expect(not list(unpacked.rglob("libMLIR*")), "expected no library of LLVM in the package")


def test_find_package(folder, tarball, deb):
    """The commands of examples/out-of-tree/README.md."""
    prefix, example = folder / "prefix", folder / "example"
    check_run(["cmake", "--install", BUILD, "--component", "development", "--prefix", prefix])
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if run(["ccache", "--version"]).returncode == 0 else []
    settings = {**os.environ, "CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1"}
    check_run(["cmake", "-S", ROOT / "examples/out-of-tree", "-B", example, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-22",
               f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold", *launcher])
    check_run(["cmake", "--build", example], env=settings)
    done = check_run([example / "example-opt", "--example-count-flops", ROOT / "examples/out-of-tree/product.mlir"])
    expect("remark: takes 1024 floating-point operations" in done.stderr, f"expected 1024 operations, found {done.stderr}")
    done = check_run([example / "example-opt", "--simplify", ROOT / "examples/out-of-tree/product.mlir"])
    expect("stablehlo.dot_general" in done.stdout, f"expected St's own passes as well, found {done.stdout}")


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_run([sys.executable, ROOT / "scripts/completions.py", f"--bin={BUILD / 'bin'}", f"--output={BUILD / 'completions'}"])
        tarball, deb = pack(folder / "packages")
        for test in (test_tarball, test_debian, test_find_package):
            start = time.monotonic()
            try:
                test(folder, tarball, deb)
                print(f"{test.__name__}: {time.monotonic() - start:.0f} s")
                passed += 1
            except Exception:
                print(f"{test.__name__}: {traceback.format_exc()}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
