"""Damaged training binaries, bad flags and bad data: one clear line on stderr, exit 1, no crash, no partial file."""

import os
import pathlib
import re
import struct
import sys
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT, expect_error


class Built:
    """A tiny training binary, shared by the tests that damage it."""

    binary = None
    folder = None

    @classmethod
    def get(cls):
        if cls.binary is None:
            cls.folder = tempfile.TemporaryDirectory(prefix="st-bad-")
            cls.binary = st.compile_model(pathlib.Path(cls.folder.name), "tiny", TINY_BERT, "mlm", st.layout(1, 2),
                                          batch=2, seq=16)
        return cls.binary


def damaged_binary(name, damage, pattern=r"payload|binary|truncated|damaged|checksum|Executable"):
    def check(folder):
        data = bytearray(Built.get().read_bytes())
        data = damage(data)
        broken = folder / "broken.bin"
        broken.write_bytes(data)
        broken.chmod(0o755)
        expect_error([broken, "--steps=1"], pattern)
    return f"binary: {name}", check


def payload_start(data):
    """The size of the runner, st-runner; the payload follows it."""
    return st.RUNNER.stat().st_size


def flipped_bits(folder):
    """Bit flips spread over the payload and all of its footer."""
    data = Built.get().read_bytes()
    start = payload_start(data)
    st.expect(start < len(data), "the binary is no longer than the runner")
    count = len(data) - start
    places = {start + i * count // 24 for i in range(24)} | set(range(len(data) - 24, len(data)))
    broken = folder / "broken.bin"
    for i, place in enumerate(sorted(places)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << (i % 8)
        broken.write_bytes(flipped)
        broken.chmod(0o755)
        expect_error([broken, "--steps=1"], r"")
    return f"{len(places)} flips"


def binary_cases():
    yield damaged_binary("truncated by a byte", lambda d: d[:-1])
    yield damaged_binary("truncated by a tenth", lambda d: d[: len(d) - (len(d) - payload_start(d)) // 10])
    yield damaged_binary("no payload", lambda d: d[: payload_start(d)])
    yield damaged_binary("bytes appended", lambda d: d + b"more")
    yield "binary: any bit flipped", flipped_bits


def run_case(name, flags, pattern):
    def check(folder):
        binary = Built.get()
        expect_error([binary, "--steps=1", *flags(folder)], pattern)
    return f"run: {name}", check


def file_with(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


def checkpoint(folder, edit):
    """The checkpoint of the tiny model with tensors changed by `edit`."""
    st.check_run([Built.get(), "--steps=1", f"--save={folder / 'ckpt'}"])
    path = folder / "ckpt" / "model.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)
    st.forget_checksums(folder / "ckpt")
    return [f"--resume={folder / 'ckpt'}"]


def damaged_checkpoint(folder, damage):
    st.check_run([Built.get(), "--steps=1", f"--save={folder / 'ckpt'}"])
    path = folder / "ckpt" / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    return [f"--resume={folder / 'ckpt'}"]


def batches_with(folder, name, value):
    """Three mlm batches of 2 x 16 for the tiny model; the last has one value out of range."""
    tensors = {n: np.zeros((3, 2, 16), np.int32) for n in ("input_ids", "labels", "token_type_ids")}
    tensors.update(attention_mask=np.ones((3, 2, 16), np.int32), next_sentence_label=np.zeros((3, 2), np.int32))
    tensors["labels"][0, 0, 0] = -100
    tensors[name].reshape(3, -1)[2, 1] = value
    save_file(tensors, folder / "batches.safetensors")
    return [f"--data={folder / 'batches.safetensors'}"]


def run_cases():
    for name, value in (("input_ids", 300), ("input_ids", -1), ("labels", 300), ("labels", -5), ("token_type_ids", 2),
                        ("next_sentence_label", 2), ("attention_mask", -100)):
        yield run_case(f"{name} {value}", lambda f, n=name, v=value: batches_with(f, n, v),
                       rf"batches\.safetensors.*\"{name}\": {value} in batch 2; expected values from 0 to")
    word = "bert.embeddings.word_embeddings.weight"
    yield run_case("missing text", lambda f: [f"--data=text:{f / 'none.txt'}"], r"none\.txt")
    yield run_case("short text", lambda f: [f"--data=text:{file_with(f, 'short.txt', b'a')}"], r"short\.txt")
    yield run_case("unknown data", lambda f: ["--data=magic:1"], r"magic")
    yield run_case("malformed squad", lambda f: [f"--data=squad:{file_with(f, 's.json', b'{')}"], r"s\.json|squad")
    yield run_case("short safetensors", lambda f: [f"--data={file_with(f, 'b.safetensors', b'1234')}"],
                   r"b\.safetensors")
    yield run_case("hostile safetensors", lambda f: [
        f"--data={file_with(f, 'b.safetensors', struct.pack('<Q', 1 << 62) + b'{}')}"], r"b\.safetensors")
    yield run_case("missing checkpoint", lambda f: [f"--resume={f / 'nowhere'}"], r"nowhere")
    yield run_case("checkpoint lacks a tensor", lambda f: checkpoint(f, lambda t: t.pop(word)), re.escape(word))
    yield run_case("checkpoint shape", lambda f: checkpoint(
        f, lambda t: t.update({word: np.zeros((3, 3), np.float32)})), re.escape(word))
    yield run_case("checkpoint type", lambda f: checkpoint(
        f, lambda t: t.update({word: t[word].astype(np.int32)})), re.escape(word))
    yield run_case("truncated checkpoint", lambda f: damaged_checkpoint(f, lambda d: d[: len(d) // 2]),
                   r"model\.safetensors")
    yield run_case("damaged checkpoint header", lambda f: damaged_checkpoint(f, lambda d: d[:9] + b"\0" + d[10:]),
                   r"model\.safetensors")
    yield run_case("unwritable metrics", lambda f: [f"--metrics={f / 'no' / 'm.json'}"], r"m\.json")
    yield run_case("unwritable trace", lambda f: [f"--trace={f / 'no' / 't.json'}"], r"t\.json")
    yield run_case("unwritable save", lambda f: [f"--save={file_with(f, 'plain', b'') / 'dir'}"], r"plain")
    yield run_case("unknown flag", lambda f: ["--fly"], r"fly")


def flag_case(name, flags, pattern):
    """Flags after the format of the test's folder, and no other flags."""
    def check(folder):
        (folder / "text").write_text("One. Two. " * 40)
        (folder / "sub").mkdir()
        os.mkfifo(folder / "pipe")
        expect_error([Built.get(), *(f.format(folder, Built.get()) for f in flags)], pattern, folder / "text")
        st.expect((folder / "text").read_text() == "One. Two. " * 40, "the user's file has changed")
    return f"flags: {name}", check


def flag_cases():
    for value in ("-1", "1e30", "9223372036854775808", "18446744073709551616", "", "x", "1.5"):
        yield flag_case(f"steps={value}", [f"--steps={value}"], rf"--steps={re.escape(value)}: expected")
    for value in ("-1", "4294967296", "", "x"):
        yield flag_case(f"seed={value}", [f"--seed={value}"], rf"--seed={value}: expected an integer from 0 to 4294967295")
    for value in ("-1", "nan", "inf", "", "x"):
        yield flag_case(f"lr={value}", [f"--lr={value}"], rf"--lr={value}: expected")
    for value in ("-1", "100000", "1e9"):
        yield flag_case(f"host-threads={value}", [f"--host-threads={value}"], rf"--host-threads={value}: expected")
    yield flag_case("total-steps", ["--total-steps=3", "--warmup=3"], r"--total-steps=3: expected more than --warmup=3")
    yield flag_case("timing-only=maybe", ["--timing-only=maybe"], "--timing-only=maybe: expected true or false")
    for name in ("data", "metrics", "trace", "report", "save", "resume", "init", "inputs", "outputs", "host-isa"):
        yield flag_case(f"{name} is empty", [f"--{name}="], f"--{name}=: its value is empty")
    for data in ("text:", "squad:"):
        yield flag_case(f"data={data}", [f"--data={data}"], f"--data={data}: expected the name of a file")
    yield flag_case("data's name on two lines", ["--data=text:a\nb"], r"a\\nb: cannot read")
    yield flag_case("keep without save", ["--keep=2"], "--save-interval, --save-minutes and --keep need --save=DIR")
    yield flag_case("save-interval=x", ["--save-interval=x"], "--save-interval=x: expected an integer")
    for flag in ("steps=1", "lr=1", "warmup=1", "total-steps=1", "seed=1", "data=synthetic", "metrics={0}/m",
                 "save={0}/s", "save-interval=1", "train-steps=1", "lr-decay-style=linear", "resume={0}", "init={0}", "host-threads=1", "host-isa=auto", "drop-message=0",
                 "inputs={0}/i"):
        name = flag.split("=")[0]
        yield flag_case(f"{name} with timing-only", ["--timing-only", f"--{flag}"],
                        f"--{name} has no effect with --timing-only")
    for flag in ("steps=1", "lr=1", "data=synthetic", "metrics={0}/m", "trace={0}/t", "report={0}/r", "save={0}/s",
                 "resume={0}", "warmup=1", "total-steps=1"):
        name = flag.split("=")[0]
        yield flag_case(f"{name} with inputs", ["--inputs={0}/i", "--outputs={0}/o", f"--{flag}"],
                        f"--{name} has no effect with --inputs")
    yield flag_case("seed with inputs", ["--inputs={0}/i", "--outputs={0}/o", "--seed=1"],
                    "--seed has no effect with --inputs without --init")
    outputs = ["--metrics={0}/x", "--trace={0}/sub/../x", "--report={0}/x", "--save={0}/x"]
    for i, first in enumerate(outputs):
        for second in outputs[i + 1:]:
            yield flag_case(f"{first} {second}", [first, second], "are the same file")
    yield flag_case("metrics in the way of save", ["--save={0}/s", "--metrics={0}/s/config.json"], "are the same file")
    for flag in ("metrics", "trace", "report", "save"):
        yield flag_case(f"{flag} over data", ["--data=text:{0}/text", f"--{flag}={{0}}/text"], "are the same file")
    yield flag_case("outputs over inputs", ["--inputs={0}/text", "--outputs={0}/text"], "are the same file")
    yield flag_case("save over init", ["--init={0}/sub", "--save={0}/sub"], "are the same file")
    yield flag_case("trace over resume", ["--resume={0}/sub", "--trace={0}/sub/config.json"], "are the same file")
    yield flag_case("trace over the binary", ["--trace={1}"], "this training binary")
    for flag in ("metrics={0}/pipe", "trace={0}/pipe", "report={0}/pipe"):
        yield flag_case(f"{flag} that nobody reads", [f"--{flag}"], "pipe: cannot write: this pipe has no reader")
    for flag in ("data=text:{0}/pipe", "data=squad:{0}/pipe", "save={0}/pipe", "resume={0}/pipe", "init={0}/pipe"):
        task = [f"--{flag}"]
        yield flag_case(f"{flag}", task, "pipe.*|task span")
    for flag in ("metrics={0}/sub", "trace={0}/sub", "report={0}/sub", "data=text:{0}/sub", "save={0}/text"):
        yield flag_case(f"{flag} of another kind", [f"--{flag}"], r"(sub|text).*: (cannot|not a)")


def limited(name, limit, pattern):
    """Too little memory or too few threads also end with one line."""
    def check(folder):
        command = f"ulimit {limit}; exec {Built.get()} --steps=1 --host-threads=64"
        done = st.run(["bash", "-c", command])
        last = done.stderr.strip().splitlines()[-1:]
        st.expect(done.returncode == 1 and last and re.search(pattern, last[0]), f"exit {done.returncode}: {done.stderr}")
    return f"limits: {name}", check


def limit_cases():
    for kilobytes in (20000, 24000, 28000, 32000):
        yield limited(f"{kilobytes} KB of memory", f"-v {kilobytes}", "error: .*(memory|cannot (reserve|start|read))")


def nan_loss(folder):
    """A learning rate that makes the loss explode ends the run with the step's number."""
    done = st.run([Built.get(), "--steps=40", "--lr=1e30"])
    st.expect(done.returncode == 1, f"exit {done.returncode}")
    st.expect(re.search(r"error.*step \d+", done.stderr), done.stderr[-500:])


def cases():
    yield from binary_cases()
    yield from run_cases()
    yield from flag_cases()
    yield from limit_cases()
    yield "run: loss not finite", nan_loss


if __name__ == "__main__":
    sys.exit(st.main(*cases()))
