"""Long rows of attention's scores: fused kernels hold full rows, or stream them if they do not fit a core's memory.

Losses of streamed rows are those of a device whose cores hold full rows, or that stores the scores. No tensor of a step has
the size of all scores, and masked blocks cost nothing.
"""

import json
import math
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

HIDDEN, HEADS = 64, 4
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": 1,
         "num_attention_heads": HEADS, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 96,
         "max_position_embeddings": 65536}
MODELS = {
    "causal": (LLAMA, "clm"),
    "window": (LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 40}, "clm"),
    "dropout": ({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": HIDDEN, "n_layer": 1, "n_head": HEADS,
                 "n_positions": 1024, "vocab_size": 96, "attn_pdrop": 0.1, "resid_pdrop": 0.1, "embd_pdrop": 0.1}, "clm"),
    "unmasked": ({"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": 1,
                  "num_attention_heads": HEADS, "intermediate_size": 96, "vocab_size": 96, "max_position_embeddings": 1024,
                  "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0}, "mlm"),
}
WIDE = LLAMA | {"hidden_size": 512, "num_attention_heads": 2, "num_key_value_heads": 1}
# Bytes of a core's memory, in which 256 columns are too many for full rows.
SMALL_L1 = 49152
STEPS, TOLERANCES = 3, {"f32": 1e-6, "bf16": 2e-3}


def small_device(folder):
    text = (st.ROOT / "devices/dtu-t10.textproto").read_text()
    text, count = re.subn(r"(?m)^l1_bytes_per_core \{ value: \S+", f"l1_bytes_per_core {{ value: {SMALL_L1}", text)
    st.expect(count == 1, "the description has no size of L1")
    path = folder / "small.textproto"
    path.write_text(text)
    return path


def layout(**keys):
    return st.layout(1, 1) | {"recompute": "selective"} | keys


def compiled(folder, name, model, tokens, target, **keys):
    """The binary of a step and the text of its planned program."""
    config, task = MODELS[model] if isinstance(model, str) else (model, "clm")
    phases = folder / f"{name}.phases"
    binary = st.compile_model(folder, name, config, task, layout(**keys), f"--target={target}", f"--dump-phases-to={phases}",
                              batch=1, seq=tokens)
    return binary, next(phases.glob("*-planned.mlir")).read_text()


def expect_fused(planned, tokens, streamed=3, heads=HEADS):
    """No stored scores, and `streamed` kernels that stream rows: the forward kernel, and at least one kernel each for the
    gradients of rows and columns."""
    found = len(re.findall(r"\bst\.streamed\b", planned))
    st.expect(found >= streamed if streamed else not found, f"{found} kernels stream rows, expected {streamed}")
    kept = re.search(rf"(?m)^ *(?:%\S+ = st\.kernel .*->.*|st\.buffer.*)(?:<|\b{heads}x){tokens}x{tokens}x.*", planned)
    st.expect(not kept, f"a tensor of all scores is stored: {kept and kept[0][:300]}")


def same_losses(model, precision):
    def check(folder):
        keys = {} if precision == "f32" else {"precision": {"compute": precision}}
        large, _ = compiled(folder, "large", model, 256, "dtu-t10", **keys)
        small, planned = compiled(folder, "small", model, 256, small_device(folder), **keys)
        expect_fused(planned, 256)
        expected, actual = (st.losses(st.train(binary, steps=STEPS)) for binary in (large, small))
        st.expect(len(set(expected)) == STEPS, f"the loss does not move: {expected}")
        apart = st.relative_difference(expected, actual)
        st.expect(apart <= TOLERANCES[precision], f"losses differ by {apart:.3g}:\n{expected}\n{actual}")
        return f"losses agree to {apart:.1e}"
    return check


def wide_heads(folder):
    """Heads of 256: T10 streams rows that T20 holds in full."""
    found = []
    for target, streamed in ("dtu-t20", 0), ("dtu-t10", 3):
        binary, planned = compiled(folder, target, WIDE, 768, target, precision={"compute": "bf16"})
        expect_fused(planned, 768, streamed, heads=2)
        found.append(st.losses(st.train(binary, steps=2)))
    apart = st.relative_difference(*found)
    st.expect(apart <= TOLERANCES["bf16"], f"losses differ by {apart:.3g}: {found}")
    return f"losses agree to {apart:.1e}"


def stored_probabilities(folder):
    """Without recomputation the forward kernel stores the probabilities, block by block, and the backward ones read them."""
    large, _ = compiled(folder, "large", "dropout", 256, "dtu-t10", recompute="none")
    small, planned = compiled(folder, "small", "dropout", 256, small_device(folder), recompute="none")
    st.expect("st.streamed" in planned, "no kernel streams rows")
    expected, actual = (st.losses(st.train(binary, steps=STEPS)) for binary in (large, small))
    apart = st.relative_difference(expected, actual)
    st.expect(apart <= TOLERANCES["f32"], f"losses differ by {apart:.3g}:\n{expected}\n{actual}")
    return f"losses agree to {apart:.1e}"


def long_sequence(tokens, precision):
    """A step of T10 at a length at which all scores take more than its memory."""
    def check(folder):
        keys = {} if precision == "f32" else {"precision": {"compute": precision}}
        binary, planned = compiled(folder, "long", "causal", tokens, "dtu-t10", **keys)
        expect_fused(planned, tokens)
        st.check_run([binary, "--timing-only"])
    return check


# Products of full rows: two forward, two for the gradient of scores, three for those of queries, keys and values. The gradient
# of streamed rows has three for queries, and four for keys and values.
PRODUCTS = {"full": 2 + 2 + 3, "streamed": 2 + 3 + 4}
MOST = 1.1


def linear_macs(planned, tokens):
    """Multiply-accumulates of the products outside of attention."""
    total = 0
    for body in re.findall(r'st\.kernel "\w+".*?\n(.*?)st\.yield', planned, re.S):
        for dims, left, result in re.findall(
                r"dot_general .*contracting_dims = \[([\d, ]+)\] x .*: \(tensor<([^>]*)>, tensor<[^>]*>\) -> tensor<([^>]*)>", body):
            if f"{tokens}x{tokens}x" not in left + result:
                depth = math.prod(int(left.split("x")[int(dim)]) for dim in dims.split(","))
                total += depth * math.prod(map(int, result.split("x")[:-1]))
    return total


def work_is_of_the_visible(rows, tokens, window, target):
    """The operations of attention are at most 10 % more than those of the visible elements."""
    def check(folder):
        model = LLAMA if not window else LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral",
                                                  "sliding_window": window}
        binary, planned = compiled(folder, "long", model, tokens, target)
        expect_fused(planned, tokens, streamed=3 if rows == "streamed" else 0)
        report = folder / "report.json"
        st.check_run([binary, "--timing-only", f"--report={report}"])
        macs = json.loads(report.read_text())["devices"][0]["macs"] - linear_macs(planned, tokens)
        reach = window or tokens
        visible = reach * (reach + 1) // 2 + (tokens - reach) * reach
        ratio = macs / (PRODUCTS[rows] * HIDDEN * visible)
        st.expect(1 <= ratio <= MOST, f"the operations are {ratio:.3f} times those of the visible elements")
        return f"{ratio:.3f} times the operations of the visible elements"
    return check


if __name__ == "__main__":
    st.main(*((f"losses of {model} attention in {precision}", same_losses(model, precision))
              for model in MODELS for precision in TOLERANCES),
            ("heads of 256", wide_heads),
            ("stored probabilities", stored_probabilities),
            *((f"{tokens} tokens in {precision}", long_sequence(tokens, precision))
              for tokens, precision in ((16384, "f32"), (32768, "f32"), (32768, "bf16"))),
            *((f"work of {'a window' if window else 'causal attention'} of {rows} rows",
               work_is_of_the_visible(rows, tokens, window, target))
              for rows, tokens, target in (("streamed", 4096, "dtu-t10"), ("full", 1536, "dtu-t20"))
              for window in (None, 1280)))
