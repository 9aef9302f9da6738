"""Writes a folder with everything that scripts/gpu-check.sh needs on a machine that has a GPU but not St.

  scripts/gpu-bundle.sh [DIR] [--chips=sm_80,sm_90] [--stages=NAME,...] [--build=build] [--large-steps=20] [--standins] [--small]

Needs a build of st-compile, st-translate and st-runner, and ptxas. Expected losses come from this machine: those of small models
from the same kernels on the host, those of BERT-large from the DTU simulator in --large-steps steps of 1 x 128, which takes
about 8 GiB of memory and several minutes. --standins makes a bundle for the libraries of test/standins instead of
NVIDIA's, with a small model for BERT-large; --small leaves out the programs that compile slowly.
"""

import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import tools
from tools import ROOT, Failed, run

MOST_BYTES = 60 * 10**6
LIBRARIES_OF_STANDINS = ("libcuda.so.1", "libcublasLt.so", "libcudnn.so.9", "libnccl.so.2")


class Bundle:
    """The folder of the bundle. The add_* methods add files and record their checksums."""

    def __init__(self, options, work):
        self.folder, self.work, self.stages = options.folder, work, options.stages
        self.is_standins, self.is_small = options.standins, options.small
        self.large_steps = options.large_steps
        self.build, self.bin = options.build, options.build / "bin"
        self.chips = ["sm_90"] if self.is_standins else options.chips
        self.environment = dict(os.environ)
        if not self.is_standins:
            self.environment["PATH"] = f"{tools.find_assembler()}{os.pathsep}{os.environ['PATH']}"
        runner, glibc = tools.bare_runner(self.bin / "st-runner", work)
        self.manifest = {"format": 1, "made_of": tools.describe_checkout(), "chips": self.chips, "glibc": glibc, "files": {},
                         "rows": [], "least": {"cudnn": tools.constant_of("libraries/CudnnLibrary.h", "kCudnnMinVersion"),
                                               "nccl": tools.constant_of("libraries/DriverLibraries.h", "kNcclMinVersion")}}
        self.add_file("runner.gz", runner)
        self.host_target = self.describe_host()

    def describe_host(self):
        """Describes this machine with the figures of an H100, with which attention does not keep scores."""
        text = (ROOT / "devices/cuda-sm_90.textproto").read_text().replace('chip: "sm_90"', 'chip: "host"')
        target = self.work / "cuda-bundle-host.textproto"
        target.write_text(text.replace('name: "cuda-sm_90"', 'name: "cuda-bundle-host"'))
        return target

    def wants(self, *stages):
        return not self.stages or any(stage in self.stages for stage in stages)

    def add_row(self, row):
        if self.wants(row["stage"]):
            self.manifest["rows"].append(row)

    def add_file(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".gz"):
            data = gzip.compress(data, 9, mtime=0)
        path.write_bytes(data)
        self.manifest["files"][name] = hashlib.sha256(data).hexdigest()

    # ---- programs -------------------------------------------------------------------------------

    def compile(self, source, target, flags, name):
        binary = self.work / name
        run([self.bin / "st-compile", "-q", source, f"--target={target}", "--predict=false", *flags, "-o", binary],
            env=self.environment)
        return binary

    def add_program(self, name, source, flags, expects=""):
        """Compiles a program for each chip; `expects` is a regular expression that its commands match. Returns the
        binary for the host, if there is one."""
        if self.is_standins:
            binary = self.compile(source, self.host_target, flags, f"{name}-host")
            self.expect_commands(name, binary, expects)
            self.add_for_standins(name, binary)
            return binary
        for chip in self.chips:
            binary = self.compile(source, f"cuda-{chip}", flags, f"{name}-{chip}")
            text = self.expect_commands(name, binary, expects)
            if re.search("ptx of", text) and not re.search(f"{chip}, cubin of", text):
                raise Failed(f"{name}: has PTX, but no cubin for {chip}")
            self.add_file(f"programs/{chip}/{name}.gz", tools.program_of(binary))
            binary.unlink()
        print(f"  {name}", file=sys.stderr, flush=True)
        return None

    def expect_commands(self, name, binary, expects):
        text = run([self.bin / "st-translate", "--executable-to-text", binary])
        if expects and not re.search(expects, text):
            raise Failed(f"{name}: expected a program with {expects}, found {text[text.index('task'):][:500]}")
        return text

    def add_for_standins(self, name, binary):
        sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())
        import cuda_standins
        changed, settings = cuda_standins.for_gpu(binary, ptx=True)
        self.add_file(f"programs/sm_90/{name}.gz", tools.program_of(changed))
        self.add_file(f"programs/sm_90/{name}.kernels", pathlib.Path(settings["ST_STANDIN_KERNELS"]).read_bytes())

    def parallel_flags(self, parallel, name):
        if parallel is None:
            return []
        path = self.work / f"{name}.json"
        path.write_text(json.dumps(parallel))
        return [f"--parallel={path}"]

    def add_model(self, name, config, parallel, flags, steps, expected_on=None):
        """Adds a training program, and the losses of some steps on the host or on another target."""
        model = self.work / f"{name}-model"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(config))
        flags = [*flags, *self.parallel_flags(parallel, name)]
        binary = self.add_program(name, model, flags)
        if not steps:
            return []
        if expected_on or not binary:
            binary = self.compile(model, expected_on or self.host_target, flags, f"{name}-expected")
        metrics = self.work / f"{name}.metrics"
        run([binary, f"--steps={steps}", f"--metrics={metrics}"])
        losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
        if len(set(losses)) != steps:
            raise Failed(f"{name}: the loss does not move: {losses}")
        return losses

    def add_once(self, name, text, inputs, parallel=None, expects=""):
        """Adds a program that runs once, with its inputs and the reference interpreter's results, and returns these."""
        from safetensors.numpy import load_file, save_file
        source, given, wanted = (self.work / f"{name}.{kind}" for kind in ("mlir", "in", "wanted"))
        source.write_text(text)
        save_file(inputs, given)
        run([self.bin / "st-translate", "--interpret", source, f"--inputs={given}", f"--outputs={wanted}"])
        self.add_program(name, source, self.parallel_flags(parallel, name), expects)
        for path in (given, wanted):
            self.add_file(f"tensors/{path.name}.gz", path.read_bytes())
        return load_file(wanted)

    # ---- the rest -------------------------------------------------------------------------------

    def add_standins(self):
        """Adds the libraries and their dependencies other than glibc."""
        folder = self.folder / "standins"
        folder.mkdir()
        paths = {self.build / "standins" / name for name in LIBRARIES_OF_STANDINS}
        for library in list(paths):
            for line in run(["ldd", library]).splitlines():
                parts = line.split()
                if "=>" in parts and parts[0].startswith(("libstdc++", "libgcc_s")):
                    paths.add(pathlib.Path(parts[2]))
        for path in paths:
            shutil.copy(path, folder / path.name)
        for row in self.manifest["rows"]:
            row["environment"] = {"ST_STANDIN_KERNELS": f"{{bundle}}/programs/sm_90/{row['program']}.kernels"}
        self.manifest["environment"] = {"LD_LIBRARY_PATH": "{bundle}/standins"}

    def finish(self):
        shutil.copytree(ROOT / "scripts/gpu_check", self.folder / "gpu_check", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "scripts/gpu-check.sh", self.folder / "gpu-check.sh")
        (self.folder / "bundle.json").write_text(json.dumps(self.manifest, indent=1))
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file() and "standins" not in path.parts)
        if size > MOST_BYTES:
            raise Failed(f"{self.folder}: {size / 1e6:.1f} MB, expected at most {MOST_BYTES / 1e6:.0f}")
        return size


