"""Bad input to st-compile, st-opt and st-translate: one line on stderr, exit 1, nothing written."""

import os
import pathlib
import re
import resource
import shutil
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

TINY_BERT = dict(st.SMALL_BERT, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                 vocab_size=300, max_position_embeddings=16)


def refuse(command, pattern, folder, timeout=60, **options):
    """The command must exit 1 with one line on stderr that matches `pattern`, and leave no file in `folder`."""
    before = sorted(os.listdir(folder))
    done = st.run(command, timeout, **options)
    lines = done.stderr.splitlines()
    st.expect(done.returncode == 1, f"exit {done.returncode}, expected 1\n{done.stderr[-1500:]}")
    st.expect(len(lines) == 1, f"expected one line, found {len(lines)}:\n{done.stderr[-1500:]}")
    st.expect(re.search(pattern, lines[0]), f"{lines[0][:500]!r} does not match {pattern!r}")
    after = sorted(os.listdir(folder))
    st.expect(after == before, f"left files behind: {set(after) - set(before)}")


def tools_on(path):
    """Every way to pass a program to a tool."""
    yield [st.BIN / "st-opt", path]
    yield [st.BIN / "st-translate", "--interpret", path]
    yield [st.BIN / "st-compile", "-q", path, "-o", path.parent / "program"]
    yield [st.BIN / "st-compile", "-q", path, "--compile-from=tasks", "--compile-to=kernels"]


def program_case(name, text, pattern):
    def check(folder):
        path = folder / "in.mlir"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        for command in tools_on(path):
            refuse(command, r"in\.mlir:" + pattern, folder)
        with path.open("rb") as stdin:
            refuse([st.BIN / "st-translate", "--interpret"], "<stdin>:" + pattern, folder, stdin=stdin)
    return f"program: {name}", check


def program_cases():
    deep = r"1:\d+: .*nests at most 256 deep"
    for name, text in (("tuples", "func.func private @f(" + "tuple<" * 50000), ("arrays", "#a = " + "[" * 100000),
                       ("dictionaries", "#a = " + "{a=" * 50000), ("parentheses", "!f = " + "(" * 50000),
                       ("affine parentheses", "#m = affine_map<(d0) -> (" + "(" * 50000),
                       ("fused locations", "module {} loc(" + "fused[" * 50000),
                       ("named locations", "module {} loc(" + '"a"(' * 50000)):
        yield program_case(f"deep {name}", text, deep)
    yield program_case("deep modules", "module {\n" * 20000, r"257:8: .*nests at most 256 deep")
    yield program_case("aliases of aliases", "#a0 = [1]\n" + "".join(
        f"#a{i} = [#a{i - 1}]\n" for i in range(1, 60000)), r"\d+:\d+: .*nests at most 256 deep")
    yield program_case("aliases that double", "!a0 = i32\n" + "".join(
        f"!a{i} = tuple<!a{i - 1}, !a{i - 1}>\n" for i in range(1, 60)), r"\d+:\d+: .*at most 1048576 others")
    long = r"1:\d+: .*at most 1000 operators"
    yield program_case("long negation", "#m = affine_map<(d0) -> (" + "-" * 100000 + "d0)>", long)
    yield program_case("long sum", "#m = affine_map<(d0) -> (" + "d0 + " * 100000 + "d0)>", long)
    yield program_case("bytes of value 0", b"\0" * 4096, r"1:1: .*found a byte of value 0")
    yield program_case("no UTF-8", b"\xff\xfe module {}", r"1:1: .*unexpected character")
    yield program_case("a name of two lines", 'module {} loc("a\\0Ab")\n"st.fly\\0Aaway"() : () -> ()', r"2:1: .*st\.fly\\naway")


def bytecode(folder):
    path = folder / "in.mlirbc"
    path.write_bytes(b"ML\xefR\x0dMLIR22.1.0\0")
    for command in tools_on(path):
        refuse(command, r"in\.mlirbc:1:1: .*expected a program as text, found MLIR bytecode", folder)
    source = folder / "in.mlir"
    source.write_text("module {}")
    refuse([st.BIN / "st-opt", source, "--emit-bytecode"], "--emit-bytecode: .* as text", folder)


def deep_protos(folder):
    path = folder / "in.pb"
    path.write_text("computations { instructions { shape { " + "tuple_shapes { " * 20000)
    refuse([st.BIN / "st-translate", "--import-hlo-proto", path], r"in\.pb: .*too deep", folder)
    nested = b""
    for _ in range(20000):
        size, header = len(nested), b"\x22"
        while size >= 128:
            header, size = header + bytes([size & 127 | 128]), size >> 7
        nested = header + bytes([size]) + nested
    path.write_bytes(nested)
    refuse([st.BIN / "st-translate", "--import-hlo-proto", path], r"in\.pb: ", folder)


