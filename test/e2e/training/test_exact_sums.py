"""`--reduce=exact`: every layout gives the same losses and the same checkpoint, to the bit.

Families, precisions and optimizers of different sums train three steps on one device and under a draw of layouts; ST_ALL=1
takes all layouts. Without the flag the same layouts differ in the last digits, so the comparison
can fail. Sums and products of a program are compared with exact rational arithmetic.
"""

import fractions
import json
import math
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import expect_error

STEPS, BATCH, TOKENS = 3, 4, 16
GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4, "vocab_size": 61,
       "n_positions": 16}
BERT = {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 61, "max_position_embeddings": 32}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 64,
         "max_position_embeddings": 64}
MIXTRAL = LLAMA | {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 4,
                   "num_experts_per_tok": 2}
T5 = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "d_model": 32, "d_ff": 64, "d_kv": 8, "num_heads": 4,
      "num_layers": 2, "num_decoder_layers": 2, "vocab_size": 64, "decoder_start_token_id": 0, "pad_token_id": 0,
      "eos_token_id": 1}


def replicas(count, **keys):
    return {"mode": "sharding", "data": count, **keys}


LAYOUTS = {
    "2 shards": st.layout(1, 2),
    "2 x 2, 2 micro-batches": st.layout(2, 2, accum=2),
    "4 micro-batches": st.layout(1, 1, accum=4),
    "2 stages, 4 micro-batches": st.layout(2, 1, accum=4),
    "4 replicas, ZeRO 1": replicas(4, zero=1),
    "2 replicas, ZeRO 3": replicas(2, zero=3),
    "2 replicas, 2 micro-batches": replicas(2, accum_degree=2),
}


def compiled(folder, name, model, task, parallel, *flags):
    return st.compile_model(folder, name, model, task, parallel, *flags, batch=BATCH, seq=TOKENS)


def trained(folder, binary, *flags, steps=STEPS):
    """The losses of a run, and the tensors of its checkpoint as bytes."""
    saved = folder / f"{binary.stem}-{steps}"
    losses = st.losses(st.train(binary, "--lr=1e-2", f"--save={saved}", *flags, steps=steps))
    return losses, {path.name: path.read_bytes() for path in saved.glob("*.safetensors")}


def agree(model, task, *flags, layouts=LAYOUTS, precision=None, drawn=4):
    def check(folder):
        def run(name, layout):
            if precision:
                layout = dict(layout or replicas(1), precision={"compute": precision})
            return trained(folder, compiled(folder, name, model, task, layout, "--reduce=exact", *flags))

        losses, tensors = run("one", None)
        st.expect(len(set(losses)) == STEPS, f"the loss does not move: {losses}")
        taken = st.drawn_part(layouts, drawn)
        for i, name in enumerate(taken):
            others, found = run(f"other{i}", layouts[name])
            st.expect(others == losses, f"{name}: {others}, one device {losses}")
            st.expect(found == tensors, f"{name}: another checkpoint")
        return f"{len(taken)} layouts"
    return check


def differ_without(folder):
    """Without the flag, losses agree up to rounding with those of exact sums, and layouts differ."""
    fast, tensors = trained(folder, compiled(folder, "fast", GPT, "clm", None))
    exact, _ = trained(folder, compiled(folder, "exact", GPT, "clm", None, "--reduce=exact"))
    apart = st.relative_difference(fast, exact)
    st.expect(apart <= 1e-6, f"losses are {apart:.3g} apart: {fast} and {exact}")
    _, other = trained(folder, compiled(folder, "shards", GPT, "clm", LAYOUTS["2 shards"]))
    st.expect(other != tensors, "shards give the same checkpoint without exact sums")
    return f"{apart:.1e}"


def resumes(folder):
    """Steps on one device, the rest in another layout."""
    one, other = (compiled(folder, name, GPT, "clm", layout, "--reduce=exact")
                  for name, layout in (("one", None), ("other", LAYOUTS["2 x 2, 2 micro-batches"])))
    whole, tensors = trained(folder, one, steps=6)
    trained(folder, one, steps=2)
    rest, found = trained(folder, other, f"--resume={folder / 'one-2'}", steps=4)
    st.expect(rest == whole[2:] and found == tensors, f"{rest}, in one layout {whole[2:]}")


