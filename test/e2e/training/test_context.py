"""Sequences that devices share (`context`): the losses of one device, the bytes of the formula, and no tensor of the size of
all scores.

Four AdamW steps of a small Llama, Mistral and GPT-2 at 256 tokens, dropout on in GPT-2, in f32; ST_ALL=1 adds 2048 tokens.
Losses agree to 1e-5 relative at each step.
"""

import json
import math
import os
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

TOKENS, BATCH, STEPS = 256, 2, 4
HIDDEN, HEADS, GROUPS, LAYERS = 64, 8, 4, 2
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
         "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "intermediate_size": 128, "vocab_size": 96,
         "max_position_embeddings": 2048}
MODELS = {
    "llama": LLAMA,
    "mistral": LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 40},
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS,
             "n_positions": 2048, "vocab_size": 96, "attn_pdrop": 0.1, "resid_pdrop": 0.1, "embd_pdrop": 0.1},
}


def layout(context, exchange=None, **keys):
    return {"mode": "sharding", "data": 1, "context": context, **({"context_attention": exchange} if exchange else {}), **keys}


def losses_of(folder, name, model, parallel, tokens, target="dtu-t10"):
    binary = st.compile_model(folder, name, MODELS[model], "clm", parallel, f"--target={target}", "--optimizer=adamw",
                              "--lr=1e-3", batch=BATCH, seq=tokens)
    return st.losses(st.train(binary, steps=STEPS))


class Reference:
    cache = {}

    @classmethod
    def get(cls, folder, model, tokens):
        if (model, tokens) not in cls.cache:
            losses = losses_of(folder, "reference", model, None, tokens)
            st.expect(len(set(losses)) == STEPS, f"the loss does not move: {losses}")
            cls.cache[model, tokens] = losses
        return cls.cache[model, tokens]


def case(model, parallel, tokens=TOKENS, target="dtu-t10"):
    def check(folder):
        expected = Reference.get(folder, model, tokens)
        actual = losses_of(folder, "split", model, parallel, tokens, target)
        apart = st.relative_difference(expected, actual)
        st.expect(apart <= 1e-5, f"losses differ by {apart:.3g}:\n{expected}\n{actual}")
        return f"losses agree to {apart:.1e}"

    keys = " ".join(f"{key} {value}" for key, value in parallel.items() if key not in ("mode", "data"))
    return f"{model} {tokens} {target} {keys}", check