def model(folder):
    st.write_json(folder / "model" / "config.json", TINY_BERT)
    return [st.BIN / "st-compile", "-q", folder / "model", "--task=mlm", "--seq=16"]


def flag_case(flag, pattern):
    def check(folder):
        refuse([*model(folder), "-o", folder / "a.bin", flag], pattern, folder)
    return f"flag: {flag!r}", check


def flag_cases():
    integers = ("0", "-1", "1.5", "1e30", "x", "2147483648", "9223372036854775808", "18446744073709551616")
    for flag in ("batch", "seq"):
        for value in integers:
            yield flag_case(f"--{flag}={value}", rf"--{flag}={re.escape(value)}: expected an integer from 1 to 2147483647")
    for flag in ("beta1", "beta2", "momentum"):
        for value in ("-1", "1.5", "1e30", "x", "nan", "inf"):
            yield flag_case(f"--{flag}={value}", rf"--{flag}={value}: expected a number of at least 0 and below 1")
    for flag in ("epsilon", "weight-decay", "clip-norm", "lr"):
        for value in ("-1", "1e39", "x", "nan", "inf"):
            yield flag_case(f"--{flag}={value}", rf"--{flag}={value}: expected a number from 0 to 3\.4e38")
    for flag in ("batch", "lr", "task", "compile-to", "compile-from", "parallel", "runner", "dump-phases-to", "explain", "report", "target"):
        yield flag_case(f"--{flag}=", rf"--{flag}=: expected a value")
    yield flag_case("", "found an empty argument")
    yield flag_case("--schedule=zigzag", "--schedule=zigzag: expected sequential, gpipe, 1f1b, interleaved, zb-h1, zb-h2 or zb-v")
    yield flag_case("--roles=arg0=batch", "--roles=arg0=batch: expected a program")
    yield flag_case("--fly\naway", r"--fly\\naway")
    yield flag_case("--target=no\nsuch", r"--target=no\\nsuch: ")


def config_case(name, edit, pattern):
    def check(folder):
        command = model(folder)
        path = folder / "model" / "config.json"
        text = edit(path.read_text())
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        refuse([*command, "-o", folder / "a.bin"], r"config\.json:1:\d+: .*" + pattern, folder)
        refuse([st.BIN / "st-translate", "--import-hf-config", path], r"config\.json:1:\d+: .*" + pattern, folder)
    return f"config: {name}", check


def config_cases():
    def added(text):
        return lambda json: json.replace("{", "{" + text + ", ", 1)

    yield config_case("repeated key", added('"hidden_size": 8'), "key 'hidden_size' appears twice")
    yield config_case("repeated key, escaped", added('"hidden_\\u0073ize": 8'), "key 'hidden_size' appears twice")
    yield config_case("key of two lines", added('"a\\nb": 8'), r"unknown key 'a\\nb'")
    yield config_case("control characters", added('"\\u001b[1m\\u0000": 8'), r"unknown key '\\x1b\[1m\\x00'")
    yield config_case("long key", added(f'"{"k" * 100000}": 8'), r"unknown key 'k{40}\.\.\.'")
    yield config_case("flag", added('"use_cache": 3'), "key 'use_cache': expected true or false, found 3")
    yield config_case("type of numbers", added('"torch_dtype": "float33"'), "key 'torch_dtype': .*found \"float33\"")
    yield config_case("list", lambda t: t.replace('["BertForPreTraining"]', "3"), "'architectures': expected an array")
    yield config_case("bytes of value 0", lambda _: b"\0" * 100, "malformed JSON")
    yield config_case("no UTF-8", lambda t: b"\xff" + t.encode(), "Invalid UTF-8")
    yield config_case("byte order mark", lambda t: b"\xef\xbb\xbf" + t.encode(), "malformed JSON")


def odd_inputs(folder):
    """Folders, devices, endless files and links in place of each file."""
    command = model(folder)
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 1 << 32)
    os.symlink("loop", folder / "loop")
    for path in ("/dev/zero", folder / "sparse", folder / "loop", folder / "nothing", folder / "model"):
        name = re.escape(str(path))
        programs = [[st.BIN / "st-opt", path], [*command[:2], path, "--compile-from=tasks", "--compile-to=kernels"]]
        programs += [[st.BIN / "st-translate", f"--{flag}", path] for flag in (
            "interpret", "import-hf-config", "import-hlo-proto", "executable-to-text")]
        for program in programs:
            refuse(program, name + ": cannot read: ", folder)
        refuse([*command, "--compile-to=staged", f"--parallel={path}"], name + ".*: cannot read the parallel config: ",
               folder)
        refuse([*command, "--compile-to=staged", f"--target={path}"], f"cannot read {name}: ", folder)
        refuse([*command, "-o", folder / "a.bin", f"--runner={path}"], name + ": ", folder)


