"""--init: a run starts from a Hugging Face folder, in any format that transformers saves."""

import json
import pathlib
import re
import struct
import sys
import tempfile

import ml_dtypes
import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT, expect_error
from test_jax_models import LLAMA, VIT

TINY_GPT2 = dict(st.SMALL_GPT2, n_embd=16, n_layer=2, n_head=2, vocab_size=300, n_positions=16)
UNTIED = {"tie_word_embeddings": False}
WORDS = "bert.embeddings.word_embeddings.weight"


class Binary:
    """A training binary, compiled once per test run, and values for its parameters."""

    built = {}
    folder = tempfile.TemporaryDirectory(prefix="st-init-")

    def __init__(self, name, config, task, layout, seq):
        self.config = config
        self.path = st.compile_model(self.folder.name, name, config, task, layout, batch=2, seq=seq)
        st.check_run([self.path, "--steps=0", f"--save={self.path}.ckpt"])
        shapes = load_file(f"{self.path}.ckpt/model.safetensors")
        self.initial = shapes
        rng = np.random.default_rng(5)
        self.weights = {n: rng.normal(size=v.shape).astype(np.float32) for n, v in sorted(shapes.items())}

    @classmethod
    def get(cls, name, config=TINY_BERT, task="mlm", layout=None, seq=16):
        if name not in cls.built:
            cls.built[name] = cls(name, config, task, layout, seq)
        return cls.built[name]


def bert():
    return Binary.get("bert", layout=st.layout(1, 2))