def on_gpus(folder):
    """Kernels of GPUs, run on the host."""
    def renamed(layout):
        return json.loads(json.dumps(layout).replace("/device:XLA_DTU:", "GPU:").replace("GPU:5", "GPU:4"))
    layouts = {name: renamed(LAYOUTS[name]) for name in ("2 shards", "2 x 2, 2 micro-batches", "4 micro-batches")}
    return agree(GPT, "clm", "--target=cuda-host", layouts=layouts, drawn=2)(folder)


def loops(folder):
    """A scan over layers that JAX differentiated: unrolled in every layout, kept as a loop in those without micro-batches."""
    def step(w, x, y, rate):
        def loss(w):
            return ((jax.lax.scan(lambda h, layer: (jnp.tanh(h @ layer), None), x, w)[0] - y) ** 2).mean()
        value, gradient = jax.value_and_grad(loss)(w)
        return w - rate * gradient, value

    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((3, 16, 16), (8, 16), (8, 16), ())]
    (folder / "step.mlir").write_text(jax.jit(step, donate_argnums=0).lower(*shapes).as_text())
    draw = np.random.default_rng(0)
    safetensors.numpy.save_file({f"arg{i}": draw.normal(size=(4, 8, 16)).astype(np.float32) for i in (1, 2)}, folder / "batches.safetensors")
    layouts = {"one": replicas(1), "4 replicas": replicas(4), "2 shards": replicas(1, sharding_size=2), "4 micro-batches": replicas(1, accum_degree=4),
               "3 stages": {"mode": "pipeline", "stage_cnt": 3, "data": 1, "accum_degree": 2}}

    def command(name, unroll):
        spec = st.write_json(folder / "parallel.json", layouts[name])
        return [*st.COMPILE, folder / "step.mlir", "--reduce=exact", f"--unroll={unroll}", f"--parallel={spec}", "--predict=false", "-q",
                "--roles=arg0=parameter,arg1=batch,arg2=batch,arg3=scalar:learning_rate", "-o", folder / "step.bin"]

    for unroll, names in ((256, [*layouts]), (0, ["one", "4 replicas", "2 shards"])):
        results = []
        for name in names:
            st.check_run(command(name, unroll))
            losses, tensors = trained(folder, folder / "step.bin", f"--data={folder / 'batches.safetensors'}")
            results.append((losses, tensors))
            st.expect(results[-1] == results[0], f"{name}, --unroll={unroll}: {losses}, one device {results[0][0]}")
    expect_error(command("4 micro-batches", 0), r"'stablehlo\.while' op needs all of dimension .*; exact sums over samples are not possible in a loop")


PROGRAM = """
func.func @main(%a: tensor<{rows}x{depth}xf32>, %b: tensor<{depth}x3xf32>, %ids: tensor<{depth}x1xi32>)
    -> (tensor<{rows}x3xf32>, tensor<{rows}xf32>, tensor<2x3xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{rows}x{depth}xf32>, tensor<{depth}x3xf32>) -> tensor<{rows}x3xf32>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<{rows}x{depth}xf32>, tensor<f32>) -> tensor<{rows}xf32>
  %2 = "stablehlo.scatter"(%zeros, %ids, %b) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %3 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }}) : (tensor<2x3xf32>, tensor<{depth}x1xi32>, tensor<{depth}x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<{rows}x3xf32>, tensor<{rows}xf32>, tensor<2x3xf32>
}}
"""


def run_program(folder, a, b, ids):
    rows, depth = a.shape
    program = folder / "program.mlir"
    program.write_text(PROGRAM.format(rows=rows, depth=depth))
    st.check_run([*st.COMPILE, program, "--reduce=exact", "--predict=false", "-o", folder / "program", "-q"])
    safetensors.numpy.save_file({"arg0": a, "arg1": b, "arg2": ids}, folder / "in.safetensors")
    st.check_run([folder / "program", f"--inputs={folder / 'in.safetensors'}", f"--outputs={folder / 'out.safetensors'}"])
    found = safetensors.numpy.load_file(folder / "out.safetensors")
    return [found[f"result{i}"] for i in range(3)]


