"""The optimizers of PyTorch in float64, from their documentation.

Each is a function (options, step, learning rate, parameter, gradient, state,
decays) -> (parameter, state), where state is a dictionary by suffix.
"""

import numpy as np

DEFAULTS = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight-decay": 0.01, "momentum": 0.9, "clip-norm": 0.0}


def _adam_direction(options, step, gradient, state):
    beta1, beta2 = options["beta1"], options["beta2"]
    first = beta1 * state[".exp_avg"] + (1 - beta1) * gradient
    second = beta2 * state[".exp_avg_sq"] + (1 - beta2) * gradient**2
    direction = (first / (1 - beta1**step)) / (np.sqrt(second / (1 - beta2**step)) + options["epsilon"])
    return direction, {".exp_avg": first, ".exp_avg_sq": second}


def adamw(options, step, rate, parameter, gradient, state, decays):
    direction, state = _adam_direction(options, step, gradient, state)
    decay = options["weight-decay"] if decays else 0
    return parameter * (1 - rate * decay) - rate * direction, state


def adam(options, step, rate, parameter, gradient, state, decays):
    gradient = gradient + (options["weight-decay"] if decays else 0) * parameter
    direction, state = _adam_direction(options, step, gradient, state)
    return parameter - rate * direction, state


def sgd(options, step, rate, parameter, gradient, state, decays):
    gradient = gradient + (options["weight-decay"] if decays else 0) * parameter
    if options["momentum"]:
        gradient = options["momentum"] * state[".momentum"] + gradient
        state = {".momentum": gradient}
    return parameter - rate * gradient, state


def clip(options, gradients):
    """Scales a dictionary of gradients to the global norm; returns it and the norm before."""
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
    factor = min(1.0, options["clip-norm"] / (norm + 1e-6)) if options["clip-norm"] else 1.0
    return {name: g * factor for name, g in gradients.items()}, norm


OPTIMIZERS = {"adamw": adamw, "adam": adam, "sgd": sgd}


def dynamic_map(is_signed):
    """The 256 values of 8 bits that bitsandbytes.functional.create_dynamic_map builds, ascending, in float64."""
    values = [0.0, 1.0]
    for decade in range(7):
        bounds = np.linspace(0.1, 1, 2 ** (decade if is_signed else decade + 1) + 1)
        centres = (bounds[1:] + bounds[:-1]) / 2 * 10.0 ** (decade - 6)
        values += [*centres, *(-centres if is_signed else [])]
    return np.sort(values)