def write_folder(folder, tensors, config=None, shards=1):
    """Writes a folder as transformers does: one file, or several and their index."""
    folder = pathlib.Path(folder) / "hf"
    folder.mkdir(exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
        return folder
    names = sorted(tensors)
    files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    for i, file in enumerate(files):
        save_file({n: tensors[n] for n in names[i::shards]}, folder / file, {"format": "pt"})
    index = {"metadata": {"total_size": 1}, "weight_map": {n: files[i % shards] for i, n in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def saved(binary, folder, hf):
    """The initial parameters of a run from folder `hf`, and its output."""
    done = st.check_run([binary.path, "--steps=0", f"--init={hf}", f"--save={folder / 'out'}"])
    return load_file(folder / "out" / "model.safetensors"), done.stderr


def expect_values(found, expected):
    st.expect(set(found) == set(expected), f"other names: {set(found) ^ set(expected)}")
    for name, value in expected.items():
        st.expect(np.array_equal(found[name], value), f"{name} is not what the folder has")


def starts_from(binary, edit=dict, note="", config=True, **options):
    """`edit` turns the weights into the folder's content; all of them must arrive."""
    def run(folder):
        model = binary()
        hf = write_folder(folder, edit(dict(model.weights)), model.config if config else None, **options)
        found, said = saved(model, folder, hf)
        expect_values(found, model.weights)
        st.expect(f"initialised {len(model.weights)} parameters" in said and note in said, said)
    return run


def renamed(pattern, replacement):
    return lambda tensors: {re.sub(pattern, replacement, n): v for n, v in tensors.items()}


def old_bert(tensors):
    """As BertModel saved by early versions: no prefix, gamma and beta."""
    tensors = renamed(r"^bert\.", "")(tensors)
    return {re.sub(r"weight$", "gamma", re.sub(r"bias$", "beta", n)) if "LayerNorm" in n else n: v
            for n, v in tensors.items()}


def with_buffers(tensors):
    buffers = {f"h.{i}.attn.bias": np.ones((1, 1, 16, 16), np.uint8) for i in range(2)}
    return renamed(r"^transformer\.", "")(tensors) | buffers


def converted(dtype):
    """16-bit weights are converted to f32 exactly."""
    def run(folder):
        model = bert()
        narrow = {n: v.astype(dtype) for n, v in model.weights.items()}
        found, _ = saved(model, folder, write_folder(folder, narrow))
        expect_values(found, {n: v.astype(np.float32) for n, v in narrow.items()})
    return run


def fresh_head(folder):
    """A folder of the encoder alone: the heads get their usual initial values."""
    model = bert()
    encoder = {n: v for n, v in model.weights.items() if n.startswith("bert.") and "pooler" not in n}
    extra = {"qa_outputs.weight": np.ones((2, 16), np.float32), "classifier.bias": np.ones(3, np.float32)}
    found, said = saved(model, folder, write_folder(folder, encoder | extra))
    expect_values(found, model.initial | encoder)
    st.expect("2 tensors of other heads or buffers ignored" in said, said)
    line = next(line for line in said.splitlines() if line.startswith("not in"))
    for name in set(model.weights) - set(encoder):
        st.expect(name in line, f"{name} is not named as fresh: {line}")


def untied():
    return Binary.get("untied", TINY_GPT2 | UNTIED, "clm")


def tied_folder(folder):
    """The program has a separate output matrix; the folder ties it to the embeddings."""
    model = untied()
    tensors = {n: v for n, v in model.weights.items() if n != "lm_head.weight"}
    found, said = saved(model, folder, write_folder(folder, tensors, TINY_GPT2))
    expect_values(found, tensors | {"lm_head.weight": tensors["transformer.wte.weight"]})


def untied_folder_lacks_head(folder):
    model = untied()
    tensors = {n: v for n, v in model.weights.items() if n != "lm_head.weight"}
    found, said = saved(model, folder, write_folder(folder, tensors, TINY_GPT2 | UNTIED))
    expect_values(found, tensors | {"lm_head.weight": model.initial["lm_head.weight"]})
    st.expect(re.search(r"so initialised: lm_head\.weight$", said, re.M), said)


def same_losses(folder):
    """A folder that one layout saved gives the same losses on another layout."""
    losses = {}
    for name, layout in (("bert", st.layout(1, 2)), ("bert 2x2", st.layout(2, 2))):
        model = Binary.get(name, layout=layout)
        # Weights of deviation 1 would explode, so the training needs the usual ones.
        hf = write_folder(folder, {n: v * np.float32(0.05) for n, v in bert().weights.items()})
        losses[name] = st.losses(st.train(model.path, f"--init={hf}", steps=3))
    difference = st.relative_difference(*losses.values())
    st.expect(difference <= 1e-5, f"losses differ by {difference:.1e}: {losses}")
    scratch = st.losses(st.train(bert().path, steps=1))
    st.expect(abs(scratch[0] - losses["bert"][0]) > 1e-4, "the weights of the folder change nothing")


def refused(pattern, edit=None, change=None, flags=(), **options):
    """One clear line for edited weights or changed files of the folder."""
    def run(folder):
        model = bert()
        tensors = dict(model.weights)
        if edit:
            edit(tensors)
        hf = write_folder(folder, tensors, **options)
        if change:
            change(hf)
        expect_error([model.path, "--steps=0", f"--init={hf}", *flags], pattern)
    return run


def rewrite_index(edit):
    def change(hf):
        path = hf / "model.safetensors.index.json"
        index = json.loads(path.read_text())
        edit(index)
        path.write_text(json.dumps(index))
    return change


def resize(path, size):
    path.write_bytes(path.read_bytes()[:size])


def flipped_header(folder):
    """Damage to a header gives one line or has no effect, and never crashes."""
    model = bert()
    path = write_folder(folder, model.weights) / "model.safetensors"
    data = path.read_bytes()
    header = struct.unpack("<Q", data[:8])[0]
    places = sorted({8 + i * header // 32 for i in range(32)} | set(range(10)))
    for place in places:
        flipped = bytearray(data)
        flipped[place] ^= 1 << (place % 7)
        path.write_bytes(flipped)
        done = st.run([model.path, "--steps=0", f"--init={path.parent}"])
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        st.expect(done.returncode in (0, 1) and len(errors) == done.returncode,
                  f"byte {place}: exit {done.returncode}\n{done.stderr[-500:]}")
    return f"{len(places)} flips"


def gpt2():
    return Binary.get("gpt2", TINY_GPT2, "clm")


def bad_cases():
    f32 = np.float32
    key = "bert.encoder.layer.1.attention.self.key.weight"
    head = TINY_BERT | {"num_attention_heads": 4}
    yield "no folder", refused("nowhere", flags=["--init=/nowhere"])
    yield "no file", refused(r"model\.safetensors", change=lambda hf: (hf / "model.safetensors").unlink())
    yield "pickled weights only", refused(r"pytorch_model\.bin", change=lambda hf: (
        hf / "model.safetensors").rename(hf / "pytorch_model.bin"))
    yield "encoder weight missing", refused(re.escape(key) + ".*missing", lambda t: t.pop(key))
    yield "shape", refused(re.escape(key) + r".*f32\[16,8\].*f32\[16,16\]", lambda t: t.update({key: np.ones((16, 8), f32)}))
    yield "integers", refused(re.escape(key) + r".*i8\[16,16\]", lambda t: t.update({key: np.ones((16, 16), np.int8)}))
    yield "two spellings", refused(r"embeddings\.word_embeddings.* both are", lambda t: t.update(
        {WORDS.removeprefix("bert."): t[WORDS]}))
    yield "another model", refused("none of the program's parameters", lambda t: (t.clear(), t.update(
        {"x": np.ones(3, f32)})))
    yield "another head count", refused("num_attention_heads", config=head)
    yield "another model type", refused("model_type", config=TINY_GPT2)
    yield "malformed config", refused(r"config\.json", change=lambda hf: (hf / "config.json").write_text("{"))
    yield "untied folder", refused("does not tie", config=TINY_BERT | UNTIED)
    yield "truncated", refused(r"model\.safetensors", change=lambda hf: resize(hf / "model.safetensors", 5000))
    yield "empty", refused(r"model\.safetensors", change=lambda hf: resize(hf / "model.safetensors", 0))
    yield "with --resume", refused("--resume", flags=["--resume=x"])
    yield "index leaves the folder", refused(r"\.\./x\.safetensors", shards=2, change=rewrite_index(
        lambda i: i["weight_map"].update({WORDS: "../x.safetensors"})))
    yield "index names no file", refused("word_embeddings", shards=2, change=rewrite_index(
        lambda i: i["weight_map"].update({WORDS: 3})))
    yield "index without map", refused("weight_map", shards=2, change=rewrite_index(lambda i: i.pop("weight_map")))
    yield "index malformed", refused(r"index\.json", shards=2, change=lambda hf: resize(
        hf / "model.safetensors.index.json", 40))
    yield "index of a tensor that is elsewhere", refused("word_embeddings.* missing", shards=2, change=rewrite_index(
        lambda i: i["weight_map"].update({WORDS: next(f for f in sorted(set(i["weight_map"].values()))
                                                      if f != i["weight_map"][WORDS])})))
    yield "shard missing", refused("00002-of-00002", shards=2, change=lambda hf: (
        hf / "model-00002-of-00002.safetensors").unlink())
    yield "tensor in two shards", refused("is also in", shards=2, change=lambda hf: (
        hf / "model-00002-of-00002.safetensors").write_bytes(
            (hf / "model-00001-of-00002.safetensors").read_bytes()))


def llama():
    return Binary.get("llama", LLAMA, "clm", st.layout(1, 2))


def vit():
    return Binary.get("vit", VIT, "classify", seq=17)


def numbers_as_labels(problem, loss):
    """With only a bias in the classifier, each image gets the bias as its logits."""
    def run(folder):
        model = Binary.get(f"vit {problem}", VIT | {"problem_type": problem}, "classify", st.layout(2, 2), seq=17)
        rng = np.random.default_rng(11)
        bias = rng.normal(size=7).astype(np.float32)
        weights = model.initial | {"classifier.weight": np.zeros((7, 32), np.float32), "classifier.bias": bias}
        labels = rng.random((1, 2, 7)).astype(np.float32)
        images = {"pixel_values": rng.normal(size=(1, 2, 3, 16, 16)).astype(np.float32), "labels": labels}
        save_file(images, folder / "images.safetensors")
        hf = write_folder(folder, weights, model.config)
        found, = st.losses(st.train(model.path, f"--init={hf}", f"--data={folder / 'images.safetensors'}", steps=1))
        expected = loss(bias.astype(np.float64), labels).mean()
        st.expect(abs(found - expected) <= 1e-6 * expected, f"the loss is {found}, not {expected}")
    return run


CASES = [
    ("as transformers saves it", starts_from(bert)),
    ("no config.json", starts_from(bert, config=False)),
    ("no prefix, gamma and beta", starts_from(bert, old_bert)),
    ("three shards", starts_from(bert, shards=3)),
    ("2x2", starts_from(lambda: Binary.get("bert 2x2", layout=st.layout(2, 2)))),
    ("tied matrices present", starts_from(bert, lambda t: t | {
        "cls.predictions.decoder.weight": t[WORDS], "cls.predictions.decoder.bias": t["cls.predictions.bias"]},
        note="2 tensors of other heads or buffers ignored")),
    ("decoder's bias alone", starts_from(bert, renamed(r"^cls\.predictions\.bias", "cls.predictions.decoder.bias"))),
    ("gpt2 without prefix, with buffers", starts_from(gpt2, with_buffers, note="2 tensors of other heads")),
    ("gpt2 sharded", starts_from(gpt2, shards=2)),
    ("llama without prefix, with frequencies", starts_from(llama, lambda t: renamed(r"^model\.", "")(t) | {
        "layers.0.self_attn.rotary_emb.inv_freq": np.ones(4, np.float32)}, note="1 tensors of other heads")),
    ("llama in shards", starts_from(llama, shards=2)),
    ("vit with its pooler", starts_from(vit, lambda t: t | {"vit.pooler.dense.bias": np.ones(32, np.float32)},
                                        note="1 tensors of other heads")),
    ("vit of two sides", starts_from(lambda: Binary.get(
        "vit of two sides", VIT | {"image_size": [16, 16], "patch_size": [8, 4]}, "classify", seq=9))),
    ("numbers as labels", numbers_as_labels("regression", lambda x, y: (x - y) ** 2)),
    ("several labels", numbers_as_labels("multi_label_classification", lambda x, y: np.log1p(np.exp(x)) - x * y)),
    ("untied head", starts_from(untied)),
    ("tied folder, untied program", tied_folder),
    ("untied folder without its head", untied_folder_lacks_head),
    ("f16", converted(np.float16)),
    ("bf16", converted(ml_dtypes.bfloat16)),
    ("heads of another task", fresh_head),
    ("same losses on another layout", same_losses),
    ("damaged header", flipped_header),
    *((f"refused: {name}", run) for name, run in bad_cases()),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
