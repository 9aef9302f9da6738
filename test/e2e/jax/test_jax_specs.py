"""Steps that JAX and optax print, trained under parallel specs; five losses of each are compared with JAX's.

There are twenty draws of a model and a spec (ST_SEED repeats them), and special cases of micro-batches: tied embeddings
in two stages, a loss normalised by a count of the whole batch, a norm of all gradients; and a batch norm and a balance
loss, whose statistics of the whole batch are an error with micro-batches and none with replicas.
"""

import json
import pathlib
import random
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax
import jax_step_models as models
import numpy as np
import optax
import st_testing as st
from jax_models import bert_mlm, gpt2_clm, llama_clm
from jax_on_dtu import compile_program, run_binary
from test_jax_steps import BERT, GPT2, LLAMA, bert, clipped, gpt2, llama_with_complex_rotation

STEPS, ROWS = 5, 4
ADAM = optax.adamw(1e-3)


def widened(model, loss):
    """A model without dropout, with as many different rows in a batch as the specs need."""
    _, parameters, batch = model()
    def widen(name, value):
        rows = [value[i % len(value)] + (i if name in ("input_ids", "labels") else 0) for i in range(ROWS)]
        rows = np.stack(rows)
        return np.where(rows < -50, -100, rows % 41).astype(value.dtype) if name in ("input_ids", "labels") else rows
    batch = {name: widen(name, value) for name, value in batch.items() if name != "key"}
    return loss, parameters, batch


def plain(config):
    return {key: 0.0 if key.endswith(("pdrop", "dropout_prob")) else value for key, value in config.items()}


MODELS = {
    "bert": lambda: widened(bert, lambda p, b: bert_mlm(plain(BERT), p, b, np.array([3, 5], np.uint32))),
    "gpt2": lambda: widened(gpt2, lambda p, b: gpt2_clm(plain(GPT2), p, b, np.array([7, 11], np.uint32))),
    "llama": lambda: widened(llama_with_complex_rotation, lambda p, b: llama_clm(LLAMA, p, b)),
}


def spec(data=1, tensor=1, stages=1, micro=1, **more):
    value = {"mode": "hybrid" if stages > 1 and micro > 1 else "sharding", "data": data, "stage_cnt": stages,
             "accum_degree": micro, "sharding_size": tensor}
    return value | more


def drawn_spec(draw):
    data, stages, micro = draw.choice((1, 2, 2, 4)), draw.choice((1, 1, 2)), draw.choice((1, 2, 4))
    tensor = draw.choice((1, 2, 4) if data * stages < 4 else (1, 2))
    if data * micro > ROWS:
        data = ROWS // micro
    more = {}
    if data * tensor * stages <= 4 and draw.random() < 0.4:
        more["context"] = draw.choice((2, 4))
        if draw.random() < 0.5:
            more["context_attention"] = "keys"
    if data * more.get("context", 1) > 1:
        more["zero"] = draw.randrange(4)
    if tensor > 1:
        more["sharding_dim"] = draw.choice((0, -1, "megatron"))
    if stages > 1 and micro > 1:
        more["schedule"] = draw.choice(("1f1b", "gpipe", "zb-h1", "zb-h2", "zb-v"))
    return spec(data, tensor, stages, micro, **more)


class Step:
    """A model's step, its arguments and JAX's losses; made once per model and optimizer."""

    known = {}

    def __init__(self, model, optimizer):
        loss, parameters, batch = model()

        def step(parameters, state, batch):
            value, gradients = jax.value_and_grad(loss)(parameters, batch)
            updates, state = optimizer.update(gradients, state, parameters)
            return optax.apply_updates(parameters, updates), state, value

        self.arguments = jax.tree.map(np.asarray, (parameters, optimizer.init(parameters), batch))
        self.text = jax.jit(step, keep_unused=True, donate_argnums=(0, 1)).lower(*self.arguments).as_text(debug_info=True)
        run, state, self.losses = jax.jit(step), self.arguments[:2], []
        for _ in range(STEPS):
            *state, value = run(*state, batch)
            self.losses.append(float(value))

    @classmethod
    def of(cls, name, model, optimizer):
        if name not in cls.known:
            cls.known[name] = cls(model, optimizer)
        return cls.known[name]