def bytes_of_attention(folder):
    """Exchanged heads: queries and results, keys and values, and their gradients, each once. Gathered keys and
    values, and the scattered gradients of both, which each device first adds up for a group of heads. No other activation is
    sent."""
    found = []
    for exchange, n in (("heads", 4), ("heads", 2), ("keys", 4), ("keys", 8)):
        model = st.write_json(folder / "model" / "config.json", LLAMA).parent
        explained = folder / "explained.json"
        st.check_run([*st.COMPILE, model, "--task=clm", f"--batch={BATCH}", f"--seq={TOKENS}", "--target=dtu-t10",
                      f"--parallel={st.write_json(folder / 'parallel.json', layout(n, exchange))}", "--compile-to=resharded",
                      f"--explain={explained}", "-o", folder / "out.mlir"])
        sent = sum(c["bytes"] for r in json.loads(explained.read_text())["reshards"] for c in r["collectives"]
                   if "all_reduce" not in c["what"])
        queries, keys = HIDDEN, HIDDEN * GROUPS // HEADS
        tokens = 4 * LAYERS * BATCH * TOKENS
        expected = tokens * (4 * (queries + keys) * (n - 1) // n ** 2 if exchange == "heads" else
                             4 * keys * (n - 1) // n)
        st.expect(sent == expected, f"{exchange} over {n}: {sent} bytes, expected {expected}")
        found.append(f"{exchange} over {n}: {sent}")
    return ", ".join(found)


def bytes_of_ring(folder):
    """Parts that are passed around a ring, and the sums of their gradients, have as many bytes as gathered keys and
    scattered gradients."""
    found = []
    for n in (2, 4):
        sent = {}
        for exchange in ("keys", "ring"):
            binary = st.compile_model(folder, exchange, LLAMA, "clm", layout(n, exchange, recompute="selective"), "--target=dtu-t10",
                                      "--optimizer=adamw", batch=BATCH, seq=TOKENS)
            st.check_run([binary, "--steps=1", f"--report={folder / 'report.json'}"])
            sent[exchange] = sum(map(int, re.findall(r'"sent_bytes": (\d+)', (folder / "report.json").read_text())))
        st.expect(sent["keys"] == sent["ring"] > 0, f"{n} devices: {sent}")
        found.append(f"{n} devices: {sent['ring']}")
    return ", ".join(found)


def largest_tensor(folder):
    """No tensor of a device has the scores of its tokens, nor half of those of one head."""
    for exchange in ("heads", "keys", "ring"):
        model = st.write_json(folder / "model" / "config.json", LLAMA).parent
        planned = folder / "planned.mlir"
        tokens = 2048
        st.check_run([*st.COMPILE, model, "--task=clm", "--batch=1", f"--seq={tokens}", "--target=cuda-sm_90",
                      f"--parallel={st.write_json(folder / 'parallel.json', layout(4, exchange))}", "--compile-to=planned",
                      "-o", planned])
        text = planned.read_text()
        sizes = [math.prod(map(int, shape.split("x")[:-1]))
                 for line in text.splitlines() if "st.addresses" in line or " st.buffer " in line
                 for shape in re.findall(r"tensor<((?:\d+x)+\w+)>", line)]
        st.expect(sizes and max(sizes) < tokens * tokens // 4 // 2, f"{exchange}: a tensor of {max(sizes)} elements")
    return f"at most {max(sizes)} elements"


def count_products(text):
    """The products in attention kernels."""
    products, is_attention = 0, False
    for line in text.splitlines():
        if "st.kernel" in line:
            is_attention = 'st.kernel "attention"' in line
        products += is_attention and "dot_general" in line
    return products


def work_of_attention(folder):
    """Devices that send keys, together or around a ring, have the work of devices that send heads: that of the pairs that a
    causal mask or a sliding window keeps, and at most 10 % more."""
    tokens, n = 16384, 8
    found = []
    # A device has every eighth token of a sequence, unless it has heads. The window of 64 rows of a block then has 64 x 8 keys
    # more than that of one row, an eighth of a window of 4096. In a ring each part has an eighth of a window's keys.
    for name, window, exchanges in (("llama", None, ("heads", "keys", "ring")), ("mistral", 4096, ("heads", "keys")),
                                    ("mistral", 8192, ("keys", "ring"))):
        keys = {"sliding_window": window} if window else {}
        model = st.write_json(folder / name / "config.json", MODELS[name] | keys | {
            "hidden_size": 1024, "num_hidden_layers": 1, "max_position_embeddings": tokens}).parent
        for exchange in exchanges:
            page, phases = folder / "page.html", folder / "phases"
            st.check_run([*st.COMPILE, model, "--task=clm", "--batch=1", f"--seq={tokens}", "--target=cuda-sm_90",
                          f"--parallel={st.write_json(folder / 'parallel.json', layout(n, exchange, precision={'compute': 'bf16'}))}",
                          f"--report={page}", f"--dump-phases-to={phases}", "-o", folder / "step"])
            row = re.search(r"<tr><td>attention</td>(.*?)</tr>", page.read_text())[1]
            work = float(re.sub("<[^>]*>", " ", row).split()[-2])
            # Two products in the forward pass. In the backward pass seven in two kernels, or five in one that computes both.
            products = count_products(next(phases.glob("*-planned.mlir")).read_text()) / (n if exchange == "ring" else 1)
            st.expect(7 <= products <= 9, f"{name} {exchange}: {products} products")
            pairs = tokens ** 2 / 2 if name == "llama" else window * tokens - window ** 2 / 2
            expected = products * 2 * pairs * 1024 / n / 1e12
            found.append(f"{name} {exchange}: {work / expected:.3f} of {expected:.3f} TFLOP in {products:g} products")
            # Where blocks exceed a short window, one kernel for both gradients still has less work than two without this excess.
            most = 1.1 * 9 / products if (window, exchange) == (4096, "keys") else 1.1
            st.expect(0.99 <= work / expected <= most, found[-1])
    return ", ".join(found)


def cases():
    yield case("llama", layout(8))
    yield case("llama", layout(4, "keys"))
    yield case("gpt2", layout(4))
    yield case("gpt2", layout(8, "keys", zero=1))
    yield case("mistral", layout(4, "keys", recompute="full"))
    yield case("llama", layout(4, "ring"))
    yield case("gpt2", layout(8, "ring"))
    yield case("mistral", layout(2, "ring"))
    yield case("mistral", layout(4, "ring", recompute="full"))
    yield case("llama", layout(4), target="cuda-host")
    yield case("llama", layout(4, "ring"), target="cuda-host")
    yield case("llama", layout(2, "keys"), target="cuda-host")
    yield "bytes of attention", bytes_of_attention
    yield "bytes of a ring", bytes_of_ring
    yield "largest tensor", largest_tensor
    yield "work of attention", work_of_attention
    if not os.environ.get("ST_ALL"):
        return
    for model in ("gpt2", "llama"):
        yield case(model, layout(2, "keys", sharding_size=2, sharding_dim="megatron", sequence_parallel=True, accum_degree=2))
    yield case("gpt2", layout(2, sharding_size=2, sharding_dim="megatron", sequence_parallel=True))
    for model in MODELS:
        for n, exchange in ((8, "heads"), (8, "keys"), (4, None), (2, None)):
            yield case(model, layout(n, exchange))
    for exchange in ("heads", "keys", "ring"):
        yield case("llama", layout(8, exchange), tokens=2048)
        yield case("gpt2", layout(4, exchange, recompute="full"), tokens=2048)


if __name__ == "__main__":
    sys.exit(st.main(*cases()))
