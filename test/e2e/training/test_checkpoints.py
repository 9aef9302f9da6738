"""Checkpoints: one that does not fit is refused by name, and an interrupted save leaves the old or the new one."""

import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT, expect_error

FILES = ("model.safetensors", "optimizer.safetensors", "config.json", "vocab.txt", "trainer_state.json")
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(ord("a") + i) for i in range(26))]


class Binary:
    """Training binaries, each compiled once per test run."""

    built = {}
    folder = tempfile.TemporaryDirectory(prefix="st-checkpoints-")

    @classmethod
    def get(cls, name="tiny", config=TINY_BERT, task="mlm", flags=(), vocabulary=PIECES):
        if name not in cls.built:
            model = pathlib.Path(cls.folder.name) / name
            model.mkdir()
            (model / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
            cls.built[name] = st.compile_model(cls.folder.name, name, config, task, st.layout(1, 2), *flags, batch=2,
                                               seq=16)
        return cls.built[name]


def saved(folder, steps=1, name="ckpt", *flags):
    st.check_run([Binary.get(), f"--steps={steps}", f"--save={folder / name}", *flags])
    return folder / name


def resume(folder, pattern, binary=None):
    expect_error([binary or Binary.get(), "--steps=1", f"--resume={folder}"], pattern)


def rewrite(path, edit):
    text = path.read_text()
    changed = edit(text)
    st.expect(changed != text, f"the edit changes nothing of {path.name}")
    path.write_text(changed)


def edited(state, **changes):
    """The state with other values, and without the checksum that would reveal the change."""
    return {k: v for k, v in dict(state, **changes).items() if k != "self_crc32"}


def other_model(key, value, pattern):
    """The checkpoint of a model that differs in one key of its configuration."""
    def run(folder):
        binary = Binary.get(f"{key} {value}".replace(" ", "-"), dict(TINY_BERT, **{key: value}))
        resume(saved(folder), pattern, binary)
    return run


def other_dropout(folder):
    """Dropout is not part of the trained function, so a change is a warning."""
    binary = Binary.get("dropout", dict(TINY_BERT, hidden_dropout_prob=0.25))
    done = st.check_run([binary, "--steps=1", f"--resume={saved(folder)}"])
    lines = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    st.expect(len(lines) == 1 and re.search(r'hidden_dropout_prob" is 0\.1, .* 0\.25$', lines[0]), done.stderr)


def other_optimizer(folder):
    resume(saved(folder), r'trainer_state\.json: "optimizer" is "adamw", .* "adam"',
           Binary.get("adam", flags=["--optimizer=adam"]))


def other_constants(folder):
    """Another constant of the same optimizer is a warning."""
    binary = Binary.get("beta", flags=["--beta1=0.8"])
    done = st.check_run([binary, "--steps=1", f"--resume={saved(folder)}"])
    lines = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    st.expect(len(lines) == 1 and re.search(r'"beta1" of the optimizer is 0\.9, .* 0\.8$', lines[0]), done.stderr)


def other_vocabulary(folder):
    swapped = PIECES[:5] + PIECES[:4:-1]
    resume(saved(folder), r"vocab\.txt: line 6 is 'a', in the program's vocabulary 'z'",
           Binary.get("swapped", vocabulary=swapped))


def same_function(folder):
    """An explicit default, and another name of the same activation, are not differences."""
    path = saved(folder)
    st.forget_checksums(path, ["files"])
    rewrite(path / "config.json", lambda t: json.dumps({k: v for k, v in json.loads(t).items() if k != "hidden_act"}))
    done = st.check_run([Binary.get(), "--steps=1", f"--resume={path}"])
    st.expect("warning" not in done.stderr, done.stderr)


def each_file(folder):
    """Every file left out, empty, cut and flipped is an error that names it."""
    path = saved(folder)
    for name in FILES:
        whole = (path / name).read_bytes()
        middle = bytearray(whole)
        middle[len(whole) // 2] ^= 0x80
        for damaged in (None, b"", whole[: len(whole) // 2], bytes(middle)):
            (path / name).unlink()
            if damaged is not None:
                (path / name).write_bytes(damaged)
            resume(path, re.escape(name))
            (path / name).write_bytes(whole)
    st.check_run([Binary.get(), "--steps=1", f"--resume={path}"])


def each_key(folder):
    """Each key of trainer_state.json appears once with its type, and there are no other keys."""
    path = saved(folder) / "trainer_state.json"
    text = path.read_text()
    state = edited(json.loads(text))
    some = next(iter(state["crc32"]))
    cases = [(dict(state, extra=1), r"unknown key 'extra'"), ([state], "object|JSON")]
    for key in ("format", "step", "examples", "seed", "optimizer"):
        cases.append(({k: v for k, v in state.items() if k != key}, f'"{key}".*found nothing'))
    for key in state:
        isObject = key in ("crc32", "files")
        wrong = [None, "3", [], True] + ([3] if isObject else [{}, -1, 1.5, 1e300])
        cases += [(dict(state, **{key: value}), f'"{key}"') for value in wrong]
    for value in (3, "", "xyz", "0123456G", None):
        cases.append((dict(state, crc32=dict(state["crc32"], **{some: value})), re.escape(some)))
    cases.append((dict(state, crc32=dict(state["crc32"], x="00000000")), "'x' is not one of the model's tensors"))
    cases.append((dict(state, format=4), "format 4, expected 1 to 3"))
    rate = state["learning_rate"]
    for key, value in (("style", "steep"), ("peak", -1), ("min", "x"), ("warmup", 1.5), ("decay_end", None)):
        cases.append((dict(state, learning_rate=dict(rate, **{key: value})), f'"{key}": expected'))
    cases.append((dict(state, learning_rate=dict(rate, more=1)), "learning_rate.*expected only"))
    cases.append((dict(state, files=dict(state["files"], x="00000000")), "'x' is not a file of a checkpoint"))
    cases.append((dict(state, optimizer={"kind": "adamw", "beta1": "x"}), "'beta1'.*expected a number"))
    given = state["optimizer"]
    name = next(k for k in given if k != "kind")
    cases.append((dict(state, optimizer={k: v for k, v in given.items() if k != name}), f"'{name}' is missing"))
    cases.append((dict(state, optimizer=given | {name.upper(): 0.5}), f"unknown key '{name.upper()}'"))
    for value, pattern in cases:
        path.write_text(json.dumps(value))
        resume(path.parent, r"trainer_state\.json: .*" + pattern)
    for key, path_of_key in (("step", "step"), (some, f"crc32.{some}")):
        line = next(line for line in text.splitlines() if f'"{key}"' in line)
        path.write_text(text.replace(line, line.rstrip(",") + ",\n" + line, 1))
        resume(path.parent, rf"trainer_state\.json: .*'{re.escape(path_of_key)}' appears twice")
    path.write_text(json.dumps({k: v for k, v in state.items() if k not in ("crc32", "files")}))
    st.check_run([Binary.get(), "--steps=1", f"--resume={path.parent}"])
    return f"{len(cases)} edits"


def earlier_formats(folder):
    """Checkpoints from before the optimizer, and from before the learning rate, was stored."""
    path = saved(folder)
    for number, new in ((2, ("learning_rate", "files")), (1, ("learning_rate", "files", "optimizer"))):
        rewrite(path / "trainer_state.json", lambda t: json.dumps(
            {k: v for k, v in edited(json.loads(t), format=number).items() if k not in new}))
        st.check_run([Binary.get(), "--steps=1", f"--resume={path}"])


def duplicate_config_key(folder):
    path = saved(folder)
    st.forget_checksums(path, ["files"])
    rewrite(path / "config.json", lambda t: t.replace("{", '{"hidden\\u005fact": "relu", ', 1))
    resume(path, r"config\.json: .*'hidden_act' appears twice")


def one_line_names(folder):
    """A name with a line end does not become two lines."""
    path = saved(folder)
    rewrite(path / "trainer_state.json", lambda t: json.dumps(edited(json.loads(t))).replace(
        '"crc32": {', '"crc32": {"a\\nerror: b": "00000000",', 1))
    done = st.run([Binary.get(), "--steps=1", f"--resume={path}"])
    st.expect(done.returncode == 1 and len(done.stderr.splitlines()) == 2 and r"a\nerror: b" in done.stderr,
              done.stderr)


def states_of(path):
    return json.loads((path / "trainer_state.json").read_text())


def full_disk(folder):
    """A save that fails leaves only the old checkpoint."""
    path = saved(folder)
    before = {f.name: f.read_bytes() for f in path.iterdir()}
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    done = st.run([Binary.get(), "--steps=1", f"--resume={path}", f"--save={path}"], preexec_fn=limit)
    st.expect(done.returncode == 1 and "cannot write: File too large" in done.stderr.splitlines()[-1], done.stderr)
    st.expect({f.name: f.read_bytes() for f in path.iterdir()} == before, "the old checkpoint has changed")


def killed(folder):
    """A process killed at any time leaves a complete checkpoint."""
    path = saved(folder, 0)
    steps = set()
    for i in range(25):
        process = subprocess.Popen([Binary.get(), "--steps=1", f"--resume={path}", f"--save={path}"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        time.sleep(0.004 * i)
        process.kill()
        process.wait()
        process.stdout.close()
        done = st.check_run([Binary.get(), "--steps=1", f"--resume={path}"])
        steps.add(done.stdout.split()[1])
    saved(folder, 1, "ckpt", f"--resume={path}")
    left = sorted(f.name for f in path.iterdir() if f.name.endswith(".next"))
    st.expect(not left, f"left over: {left}")
    return f"{len(steps)} states"


def cut_short(folder):
    """A save that stops after any of its renames leaves the old checkpoint or the new one, to the byte."""
    old, new = saved(folder, 1, "old"), saved(folder, 2, "new")
    for moves in range(2 * len(FILES) + 1):
        path = folder / "cut"
        shutil.copytree(old, path)
        (path / "notes.txt").write_text("mine")
        for name in FILES[: min(moves, len(FILES))]:
            shutil.copy(new / name, path / f"{name}.next")
        for name in FILES[: max(0, moves - len(FILES))]:
            (path / f"{name}.next").rename(path / name)
        expected = new if moves >= len(FILES) else old
        st.check_run([Binary.get(), "--steps=0", f"--resume={path}", f"--save={folder / 'again'}"])
        for name in FILES:
            st.expect((folder / "again" / name).read_bytes() == (expected / name).read_bytes(),
                      f"after {moves} moves {name} is another")
        st.check_run([Binary.get(), "--steps=1", f"--resume={path}", f"--save={path}"])
        st.expect(sorted(f.name for f in path.iterdir()) == sorted((*FILES, "notes.txt")), "other files")
        st.expect(states_of(path)["step"] == states_of(expected)["step"] + 1, "it did not go on")
        shutil.rmtree(path)


def interrupted(number):
    """A signal ends the run as the shell expects and keeps the previous checkpoint."""
    def run(folder):
        old = folder / "metrics"
        old.write_text("old\n")
        flags = [f"--save={folder / 'save'}", f"--trace={folder / 'trace'}", f"--report={folder / 'report'}"]
        # A shell starts background processes with SIGINT ignored, and this process would inherit that.
        process = subprocess.Popen([Binary.get(), "--steps=1000000", f"--metrics={folder / 'new'}", *flags],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        for _ in range(2):
            process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=60)
        st.expect(process.returncode == -number, f"ended with {process.returncode}")
        names = sorted(f.name for f in folder.iterdir())
        st.expect(names == ["metrics", "new", "report", "trace"] and old.read_text() == "old\n", f"left {names}")
    return run


def failed_run(folder):
    """A run that fails before its first step leaves the old outputs; one that fails later has printed its steps."""
    for name in ("metrics", "trace", "report"):
        (folder / name).write_text("old\n")
    outputs = [f"--{name}={folder / name}" for name in ("metrics", "trace", "report")]
    expect_error([Binary.get(), *outputs, "--host-isa=z80"], "z80")
    st.expect(all((folder / name).read_text() == "old\n" for name in ("metrics", "trace", "report")), "not as before")
    expect_error([Binary.get(), "--steps=40", "--lr=1e30", outputs[0], f"--save={folder / 'save'}"],
                 r"step \d+: the loss is (NaN|infinite)")
    st.expect(json.loads((folder / "metrics").read_text().splitlines()[0])["step"] == 1, "no step was told of")
    st.expect(not (folder / "save").exists(), "an empty folder is left")


def standard_output(folder):
    """/dev/stdout is the file that the shell opened, and keeps its content."""
    log = folder / "log"
    with open(log, "w") as file:
        file.write("before\n")
        file.flush()
        done = subprocess.run([Binary.get(), "--steps=2", "--metrics=/dev/stdout"], stdout=file,
                              stderr=subprocess.DEVNULL, timeout=60)
    lines = log.read_text().splitlines()
    st.expect(done.returncode == 0 and lines[0] == "before" and [line[:7] for line in lines[1:5]] == [
        "step 1 ", '{"step"', "step 2 ", '{"step"'], f"{lines}")


def full_output(folder):
    """A run with its output on a full disk ends at once."""
    with open("/dev/full", "w") as file:
        done = subprocess.run([Binary.get(), "--steps=1000000"], stdout=file, stderr=subprocess.PIPE, text=True, timeout=60)
    st.expect(done.returncode == 1 and "error: cannot write to standard output: No space" in done.stderr, done.stderr)


def for_transformers(folder):
    """The configuration names the class of these parameters, and keeps the user's settings."""
    config = dict(TINY_BERT, torch_dtype="float16")
    for task, name, head in (("mlm", "BertForPreTraining", "cls.seq_relationship.bias"),
                             ("span", "BertForQuestionAnswering", "qa_outputs.bias")):
        binary = Binary.get(f"hf-{task}", config, task)
        path = folder / task
        st.check_run([binary, "--steps=0", f"--save={path}"])
        text = (path / "config.json").read_text()
        expected = json.dumps(dict(config, architectures=[name], torch_dtype="float32"))
        st.expect(text == expected, f"expected {expected}\nfound {text}")
        tensors = load_file(path / "model.safetensors")
        st.expect(head in tensors and all(v.dtype == "float32" for v in tensors.values()), f"{sorted(tensors)}")


def without_padding(folder):
    """With shards of unequal sizes a checkpoint has the model's sizes, and continues on one device and back."""
    config = dict(TINY_BERT, vocab_size=301, intermediate_size=35)
    sharded = {"mode": "sharding", "data": 3, "sharding_size": 2, "sharding_dim": "megatron", "zero": 2, "accum_degree": 2}
    binaries = {name: st.compile_model(folder, name, config, "mlm", layout, batch=7, seq=15)
                for name, layout in (("odd", sharded), ("alone", None))}
    whole = st.losses(st.train(binaries["alone"], steps=4))
    found = st.losses(st.train(binaries["odd"], f"--save={folder / 'first'}", steps=1))
    shapes = {name: value.shape for name, value in load_file(folder / "first/model.safetensors").items()}
    st.expect(shapes["bert.embeddings.word_embeddings.weight"] == (301, 16), f"{shapes}")
    for i, name in enumerate(("alone", "odd", "alone")):
        before, after = folder / ("first" if i == 0 else f"then{i - 1}"), folder / f"then{i}"
        found += st.losses(st.train(binaries[name], f"--resume={before}", f"--save={after}", steps=1))
    difference = st.relative_difference(whole, found)
    st.expect(difference <= 1e-5, f"{whole}\n{found}")
    return f"losses agree to {difference:.1e}"


def in_pieces(folder):
    """A shard holds three pieces of GPT-2's fused products of queries, keys and values, and a replica holds parts of
    these. The initial values and the first checkpoint equal those of one device, which continues the run, and back."""
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4,
              "vocab_size": 64, "n_positions": 16}
    sharded = {"mode": "sharding", "data": 2, "sharding_size": 4, "sharding_dim": "megatron", "zero": 3}
    binaries = {name: st.compile_model(folder, name, config, "clm", layout, batch=4, seq=16)
                for name, layout in (("pieces", sharded), ("alone", None))}
    whole = st.losses(st.train(binaries["alone"], steps=4))
    start = {}
    for name, binary in binaries.items():
        st.check_run([binary, "--steps=0", f"--save={folder / ('start ' + name)}"])
        start[name] = load_file(folder / f"start {name}/model.safetensors")
    for name, value in start["alone"].items():
        st.expect((value == start["pieces"][name]).all(), f"{name} starts otherwise in pieces")
    found = []
    for i, name in enumerate(("pieces", "alone", "pieces", "alone")):
        flags = [f"--resume={folder / f'then{i - 1}'}"] if i else []
        found += st.losses(st.train(binaries[name], *flags, f"--save={folder / f'then{i}'}", steps=1))
    difference = st.relative_difference(whole, found)
    st.expect(difference <= 1e-5, f"{whole}\n{found}")
    return f"losses agree to {difference:.1e}"


CASES = [
    ("another activation", other_model("hidden_act", "relu", r'config\.json: "hidden_act" is "gelu", .* "relu"')),
    ("another number of heads", other_model("num_attention_heads", 4, r'"num_attention_heads" is 2, .* 4')),
    ("another epsilon", other_model("layer_norm_eps", 1e-5, r'"layer_norm_eps" is 1e-12, .* 1e-05')),
    ("another dropout", other_dropout),
    ("another optimizer", other_optimizer),
    ("another constant of the optimizer", other_constants),
    ("another vocabulary", other_vocabulary),
    ("the same function", same_function),
    ("each file damaged", each_file),
    ("each key of the state", each_key),
    ("formats 1 and 2", earlier_formats),
    ("a key twice in the configuration", duplicate_config_key),
    ("names are one line", one_line_names),
    ("full disk", full_disk),
    ("killed", killed),
    ("cut short", cut_short),
    ("SIGINT", interrupted(signal.SIGINT)),
    ("SIGHUP", interrupted(signal.SIGHUP)),
    ("a failed run", failed_run),
    ("standard output", standard_output),
    ("standard output is full", full_output),
    ("for transformers", for_transformers),
    ("shards that divide nothing", without_padding),
    ("shards of several pieces", in_pieces),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