def train(folder, step, parallel):
    """Losses of several runs of the binary. Each run continues from the previous one."""
    program, layout = folder / "step.mlir", st.write_json(folder / "parallel.json", parallel)
    program.write_text(step.text)
    binary, names = compile_program(folder, program, f"--parallel={layout}")
    st.expect(binary, f"refused: {names}")
    values = [np.asarray(leaf, order="C") for leaf in jax.tree.leaves(step.arguments)]
    losses = []
    for _ in range(STEPS):
        found = run_binary(folder, binary, names, values)
        values[:len(found) - 1] = found[:-1]
        losses.append(float(found[-1]))
    return losses


def case(name, model, optimizer, parallel, check=None):
    def run(folder):
        step = Step.of(name.split(":")[0], model, optimizer)
        losses = train(folder, step, parallel)
        difference = st.relative_difference(step.losses, losses)
        st.expect(difference <= 1e-5, f"losses differ by {difference:.1e}:\n{step.losses}\n{losses}\n{json.dumps(parallel)}")
        st.expect(losses[0] != losses[-1], "the loss does not move")
        return f"losses agree to {difference:.1e}" + (f"; {check(folder)}" if check else "")
    return name, run


def drawn_cases(seed, count=20):
    draw = random.Random(seed)
    for i in range(count):
        name, parallel = draw.choice(sorted(MODELS)), drawn_spec(draw)
        said = " ".join(f"{key}={value}" for key, value in parallel.items() if key == "zero" or (key != "mode" and value != 1))
        yield case(f"{name}: {i} {said}", MODELS[name], clipped(ADAM), parallel)


# ---- cases that need the whole batch -----------------------------------------------------------


def tasks_of(folder):
    return next((folder / "phases").glob("*-tasks.mlir")).read_text()


def counts_first(folder):
    """The count of tokens is a separate task before the others, and reads no weight."""
    tasks = re.findall(r"st\.task @(\w+) (\w+) stage.*?\n    \}", tasks_of(folder), re.DOTALL)
    bodies = dict(zip((name for name, _ in tasks), re.findall(r"st\.task @\w+ \w+ stage.*?\n    \}", tasks_of(folder), re.DOTALL)))
    statistics = [name for name, phase in tasks if phase == "statistics"]
    st.expect(statistics, f"no statistics among {tasks}")
    parameters = set(re.findall(r"st\.state (@\w+)", tasks_of(folder)))
    reads = {s for name in statistics for s in re.findall(r"st\.read (@\w+)", bodies[name])}
    st.expect(not reads & parameters, f"statistics read {reads & parameters}")
    return f"{len(statistics)} statistics tasks"


def table_in_both(folder):
    """The tied table is a state of both programs."""
    programs = tasks_of(folder).split("st.program ")[1:]
    tables = [re.findall(r'"([^"]*wte[^"]*)" role "parameter"', program) for program in programs]
    st.expect(len(tables) == 2 and all(tables), f"{tables}")
    return "the table is in both stages"


def refusal_case(name, model, parallel, pattern):
    def run(folder):
        step = Step.of(name, model, ADAM)
        program, layout = folder / "step.mlir", st.write_json(folder / "parallel.json", parallel)
        program.write_text(step.text)
        done = st.run([st.BIN / "st-compile", program, "--target=dtu-t10", f"--parallel={layout}", "-o", folder / "binary"])
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        st.expect(done.returncode == 1 and len(errors) == 1, f"exit {done.returncode}: {done.stderr[-800:]}")
        st.expect(re.search(pattern, errors[0]), errors[0])
        st.expect(not (folder / "binary").exists(), "a binary is left")
        return errors[0][-160:]
    return f"{name}, micro-batches", run


