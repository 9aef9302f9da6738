"""Checkpoints between JAX and binaries: a binary starts from JAX's state (st.save_state), and JAX continues from the
binary's (st.load_state). Losses and states agree with those on JAX's CPU."""

import json
import os
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_plugin import setup

STEPS, BEFORE = 7, 3
TOLERANCE = 1e-5


def normal(rng, *shape):
    import numpy as np

    return rng.normal(scale=0.3, size=shape).astype(np.float32)


def regression(optimizer):
    """A network of two layers: the step, its state and its batches."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    rng = np.random.default_rng(3)
    parameters = {"w1": normal(rng, 16, 24), "b": normal(rng, 24), "w2": normal(rng, 24, 16)}
    batches = {"x": normal(rng, STEPS, 8, 16), "y": normal(rng, STEPS, 8, 16)}

    def loss(p, batch):
        return jnp.mean((jnp.tanh(batch["x"] @ p["w1"] + p["b"]) @ p["w2"] - batch["y"]) ** 2)

    def step(parameters, state, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    return step, (parameters, optimizer.init(parameters)), batches


def llama(optimizer):
    import jax
    import jax_step_models as models
    import numpy as np
    import optax

    loss, parameters, tokens = models.llama(layers=1)

    def step(parameters, state, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch["tokens"])
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    tokens = np.stack([(tokens + i) % models.VOCABULARY for i in range(STEPS)])
    return step, (jax.tree.map(np.asarray, parameters), optimizer.init(parameters)), {"tokens": tokens}


def batch_of(batches, i):
    return {name: value[i] for name, value in batches.items()}


def run_jax(step, state, batches, steps):
    """The losses of some steps on JAX's CPU, and the state after them."""
    import jax

    compiled, losses = jax.jit(step), []
    for i in steps:
        *state, loss = compiled(*state, batch_of(batches, i))
        losses.append(float(loss))
    return losses, tuple(state)


def differences(found, expected):
    """Relative to the largest element of each array; integers and keys are equal."""
    import jax
    import numpy as np

    worst = 0.0
    leaves = zip(jax.tree.leaves_with_path(found), jax.tree.leaves(expected), strict=True)
    for (path, a), e in leaves:
        path, a, e = jax.tree_util.keystr(path), np.asarray(a), np.asarray(e)
        st.expect(a.dtype == e.dtype and a.shape == e.shape, f"{path} is {a.dtype}{a.shape}, not {e.dtype}{e.shape}")
        if e.dtype.kind in "biu":
            st.expect((a == e).all(), f"{path} differs")
        elif e.size:
            worst = max(worst, float(np.abs(a - e).max() / max(np.abs(e).max(), 1e-30)))
    return worst


def compile_step(folder, lowered, flags, debug_info=True):
    (folder / "step.mlir").write_text(lowered.as_text(debug_info=debug_info))
    st.check_run([*st.COMPILE, folder / "step.mlir", "--target=dtu-t10", "--predict=false", "-o", folder / "step",
                  f"--roles-out={folder / 'roles.json'}", *flags])
    return folder / "step"


def agrees(folder, step, state, batches, flags=(), start="--resume", debug_info=True, unread=None):
    """JAX makes BEFORE steps; then JAX and the binary, from JAX's state, make the other steps. The binary has no state
    at the path `unread`, because only the state's own update reads it."""
    import jax
    import numpy as np
    from jax_plugins import st as plugin
    from safetensors.numpy import save_file

    lowered = jax.jit(step, donate_argnums=(0, 1)).lower(*state, batch_of(batches, 0))
    binary = compile_step(folder, lowered, flags, debug_info)
    roles = None if debug_info else folder / "roles.json"
    _, state = run_jax(step, state, batches, range(BEFORE))
    plugin.save_state(folder / "start", lowered, state, roles, step=BEFORE)
    rest = range(BEFORE, STEPS)
    data = {name: value[BEFORE:] for name, value in batches.items()}
    if not debug_info:
        ports = [p["name"] for p in json.loads(roles.read_text())["arguments"] if p["role"] == "batch"]
        data = dict(zip(ports, data.values(), strict=True))
    save_file(jax.tree.map(np.asarray, data), folder / "data.safetensors")
    expected, after = run_jax(step, state, batches, rest)
    metrics = st.train(binary, f"{start}={folder / 'start'}", f"--data={folder / 'data.safetensors'}",
                       f"--save={folder / 'end'}", steps=len(rest))
    by_losses = st.relative_difference(expected, st.losses(metrics))
    if unread:
        keep = lambda path, old, new: old if jax.tree_util.keystr(path) == unread else new
        after = jax.tree_util.tree_map_with_path(keep, state, after)
    by_state = differences(plugin.load_state(folder / "end", lowered, state, roles), after)
    st.expect(by_losses < TOLERANCE, f"losses {st.losses(metrics)}, JAX's {expected}")
    st.expect(by_state < TOLERANCE, f"the state after {len(rest)} steps is off by {by_state:.1e}")
    moved = differences(state[0], after[0])
    st.expect(moved > 100 * TOLERANCE, f"the steps change the parameters by {moved:.1e}")
    return f"losses differ by {by_losses:.0e}, states by {by_state:.0e}"


