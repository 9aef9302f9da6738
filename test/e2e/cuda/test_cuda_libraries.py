"""Deficiencies of NVIDIA's libraries, on stand-ins: a missing library or dependency, a missing algorithm, low speed.

A program then uses a fallback and prints one line, or ends with a line that names the missing part.
"""

import ctypes
import json
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import cuda_standins as standins
import st_testing as st
from process_launchers import MPIRUN
from test_cuda_driver import MODELS, SEED, compile_for_host, h100_host, train
from test_cuda_training import BERT, parallel

# A BERT with the GELU that cuBLASLt has.
MODELS["bert, gelu_new"] = ({**BERT, "hidden_act": "gelu_new"}, "mlm")
KINDS = {"no-gelu": " gelu aux", "no-gelu-gradient": " gelu_gradient aux", "no-sums": " sums of "}


def falls_back(precision, kinds, bound):
    """If cuBLASLt has no algorithm for an epilogue, kernels after the product compute the same except for 16-bit
    rounding."""
    def check(folder):
        binary = compile_for_host(folder, "bert, gelu_new", parallel(precision), h100_host(folder))
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
        epilogues = re.findall(r"^ *product (.*) or$", text, re.M)
        st.expect(all(any(KINDS[kind] in line for line in epilogues) for kind in kinds), f"not all of {kinds}: {epilogues}")
        expected, _ = train(binary, folder, "host")
        gpu, env = standins.for_gpu(binary)
        env["ST_STANDIN_SEED"] = str(SEED)
        whole, said = train(gpu, folder, "whole", env)
        st.expect(whole == expected and "products:" not in said, said)
        for words in (*kinds, ",".join(kinds)):
            trace = folder / f"trace-{words}.json"
            found, said = train(gpu, folder, words, {**env, "ST_STANDIN_BLASLT": words, "ST_CACHE_DIR": str(folder / words)}, (),
                                f"--trace={trace}")
            refused = sum(any(KINDS[word] in line for word in words.split(",")) for line in epilogues)
            line = re.search(r"^products: (\d+) of (\d+) epilogues run as separate kernels: cuBLASLt has no algorithm for a product "
                             rf"{precision} to (?:bf16|f32) of .*$", said, re.M)
            st.expect(line and (int(line[1]), int(line[2])) == (refused, len(epilogues)), f"{words}: {refused} of {len(epilogues)}: {said}")
            difference = max(abs(x - y) for x, y in zip(found[0], expected[0]))
            st.expect(difference < bound, f"{words}: ST_SEED={SEED - 1}: losses {found[0]}, expected {expected[0]}")
        kernels = [event["name"] for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
        st.expect(sum(name.startswith(f"product {precision}") for name in kernels) >= len(epilogues), "products are not traced")
        return f"{len(epilogues)} epilogues"
    return check


def times_products(folder):
    """The fastest algorithm is taken, and epilogues only if they are faster; later runs and other processes choose the
    same."""
    binary = compile_for_host(folder, "bert, gelu_new", parallel("bf16"), h100_host(folder))
    expected, _ = train(binary, folder, "host")
    gpu, env = standins.for_gpu(binary)
    env["ST_STANDIN_SEED"] = "0"
    timed = ("--products=timed",)

    def choices():
        (file,) = (folder / "cache").iterdir()
        rows = [line.split("\t") for line in file.read_text().splitlines()]
        return file, {row[0]: row[1:] for row in rows if row[0].endswith(" timed")}

    # A slow algorithm is not taken: 1 MiB of workspace identifies the first algorithm.
    train(gpu, folder, "first", {**env, "ST_STANDIN_BLASLT": "slow-first"}, (), *timed)
    file, found = choices()
    st.expect(len(found) > 10 and all(int(row[0]) != 1 << 20 for row in found.values()), f"{found}")
    file.unlink()
    slow, said = train(gpu, folder, "slow", {**env, "ST_STANDIN_BLASLT": "slow-epilogues"}, (), *timed)
    file, found = choices()
    apart = {key for key, row in found.items() if row[2:] == ["apart"]}
    epilogues = {key for key in found if re.search("gelu|sums", key)}
    st.expect(apart and apart == epilogues, f"{apart} of {epilogues}")
    st.expect(re.search(r"^products: (\d+) of \1 epilogues run as separate kernels, which take less time$", said, re.M), said)
    # A later run follows the file, even if the choice is slow there.
    made = file.stat().st_mtime_ns
    again, said = train(gpu, folder, "again", env, (), *timed)
    st.expect(again == slow and file.stat().st_mtime_ns == made and "which take less time" in said, said)
    # A proposed algorithm that does not run is not chosen.
    file.unlink()
    found, _ = train(gpu, folder, "fails", {**env, "ST_STANDIN_BLASLT": "first-fails,no-sums"}, (), *timed)
    difference = max(abs(x - y) for x, y in zip(found[0], expected[0]))
    st.expect(difference < 5e-4, f"losses {found[0]}, expected {expected[0]}")
    return f"{len(epilogues)} epilogues"


def processes_agree(folder):
    """Processes for which other algorithms are the fastest use those of the first process, and so compute the same
    bits."""
    binary = compile_for_host(folder, "gpt2", parallel("bf16", data=2))
    gpu, env = standins.for_gpu(binary, gpus=1)  # Two GPUs would be of different kinds.
    env["ST_STANDIN_SEED"] = "0"
    timed = ("--products=timed",)
    (whole, _), (slow, said) = [train(gpu, folder, name, {**env, "ST_CACHE_DIR": str(folder / name), "ST_STANDIN_BLASLT": words}, (),
                                      *flags) for name, words, flags in (("whole", "", ()), ("slow", "slow-epilogues", timed))]
    st.expect(whole != slow and "take less time" in said, f"the way makes no difference: {slow[0]}; {said}")
    choose = folder / "choose"
    choose.write_text('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] && export ST_STANDIN_BLASLT=slow-epilogues\n'
                      f'export ST_CACHE_DIR={folder}/of-$OMPI_COMM_WORLD_RANK\nexec "$@"\n')
    choose.chmod(0o755)
    found, said = train(gpu, folder, "processes", env, [*MPIRUN, "-np", "2", choose], *timed)
    st.expect(found == slow and "take less time" in said, f"losses {found[0]}, of one process {slow[0]}; {said}")


def missing_libraries(folder):
    """Errors name what the loader missed; a Python environment's libraries and their dependencies are found there."""
    gpu, env = standins.for_gpu(compile_for_host(folder, "gpt2", parallel("f32")))
    packages, own = folder / "site-packages", folder / "own"
    own.mkdir()
    needed = ["int needed(void) { return 0; }", "int needed(void); int needs(void) { return needed(); }"]
    for name, source, folders, others in (("libst-needed.so.1", needed[0], "nvidia/first/lib", ()),
                                          ("libst-needs.so.1", needed[1], "nvidia/second/lib", ("first/lib/libst-needed.so.1",))):
        path = packages / folders / name
        path.parent.mkdir(parents=True)
        code = folder / "code.c"
        code.write_text(source)
        st.check_run(["clang-22", "-shared", "-fPIC", code, "-o", path, f"-Wl,-soname,{name}",
                      *(packages / "nvidia" / other for other in others)])
    # cuBLASLt's stand-in needs another library in another folder.
    blas = packages / "nvidia/cu13/lib/libcublasLt.so.13"
    blas.parent.mkdir(parents=True)
    code.write_text("int needs(void); size_t cublasLtGetVersion(void);".replace("size_t", "unsigned long") +
                    "int cublasLtCall(void) { return needs() + (int)cublasLtGetVersion(); }")
    st.check_run(["clang-22", "-shared", "-fPIC", code, "-o", blas, "-Wl,-soname,libcublasLt.so.13", "-Wl,--no-as-needed",
                  packages / "nvidia/second/lib/libst-needs.so.1", standins.LIBRARIES / "libcublasLt.so",
                  f"-Wl,-rpath,{standins.LIBRARIES}", f"-Wl,-rpath-link,{packages / 'nvidia/first/lib'}"])
    for name in ("libcuda.so.1", "libnccl.so.2", "libcudnn.so.9"):
        (own / name).symlink_to(standins.LIBRARIES / name)
    # Used instead of libraries that the machine may have, where the loader looks last.
    none = folder / "none"
    none.mkdir()
    for name in ("libcublasLt.so", "libcublasLt.so.12", "libcublasLt.so.13"):
        (none / name).write_text("")
    env = {**env, "LD_LIBRARY_PATH": f"{own}:{standins.LIBRARIES}"}
    st.check_run([gpu, "--steps=1"], env={**env, "ST_CUDA_LIBRARIES": f"{folder / 'nowhere'}:{packages}"})
    st.check_run([gpu, "--steps=1"], env={**env, "ST_CUDA_LIBRARIES": f"{blas.parent}:{packages}"})
    # Without its folder, and without one library.
    (packages / "nvidia/first/lib/libst-needed.so.1").unlink()
    env["LD_LIBRARY_PATH"] = f"{own}:{none}"
    for name, libraries, line in (
            ("none", "", f"libcublasLt.so cannot be opened; it comes with CUDA and multiplies matrices: .*libcublasLt.so: file too "
             "short (ST_CUDA_LIBRARIES names folders"),
            ("dependency", str(packages), "libcublasLt.so cannot be opened; it comes with CUDA and multiplies matrices: "
             "libst-needed.so.1: cannot open shared object file: No such file or directory (ST_CUDA_LIBRARIES names folders")):
        done = st.run([gpu, "--steps=1"], env={**env, "ST_CUDA_LIBRARIES": libraries})
        pattern = re.escape(line).replace(r"\.\*", ".*")
        st.expect(done.returncode == 1 and re.search(pattern, done.stderr) and done.stderr.count("error:") == 1,
                  f"{name}: exit {done.returncode}: {done.stderr}")


class Blas:
    """A product as the stand-in of cuBLASLt takes it, with parts that can be wrong."""

    def __init__(self):
        self.library = ctypes.CDLL(str(standins.LIBRARIES / "libcublasLt.so"))
        self.compute, self.scale, self.types = 68, 0, [14, 14, 14, 14]  # Computes in f32; a, b, c and d are bf16.
        self.rows, self.columns, self.leading = [64, 32, 64, 64], [32, 16, 16, 16], [64, 32, 64, 64]
        self.epilogue, self.bias, self.aux, self.aux_leading = 1, 0, 0, 0
        self.workspace, self.alignments = 32 << 20, [16, 16, 16, 16]

    def _set(self, function, handle, attribute, value):
        st.expect(getattr(self.library, function)(handle, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))) == 0,
                  f"{function} {attribute}")

    def make(self):
        """The descriptor and the layouts; none if one is refused."""
        self.desc, self.layouts = ctypes.c_void_p(), []
        self.library.cublasLtMatmulDescCreate(ctypes.byref(self.desc), self.compute, self.scale)
        for attribute, value in ((7, ctypes.c_uint32(self.epilogue)), (8, ctypes.c_uint64(self.bias)), (11, ctypes.c_uint64(self.aux)),
                                 (12, ctypes.c_int64(self.aux_leading))):
            self._set("cublasLtMatmulDescSetAttribute", self.desc, attribute, value)
        for kind, rows, columns, leading in zip(self.types, self.rows, self.columns, self.leading):
            self.layouts.append(ctypes.c_void_p())
            if self.library.cublasLtMatrixLayoutCreate(ctypes.byref(self.layouts[-1]), kind, ctypes.c_uint64(rows),
                                                       ctypes.c_uint64(columns), ctypes.c_int64(leading)):
                return False
        return True

    def propose(self, most=8):
        """The status, and the workspace of each algorithm."""
        if not self.make():
            return 7, []
        preference, count = ctypes.c_void_p(), ctypes.c_int()
        self.library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference))
        self._set("cublasLtMatmulPreferenceSetAttribute", preference, 1, ctypes.c_uint64(self.workspace))
        for i, alignment in enumerate(self.alignments):
            self._set("cublasLtMatmulPreferenceSetAttribute", preference, 5 + i, ctypes.c_uint32(alignment))
        self.found = (ctypes.c_uint64 * (12 * most))()
        status = self.library.cublasLtMatmulAlgoGetHeuristic(None, self.desc, *self.layouts, preference, most, self.found,
                                                             ctypes.byref(count))
        return status, [self.found[12 * i + 8] for i in range(count.value)]

    def accepts(self, other):
        """Returns True if an algorithm of another product is valid for this one."""
        result = (ctypes.c_uint64 * 12)()
        return self.make() and self.library.cublasLtMatmulAlgoCheck(None, self.desc, *self.layouts, other.found, result) == 0