def whole_batch_cases():
    yield case("bert: tokens of the whole batch, micro-batches", MODELS["bert"], clipped(ADAM), spec(micro=4), counts_first)
    yield case("bert: tokens of the whole batch, replicas of micro-batches", MODELS["bert"], clipped(ADAM),
               spec(data=2, micro=2, stages=2), counts_first)
    yield case("gpt2: tied table in two stages", MODELS["gpt2"], clipped(ADAM), spec(stages=2, micro=2), table_in_both)
    yield case("llama: norm of all gradients over stages, shards and replicas", MODELS["llama"], clipped(ADAM),
               spec(data=2, tensor=2, stages=2, micro=2, zero=2, schedule="zb-h2"))
    # A gradient whose last sum is in another stage than its other sums.
    for zero in (2, 3):
        yield case(f"bert: zero {zero} in two stages", MODELS["bert"], clipped(ADAM), spec(data=2, stages=2, micro=2, zero=zero))
    for name, model in (("batch norm", models.convolution_net), ("balance loss", models.mixture_of_experts)):
        yield refusal_case(name, model, spec(micro=2), r"error: .*'stablehlo\.\w+' op .*micro")
        yield case(f"{name}: replicas", model, ADAM, spec(data=2))


# ---- where stages begin ------------------------------------------------------------------------


def marked_layers(layers=5, width=8):
    """A sequence of layers; the program marks the fourth layer and the head as starts of stages."""
    r = models.Parameters(11)
    parameters = {"layers": [r.normal(width, width, scale=0.3) for _ in range(layers)], "head": r.normal(width, 1)}

    def loss(p, batch):
        x, y = batch
        for i, weight in enumerate(p["layers"]):
            with jax.named_scope("second_half" if i == 3 else f"layer_{i}"):
                x = x + jax.numpy.tanh(x @ weight)
        with jax.named_scope("head"):
            return jax.numpy.mean((x @ p["head"] - y) ** 2)

    return loss, parameters, (r.normal(ROWS, width, scale=1), r.normal(ROWS, 1))


def weights_of_stages(expected):
    """The parameters of each stage."""
    def check(folder):
        programs = tasks_of(folder).split("st.program ")[1:]
        found = [re.findall(r'st\.state @\S+ "([^"]*)" role "parameter"', program) for program in programs]
        st.expect([sorted(names) for names in found] == expected, f"stages have {found}, expected {expected}")
        return f"stages have {[len(names) for names in found]} weights"
    return check


def stage_cases():
    def stage_case(what, expected, stages_at, **keys):
        names = [sorted(f"layers.{i}" if i != "head" else i for i in stage) for stage in expected]
        return case(f"marked layers: {what}", marked_layers, clipped(ADAM), spec(**keys) | {"stages": stages_at},
                    weights_of_stages(names))
    yield stage_case("stages by parameters", [[0], [1, 2, 3], [4, "head"]], stages=3, micro=2,
                     stages_at=["layers.1", "layers.4"])
    yield stage_case("stages at marks", [[0, 1, 2], [3, 4], ["head"]], stages=3, micro=2, stages_at=["second_half", "head"])
    yield stage_case("virtual stages", [[0, 2], [1, 3, 4, "head"]], stages=2, micro=2, schedule="interleaved",
                     stages_at=["layers.1", "layer_2", "second_half"])


# ---- layers in a loop --------------------------------------------------------------------------


def scanned_layers():
    """Four layers in a loop over stacked weights, and a table for both ends."""
    loss, parameters, tokens = models.scanned_transformer(4)
    return loss, parameters, np.concatenate([tokens, (tokens + 7) % models.VOCABULARY])


def rows_of_stages(expected):
    """The rows of the stacked weights and of their optimizer state that each stage has in the binary; it has no others."""
    def check(folder):
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", folder / "program"]).stdout
        groups = text.split("\ngroup ")[1:]
        found = [{} for _ in groups]
        for group, rows in zip(groups, found, strict=True):
            for name, first, last in re.findall(r'state "(blocks\.[^"]*)" .*? rows (\d+) to (\d+)', group):
                st.expect(first == last, f"{name} has rows {first} to {last}")
                rows.setdefault(name, []).append(int(first))
            whole = re.findall(r'state "blocks\.[^"]*" (?!.* rows \d)', group)
            st.expect(not whole, f"whole stacks: {whole}")
        st.expect(all(len(rows) == 24 and set(map(tuple, rows.values())) == {tuple(want)}
                      for rows, want in zip(found, expected, strict=True)), f"stages have {found}, expected {expected}")
        return f"stages have rows {expected}"
    return check