def adamw(folder):
    import optax

    return agrees(folder, *regression(optax.adamw(1e-2)))


def names_of_the_roles_file(folder):
    """Text without names of arguments; the binary starts by --init."""
    import optax

    return agrees(folder, *regression(optax.adamw(1e-2)), start="--init", debug_info=False)


def momentum_on_shards(folder):
    import optax

    flags = [f"--parallel={st.write_json(folder / 'parallel.json', st.layout(1, 2))}"]
    return agrees(folder, *regression(optax.sgd(1e-2, momentum=0.9)), flags=flags)


def on_a_mesh(folder):
    """Arrays that JAX shards; the mesh of the program determines the binary's devices."""
    import jax
    import numpy as np
    import optax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
    put = lambda tree, *spec: jax.tree.map(lambda leaf: jax.device_put(leaf, NamedSharding(mesh, P(*spec))), tree)
    step, (parameters, _), batches = regression(optimizer := optax.adamw(1e-2))
    parameters = {"w1": put(parameters["w1"], None, "model"), "b": put(parameters["b"], "model"),
                  "w2": put(parameters["w2"], "model")}
    batches = put(batches, None, "data")
    flags = [f"--parallel={st.write_json(folder / 'parallel.json', {'mode': 'sharding', 'accum_degree': 2})}"]
    return agrees(folder, step, (parameters, optimizer.init(parameters)), batches, flags)


def adafactor(folder):
    """Plain jit drops the placeholders of moments that are not factored."""
    import optax

    return agrees(folder, *llama(optax.adafactor(1e-2, min_dim_size_to_factor=8)))


def adafactor_on_shards(folder):
    import optax

    flags = [f"--parallel={st.write_json(folder / 'parallel.json', st.layout(1, 2))}"]
    return agrees(folder, *llama(optax.adafactor(1e-2, min_dim_size_to_factor=8, momentum=0.9)), flags=flags,
                  unread="[1][4].count")


def refuse(error, *arguments, **named):
    from jax_plugins import st as plugin

    try:
        plugin.save_state(*arguments, **named)
    except ValueError as found:
        st.expect(str(found) == error, f"the error is\n{found}\nexpected\n{error}")
        return
    raise st.Failure(f"no error; expected {error}")


def refusals(folder):
    import jax
    import optax

    step, (parameters, state), batches = regression(optax.sgd(1e-2, momentum=0.9))
    lower = lambda **options: jax.jit(step, **options).lower(parameters, state, batch_of(batches, 0))
    donating = lower(donate_argnums=(0, 1))
    refuse('leaf 0 of the state is "[0][0].trace[\'b\']"; expected the donated "[0][0][\'b\']" of (args, kwargs)',
           folder / "out", donating, (state, parameters))
    refuse("the state has 3 leaves; the step donates 6", folder / "out", donating, (parameters,))
    refuse("state[0]['w1'] has the shape [24]; the step's has [16, 24]",
           folder / "out", donating, (parameters | {"w1": parameters["b"]}, state))
    refuse("the program has no state; expected a step that donates its parameters (donate_argnums)",
           folder / "out", lower(), ())
    st.expect(not (folder / "out").exists(), "a refused call writes nothing")


CASES = [adamw, names_of_the_roles_file, momentum_on_shards, on_a_mesh, adafactor, adafactor_on_shards, refusals]


if __name__ == "__main__":
    if not setup.has_jax():
        sys.exit(0)
    setup.use(devices=1)
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    sys.exit(st.main(*((case.__name__.replace("_", " "), case) for case in CASES)))