def exact_arithmetic(folder):
    """Results are within 2^-22 of the sum of the largest addends; numbers of very different sizes cancel."""
    seed = st.run_seed()
    draw = np.random.default_rng(seed)
    worst = 0
    for depth in (1, 5, 300, 5000):
        a, b = (draw.standard_normal(shape).astype(np.float32) * np.exp2(draw.integers(-12, 12, shape)).astype(np.float32)
                for shape in ((4, depth), (depth, 3)))
        a[1] *= np.float32(2.0**-80)
        a[2] *= np.float32(2.0**60)
        a[3, 1::2] = -a[3, :-1:2] if depth > 1 and depth % 2 == 0 else a[3, 1::2]
        ids = draw.integers(0, 2, (depth, 1)).astype(np.int32)
        product, total, scattered = run_program(folder, a, b, ids)
        exactly = [[fractions.Fraction(float(x)) for x in row] for row in a], [[fractions.Fraction(float(x)) for x in row] for row in b]
        for i in range(4):
            row, largest = exactly[0][i], abs(a[i]).max()
            worst = max(worst, abs(float(fractions.Fraction(float(total[i])) - sum(row)) / (float(largest) * math.sqrt(depth))))
            for j in range(3):
                column = [line[j] for line in exactly[1]]
                wanted = sum(x * y for x, y in zip(row, column))
                scale = float(largest) * float(abs(b[:, j]).max()) * math.sqrt(depth)
                worst = max(worst, abs(float(fractions.Fraction(float(product[i, j])) - wanted)) / scale)
        for k in range(2):
            for j in range(3):
                addends = [line[j] for line, id in zip(exactly[1], ids[:, 0]) if id == k]
                scale = float(abs(b[:, j]).max()) * math.sqrt(depth)
                worst = max(worst, abs(float(fractions.Fraction(float(scattered[k, j])) - sum(addends))) / scale)
    st.expect(worst <= 2.0**-22, f"off by {worst:.3g} with ST_SEED={seed}")
    return f"off by {worst:.1e} at most"


def not_finite(folder):
    """Infinite numbers and NaN are not lost; rows without them are as before."""
    a, b = np.ones((4, 6), np.float32), np.ones((6, 3), np.float32)
    ids = np.array([[0], [0], [0], [1], [1], [1]], np.int32)
    a[0, 2], a[1, 3] = np.inf, np.nan
    product, total, scattered = run_program(folder, a, b, ids)
    st.expect(not np.isfinite(product[:2]).any() and not np.isfinite(total[:2]).any(), f"{product} {total}")
    st.expect((product[2:] == 6).all() and (total[2:] == 6).all() and (scattered == 3).all(), f"{product} {total} {scattered}")
    b[1, 0], b[4, 1], b[5, 2] = np.inf, np.nan, 2.0**51
    product, total, scattered = run_program(folder, np.ones((4, 6), np.float32), b, ids)
    st.expect(not np.isfinite(product[:, :2]).any() and np.isfinite(total).all(), f"{product} {total}")
    st.expect(np.isfinite(scattered).tolist() == [[False, True, True], [True, False, False]], f"{scattered}")


def refuses(folder):
    program = folder / "windows.mlir"
    program.write_text("""func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 8>, padding = dense<[[7, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    expect_error([*st.COMPILE, program, "--reduce=exact", "-o", folder / "out"],
                 r"windows\.mlir:3:8: .*sums floats in a way that has no exact form; expected products")
    expect_error([*st.COMPILE, program, "--reduce=some", "-o", folder / "out"], "--reduce=some: expected fast or exact")


CASES = [
    ("without the flag", differ_without),
    ("gpt2", agree(GPT, "clm")),
    ("bert, dropout, clipping, f16", agree(BERT, "mlm", "--clip-norm=0.5", precision="f16")),
    ("bert, spans, 8-bit LAMB", agree(BERT | {"architectures": ["BertForQuestionAnswering"]}, "span", "--optimizer=lamb-8bit",
                                      "--min-8bit-size=64")),
    ("llama, context, adafactor", agree(LLAMA, "clm", "--optimizer=adafactor", "--min-factored-size=16", layouts=LAYOUTS | {
        "context 2": replicas(1, context=2), "context 4": replicas(1, context=4)})),
    ("mixtral, experts, bf16", agree(MIXTRAL, "clm", layouts=LAYOUTS | {"expert 2": replicas(2, expert=2)}, precision="bf16")),
    ("t5", agree(T5, "seq2seq")),
    ("adapters", agree(LLAMA, "clm", "--lora=4:q_proj,v_proj")),
    ("bert, 32 devices", agree(BERT | {"num_hidden_layers": 4, "num_attention_heads": 8}, "mlm", drawn=1, layouts={
        "4 x 8": st.layout(4, 8, accum=4), "8 shards": st.layout(1, 8)})),
    ("resumes in another layout", resumes),
    ("GPUs", on_gpus),
    ("loops", loops),
    ("exact arithmetic", exact_arithmetic),
    ("not finite", not_finite),
    ("refused", refuses),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