def loop_cases():
    def loop_case(what, expected, stages_at=None, **keys):
        parallel = spec(**keys) | ({"stages": stages_at} if stages_at else {})
        return case(f"scanned layers: {what}", scanned_layers, clipped(ADAM), parallel, rows_of_stages(expected))
    yield loop_case("two stages", [[0, 1], [2, 3]], stages=2, micro=2)
    yield loop_case("four stages, zb-h1", [[0], [1], [2], [3]], stages=4, micro=4, schedule="zb-h1")
    yield loop_case("virtual stages", [[0, 2], [1, 3]], stages=2, micro=2, schedule="interleaved")
    yield loop_case("cut before a trip", [[0], [1, 2, 3]], stages=2, micro=2, stages_at=["blocks.*.1"])
    yield loop_case("replicas and shards", [[0, 1], [2, 3]], data=2, tensor=2, stages=2, zero=2, sharding_dim="megatron")


EXPERTS = {"*up*": ["expert"], "*down*": ["expert"]}


def exchanged(folder):
    """Tokens go to their experts and back by all-to-alls, in both passes."""
    local = next((folder / "phases").glob("*-local.mlir")).read_text()
    found = re.findall(r"st\.all_to_all .*", local)
    st.expect(len(found) >= 4, f"{len(found)} all-to-alls")
    return f"{len(found)} all-to-alls"


def expert_cases():
    def expert_case(what, parallel, check=exchanged):
        return case(f"experts: {what}", models.dispatched_experts, clipped(ADAM), parallel, check)
    yield expert_case("on all replicas", spec(data=4, expert=4, parameters=EXPERTS))
    yield expert_case("on half of the replicas", spec(data=4, expert=2, parameters=EXPERTS))
    yield expert_case("micro-batches", spec(data=2, micro=2, expert=2, parameters=EXPERTS))
    yield expert_case("shards as well", spec(data=2, tensor=2, expert=2, sharding_dim="megatron", parameters=EXPERTS))
    for zero in (1, 2, 3):
        yield expert_case(f"zero {zero}", spec(data=4, micro=2, expert=2, zero=zero, parameters=EXPERTS))
    # Ranks have unequal numbers of experts.
    yield expert_case("more replicas than experts divide", spec(data=3, expert=3, parameters=EXPERTS))


def only_sums(folder):
    """The devices send only sums of a layer's activations, two in either pass, sums of the tables, and rows of the
    loss."""
    local = next((folder / "phases").glob("*-local.mlir")).read_text()
    others = re.findall(r"st\.(?:all_gather|all_to_all|reduce_scatter|collective_permute) .*", local)
    st.expect(not others, f"{len(others)} others, as {others[:1]}")
    sums = re.findall(rf"st\.all_reduce .*tensor<\d+x\d+x{GPT2['n_embd']}xf32>", local)
    st.expect(len(sums) == 2 * (2 * GPT2["n_layer"] + 1), f"{len(sums)} all-reduces of activations")
    return f"{len(sums)} all-reduces of activations"


def fused_cases():
    """`jnp.split` of one product into queries, keys and values."""
    for tensor in (2, 4):
        yield case(f"gpt2: heads of one product on {tensor} shards", MODELS["gpt2"], clipped(ADAM),
                   spec(tensor=tensor, sharding_dim="megatron"), only_sums)


def cases():
    seed = st.run_seed()
    print(f"drawn with ST_SEED={seed}", flush=True)
    yield from whole_batch_cases()
    yield from expert_cases()
    yield from fused_cases()
    yield from stage_cases()
    yield from loop_cases()
    yield from drawn_cases(seed)


if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(cases(), 2)))