def add_small_programs(bundle):
    import small_programs
    for stage, make in small_programs.STAGES.items():
        if not bundle.wants(stage):
            continue
        for small in make()[:3 if bundle.is_small else None]:
            name = f"{stage}-{small.name}".replace(" ", "-")
            parallel = {"mode": "sharding", "data": 1, "precision": {"products": small.products}}
            bundle.add_once(name, small.text, small.inputs, parallel, small.expects)
            bundle.add_row({"stage": stage, "name": small.name, "program": name, "inputs": f"{name}.in", "wanted": f"{name}.wanted",
                            "bounds": small.bounds, "call": small.call, "limit": 10,
                            # Tests an epilogue even if a kernel would be faster.
                            "flags_if_known": ["--products=first"], "needs": ["runner", "driver"] + ["cublasLt"] * (stage != "loop")})


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu-bundle.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path("gpu-bundle"))
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")))
    parser.add_argument("--chips", type=lambda text: text.split(","), default=["sm_80", "sm_90"])
    parser.add_argument("--stages", type=lambda text: text.split(","), default=[])
    parser.add_argument("--large-steps", type=int, default=20, help="0: no losses of BERT-large from the simulator")
    parser.add_argument("--standins", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    options.folder, options.build = options.folder.resolve(), options.build.resolve()
    return options


def main():
    options = parse_arguments()
    try:
        if options.folder.exists() and any(options.folder.iterdir()):
            raise Failed(f"{options.folder}: expected a folder that is empty or not there")
        options.folder.mkdir(parents=True, exist_ok=True)
        import conformance
        import models
        with tempfile.TemporaryDirectory(prefix="gpu-bundle-") as work:
            bundle = Bundle(options, pathlib.Path(work))
            add_small_programs(bundle)
            models.add_small(bundle)
            models.add_ranks(bundle)
            models.add_large(bundle)
            models.add_peer(bundle)
            conformance.add(bundle)
            if options.standins:
                bundle.add_standins()
            size = bundle.finish()
    except (Failed, OSError) as error:
        print(f"gpu-bundle: error: {error}", file=sys.stderr)
        return 1
    print(f"{options.folder}: {size / 1e6:.1f} MB, {len(bundle.manifest['rows'])} rows for {', '.join(bundle.chips)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
