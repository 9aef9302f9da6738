"""Random training steps of models: a small random configuration of one of the families, with its gradients and an optimizer,
under a random parallel file."""

import json
import os
import pathlib
import re
import subprocess

from random_configs import DECODERS, FAMILIES, WITH_EXPERTS, RandomConfig
from random_steps import OPTIMIZERS, PREPARE, ROADS, Step, in_16_bits, quoted

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRANSLATE = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin/st-translate"
# Moments of 8 bits are left out: a rounding of the deep programs of models may change a code.
MODEL_OPTIMIZERS = tuple(optimizer for optimizer in OPTIMIZERS if "state-bits" not in optimizer)
INPUTS = ("prefix-lm", "reset-position-ids", "reset-attention-mask")
MOST_DEVICES = 16


class ModelStep(Step):
    """The loss of one of the families of configurations. Sums of f32 may be exact."""

    def __init__(self, rng, has_exact_sums):
        self.rng, self.axes, self.has_exact_sums = rng, None, has_exact_sums
        self.compute = "f32" if has_exact_sums else rng.choice(["f32", "f32", "f32", "f32", "bf16"])
        self.stages, self.micro = rng.choice([1, 2, 2, 3]), rng.choice([1, 2, 3, 4])
        self.data, self.shards = rng.choice([1, 1, 2, 4]), rng.choice([1, 2, 2, 4])
        if self.stages * self.data * self.shards > MOST_DEVICES:
            self.data = 1
        self.schedule, self.virtual = self.draw_schedule()
        self.batch = self.micro * self.data * rng.choice([1, 2])
        fewest = max(self.micro, self.micro * (self.data - 1) + 1)
        if fewest < self.batch and rng.random() < 0.3:  # The last micro-batches or replicas have fewer rows.
            self.batch = rng.randrange(fewest, self.batch)
        self.sequence = rng.choice([3, 4, 4, 5, 6, 7, 8, 8, 9])  # mostly numbers that devices of a context divide
        even = self.batch % (self.micro * self.data) == 0
        self.config = RandomConfig(rng, rng.choice(FAMILIES + WITH_EXPERTS), self.stages * self.virtual, self.sequence,
                                   rows=self.batch // (self.micro * self.data) if even else 1,
                                   has_whole_batch=self.micro == 1)

    def draw_schedule(self):
        """The order of the micro-batches of a pipeline, and the stages that each of its device groups has."""
        if self.stages == 1 or self.micro == 1:
            return None, 1
        kinds = ["sequential", "gpipe", "1f1b", "zb-h1", "zb-h2", "zb-v"]
        schedule = self.rng.choice(kinds + ["interleaved", "interleaved"] * (self.micro % self.stages == 0))
        return schedule, {"interleaved": self.rng.choice([2, 2, 3]), "zb-v": 2}.get(schedule, 1)

    def flags(self):
        """Flags of the import that change the inputs of the program."""
        config, flags = self.config, []
        if config.family != "vit":
            flags.append(f"--seq={self.sequence}")
        if config.task == "seq2seq" and self.rng.random() < 0.5:
            flags.append(f"--label-seq={self.rng.randint(2, self.sequence)}")
        if config.family in DECODERS and config.task == "clm" and self.rng.random() < 0.4:
            flags += [f"--{name}" for name in self.rng.sample(INPUTS, self.rng.choice([1, 1, 2]))]
        return flags

    def imported(self):
        """The program of the forward loss."""
        text = json.dumps(self.config.keys)
        done = subprocess.run([TRANSLATE, "--import-hf-config", f"--task={self.config.task}", f"--batch={self.batch}",
                               *self.flags()], input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{text}: {done.stderr.strip()}")
        return done.stdout

    def parallel(self):
        rng, program = self.rng, self.program
        # The second dimension of an argument of the batch is that of tokens.
        self.tokens = {int(size) for size in re.findall(r"tensor<\d+x(\d+)[^>]*> \{[^{}]*st\.role = \"batch\"", program)}
        file = super().parallel()
        if self.schedule:
            file["schedule"] = self.schedule
        if self.virtual > 1:
            file["virtual_stages"] = self.virtual
        if rng.random() < 0.6:
            file["sharding_dim"] = "megatron"
        parts = self.shards * file.get("context", 1)
        # No argument of the batch has the patches of a picture.
        fits = self.config.family != "vit" and min(self.tokens) >= parts
        if self.shards > 1 and file["sharding_dim"] == "megatron" and fits and rng.random() < 0.5:
            file["sequence_parallel"] = rng.choice([True, "gather_again"])
        experts = min((shape[0] for name, shape in self.shapes if "*" in name), default=0)
        if sizes := [n for n in (2, 4) if self.data % n == 0 and n <= experts]:
            file["expert"] = rng.choice([1, *sizes, *sizes])
        if self.compute == "bf16":
            file["precision"] = {"compute": "bf16", "reduce": rng.choice(["f32", "bf16"])}
        file["recompute"] = rng.choice(["none", "selective", "full", {"bytes": int(2 ** rng.uniform(8, 14))}])
        file["offload"] = rng.choice([False, False, True, {"bytes": int(2 ** rng.uniform(6, 13))}])
        return file

    def named(self, file):
        """Keys of the file that name parameters."""
        rng, keys = self.rng, {}
        if self.stages > 1 and self.virtual == 1 and len(self.blocks) >= self.stages and rng.random() < 0.3:
            keys["stages"] = [self.blocks[i] for i in sorted(rng.sample(range(1, len(self.blocks)), self.stages - 1))]
        expert = file.get("expert", 1)
        axes = {"tensor": self.shards, "data": self.data // expert, "context": file.get("context", 1), "expert": expert}
        axis = rng.choice([name for name, size in axes.items() if size > 1] or [None])
        name, shape = rng.choice(self.shapes)
        dims = [d for d, size in enumerate(shape) if size >= axes.get(axis, 1)]
        # With exact sums only lookups in tables that `sharding_dim` shards leave the sums that sequence_parallel needs.
        leaves_sums = not (self.has_exact_sums and file.get("sequence_parallel"))
        if axis and dims and "*" not in name and leaves_sums and rng.random() < 0.3:
            dim = rng.choice(dims)
            keys["parameters"] = {name: [axis if d == dim else None for d in range(dim + 1)]}
        return keys

    def trained(self):
        """Passes that add adapters, or freeze a block or another parameter."""
        rng, kind = self.rng, self.rng.choice(["all", "all", "all", "all", "adapters", "adapters", "frozen"])
        if kind == "adapters":
            adapters = f"targets=all-linear rank={rng.choice([1, 2, 3])} dropout={rng.choice([0, 0.25])}"
            return f"add-adapters{{{adapters}}},freeze-parameters{{train=base_model.*}},"
        if kind == "frozen":
            return f"freeze-parameters{{freeze={rng.choice([rng.choice(self.shapes)[0], rng.choice(self.blocks) + '.*'])}}},"
        return ""

    def text(self):
        rng, self.program = self.rng, self.imported()
        self.shapes = [(name, [int(size) for size in shape.split("x")]) for shape, name in re.findall(
            r'tensor<([\dx]+)xf32> \{[^%]*?st\.name = "([^"]*)", (?:st\.\w+, )*st\.role = "parameter"', self.program)]
        self.blocks = list(dict.fromkeys(found[1] for name, _ in self.shapes if (found := re.match(r"(.*?\.\d+)\.", name))))
        parallel, trained = self.parallel(), self.trained()
        if "adapters" not in trained:
            parallel |= self.named(parallel)
        prepare = PREPARE.format(optimizer=rng.choice(MODEL_OPTIMIZERS))
        prepare = trained + (in_16_bits(prepare) if self.compute == "bf16" else prepare)
        road = rng.choice(ROADS)
        attributes = (f"st.scales_matrices, st.prepare = {json.dumps(prepare)}, st.passes = {json.dumps(road)}, "
                      f"st.parallel = {quoted(json.dumps(parallel))}")
        return re.sub(r"attributes \{", f"attributes {{{attributes}, ".replace("\\", "\\\\"), self.program, count=1)