def outputs(folder):
    """An output that cannot be written is an error before the work, and nothing waits forever."""
    command = model(folder)
    os.mkfifo(folder / "pipe")
    st.check_run([*command, "--compile-to=import", "-o", folder / "in.mlir"])
    text = [[*command, "--compile-to=staged"], [st.BIN / "st-opt", folder / "in.mlir"],
            [st.BIN / "st-translate", "--import-hf-config", folder / "model" / "config.json", "--seq=16"]]
    for tool in text:
        refuse([*tool, "-o", folder / "pipe"], "pipe: cannot write: ", folder)
        with open("/dev/full", "w") as full:
            done = st.subprocess.run([str(c) for c in tool], stdout=full, stderr=st.subprocess.PIPE, text=True)
        st.expect(done.returncode == 1 and done.stderr.count("\n") == 1 and "<stdout>: cannot write" in done.stderr,
                  f"exit {done.returncode}: {done.stderr}")
    refuse([*command, "-o", folder / "pipe"], "pipe: cannot write: expected a file for the training binary", folder)
    for tool in [command, *text]:
        refuse([*tool, "-o", "/dev/full"], "/dev/full: cannot write: No space left on device", folder)
        refuse([*tool, "-o", folder / "no" / "where"], "no/where: cannot write: No such file", folder)
        refuse([*tool, "-o", folder / "model"], "model: cannot write: Is a directory", folder)
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        refuse([*tool, "-o", folder / "a.out"], "cannot write: File too large", folder, preexec_fn=small)


def runners(folder):
    command = model(folder)
    binary = folder / "good.bin"
    st.check_run([*command, "-o", binary])
    (folder / "text").write_text("hello")
    runner = (st.BIN / "st-runner").read_bytes()
    (folder / "half").write_bytes(runner[: len(runner) // 2])
    for path in (folder / "text", folder / "half", pathlib.Path("/bin/sh"), st.BIN / "st-compile"):
        refuse([*command, "-o", folder / "a.bin", f"--runner={path}"], "expected the st-runner executable", folder)
    refuse([*command, "-o", folder / "a.bin", f"--runner={binary}"], "good.bin: .*found a training binary", folder)
    shutil.copy(st.BIN / "st-runner", folder / "runner")
    st.check_run([*command, "-o", folder / "a.bin", f"--runner={folder / 'runner'}"])


def dumps(folder):
    """The phases before the one that fails, or all of them. Only the folder of dumps stays."""
    command = model(folder)
    wrong = st.write_json(folder / "p.json", {"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0"}}})
    ir = folder / "dumps"
    ir.mkdir()
    dump = f"--dump-phases-to={ir}"
    refuse([*command, f"--parallel={wrong}", dump, "-o", folder / "a.bin"], r"p\.json.*device_mapping\.stage_0\.shard_0 is a GPU", folder)
    kept = sorted(path.name for path in ir.iterdir())
    st.expect(kept == ["00-import.mlir", "01-precision.mlir", "02-differentiate.mlir", "03-optimizer.mlir"], f"{kept}")
    st.check_run([st.BIN / "st-compile", "-q", ir / kept[-1], "--compile-from=optimizer", "--compile-to=kernels", "-o", folder / "k.mlir"])
    st.check_run([*command, dump, "-o", folder / "a.bin"])
    st.expect(len(os.listdir(ir)) == 14, f"{os.listdir(ir)}")


def places(folder):
    """Dumps contain no source locations: errors in them name the dump."""
    command = model(folder)
    path = folder / "tasks.mlir"
    st.check_run([*command, "--compile-to=tasks", "-o", path])
    path.write_text(path.read_text().replace("stablehlo.tanh", "stablehlo.cosine", 1).replace(
        'st.role = "parameter"', 'st.role = "wheel"'))
    refuse([*command[:2], path, "--compile-from=local", "-o", folder / "a.bin"], r"tasks\.mlir", folder)


def memory(folder):
    """A tool that runs out of memory or threads ends with one line."""
    config = dict(TINY_BERT, num_hidden_layers=1000)
    path = st.write_json(folder / "big" / "config.json", config)
    tools = ([st.BIN / "st-compile", "-q", path.parent, "--task=mlm", "--seq=16"],
             [st.BIN / "st-translate", "--import-hf-config", path, "--seq=16"])
    limit = 350 << 20  # the libraries alone need more than 300 MiB of address space
    few = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for tool in tools:
        refuse([*tool, "-o", folder / "a.bin"], "error: out of memory", folder, preexec_fn=few)


def cases():
    yield from program_cases()
    yield "program: bytecode", bytecode
    yield "proto: deep", deep_protos
    yield from flag_cases()
    yield from config_cases()
    yield "files: odd inputs", odd_inputs
    yield "files: outputs", outputs
    yield "files: runners", runners
    yield "files: dumps", dumps
    yield "files: places", places
    yield "memory", memory


if __name__ == "__main__":
    sys.exit(st.main(*cases()))