def refuses(folder):
    """The stand-in of cuBLASLt has no algorithm for undocumented combinations."""
    invalid, unsupported = 7, 15
    plain = Blas()
    st.expect(plain.propose() == (0, [1 << 20, 0, 0, 4 << 20]), f"{plain.propose()}")
    st.expect(plain.propose(most=2) == (0, [1 << 20, 0]), "more algorithms than are asked for")
    cases = [("f32 by f64", unsupported, {"compute": 70}), ("scale of f64", unsupported, {"scale": 1}),
             ("f16 and bf16", unsupported, {"types": [2, 14, 14, 14]}), ("f32 to bf16", unsupported, {"types": [0, 0, 14, 14]}),
             ("c of another type", unsupported, {"types": [14, 14, 0, 14]}), ("tf32 of bf16", unsupported, {"compute": 77}),
             ("an epilogue of f64", unsupported, {"compute": 70, "scale": 1, "types": [1] * 4, "epilogue": 4, "bias": 64}),
             ("a leading dimension", invalid, {"leading": [63, 32, 64, 64]}), ("rows", invalid, {"rows": [64, 31, 64, 64]}),
             ("an unknown epilogue", unsupported, {"epilogue": 3}), ("no bias", unsupported, {"epilogue": 4}),
             ("a bias between elements", unsupported, {"epilogue": 4, "bias": 33}), ("no aux", unsupported, {"epilogue": 160}),
             ("aux rows of 68", unsupported, {"epilogue": 160, "aux": 64, "aux_leading": 68}),
             ("aux rows of 56", unsupported, {"epilogue": 192, "aux": 64, "aux_leading": 56}), ("no sums", unsupported, {"epilogue": 256}),
             ("an alignment below an element", unsupported, {"alignments": [1] * 4})]
    for name, status, changes in cases:
        changed = Blas()
        vars(changed).update(changes)
        st.expect(changed.propose() == (status, []), f"{name}: {changed.propose()}, expected {status}")
    # Operands with lower alignment, by address or leading dimension, have other algorithms; so have products with less
    # workspace.
    for name, changes, expected in (("addresses", {"alignments": [2, 16, 16, 16]}, [0, 4 << 20]),
                                    ("a leading dimension", {"leading": [66, 32, 64, 64]}, [0, 4 << 20]),
                                    ("workspace", {"workspace": 1 << 20}, [1 << 20, 0, 0]), ("none", {"workspace": 0}, [0, 0]),
                                    ("an epilogue", {"epilogue": 160, "aux": 64, "aux_leading": 64}, [1 << 20, 0, 0, 4 << 20])):
        changed = Blas()
        vars(changed).update(changes)
        st.expect(changed.propose() == (0, expected), f"{name}: {changed.propose()}")
        st.expect(changed.accepts(changed) and changed.accepts(plain) == (name in ("addresses", "workspace", "none")), name)
    return f"{len(cases)} cases"


CASES = [("epilogues of f32 that cuBLASLt lacks", falls_back("f32", [*KINDS], 1e-5)),
         ("epilogues of bf16 that cuBLASLt lacks", falls_back("bf16", ["no-gelu-gradient", "no-sums"], 5e-4)),
         ("products are timed", times_products),
         ("processes choose alike", processes_agree),
         ("libraries are missing", missing_libraries), ("the stand-in of cuBLASLt refuses", refuses)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
