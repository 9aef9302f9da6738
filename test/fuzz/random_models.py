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
        self.rng, self.axes = rng, None
        self.compute = "f32" if has_exact_sums else rng.choice(["f32", "f32", "f32", "f32", "bf16"])
        self.stages, self.micro = rng.choice([1, 2, 2, 3]), rng.choice([1, 2, 3, 4])
        self.data, self.shards = rng.choice([1, 1, 2, 4]), rng.choice([1, 2, 2, 4])
        if self.stages * self.data * self.shards > MOST_DEVICES:
            self.data = 1
        self.schedule, self.virtual = self.draw_schedule()
        self.batch = self.micro * self.data * rng.choice([1, 2])
        if rng.random() < 0.2:  # The last micro-batches or replicas have fewer rows.
            self.batch = rng.randint(max(self.micro, self.micro * (self.data - 1) + 1), self.batch)
        self.sequence = rng.choice([3, 4, 4, 5, 6, 7, 8, 8, 9])  # mostly numbers that devices of a context divide
        even = self.batch % (self.micro * self.data) == 0
        self.config = RandomConfig(rng, rng.choice(FAMILIES + WITH_EXPERTS), self.stages * self.virtual, self.sequence,
                                   rows=self.batch // (self.micro * self.data) if even else 1, has_whole_batch=self.micro == 1)

    def draw_schedule(self):
        """The order of the micro-batches of a pipeline, and the stages that each of its device groups has."""
        if self.stages == 1 or self.micro == 1:
            return None, 1
        kinds = ["sequential", "gpipe", "1f1b", "zb-h1", "zb-h2", "zb-v"]
        schedule = self.rng.choice(kinds + ["interleaved", "interleaved"] * (self.micro % self.stages == 0))
        return schedule, 2 if schedule in ("interleaved", "zb-v") else 1

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
        done = subprocess.run([TRANSLATE, "--import-hf-config", f"--task={self.config.task}", f"--batch={self.batch}", *self.flags()],
                              input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{text}: {done.stderr.strip()}")
        return done.stdout

    def parallel(self, program, has_adapters):
        rng = self.rng
        # The second dimension of an argument of the batch is that of tokens.
        self.tokens = {int(size) for size in re.findall(r"tensor<\d+x(\d+)[^>]*> \{[^{}]*st\.role = \"batch\"", program)}
        file = super().parallel()
        if self.schedule:
            file["schedule"] = self.schedule
        if rng.random() < 0.6:
            file["sharding_dim"] = "megatron"
        parts = self.shards * file.get("context", 1)
        # No argument of the batch has the patches of a picture.
        fits = self.config.family != "vit" and min(self.tokens) >= parts
        if self.shards > 1 and file["sharding_dim"] == "megatron" and fits and rng.random() < 0.5:
            file["sequence_parallel"] = rng.choice([True, "gather_again"])
        experts = min((int(count) for count in re.findall(r"tensor<(\d+)x[^>]*> \{[^{}]*\{[^{}]*\}[^{}]*st\.named_rows", program)), default=0)
        if sizes := [n for n in (2, 4) if self.data % n == 0 and n <= experts]:
            file["expert"] = rng.choice([1, *sizes, *sizes])
        if not has_adapters:
            file |= self.named(program, file)
        if self.compute == "bf16":
            file["precision"] = {"compute": "bf16", "reduce": rng.choice(["f32", "bf16"])}
        file["recompute"] = rng.choice(["none", "selective", "full", {"bytes": int(2 ** rng.uniform(8, 14))}])
        file["offload"] = rng.choice([False, False, True, {"bytes": int(2 ** rng.uniform(6, 13))}])
        return file

    def named(self, program, file):
        """Keys of the file that name parameters."""
        rng, keys = self.rng, {}
        shapes = [(name, [int(size) for size in shape.split("x")]) for shape, name in re.findall(
            r'tensor<([\dx]+)xf32> \{[^%]*?st\.name = "([^"]*)", (?:st\.\w+, )*st\.role = "parameter"', program)]
        blocks = list(dict.fromkeys(found[1] for name, _ in shapes if (found := re.match(r"(.*?\.\d+)\.", name))))
        if self.stages > 1 and self.virtual == 1 and len(blocks) >= self.stages and rng.random() < 0.3:
            keys["stages"] = [blocks[i] for i in sorted(rng.sample(range(1, len(blocks)), self.stages - 1))]
        expert = file.get("expert", 1)
        axes = {"tensor": self.shards, "data": self.data // expert, "context": file.get("context", 1), "expert": expert}
        axis = rng.choice([name for name, size in axes.items() if size > 1] or [None])
        name, shape = rng.choice(shapes)
        dims = [d for d, size in enumerate(shape) if size >= axes.get(axis, 1)]
        if axis and dims and "*" not in name and rng.random() < 0.3:
            dim = rng.choice(dims)
            keys["parameters"] = {name: [axis if d == dim else None for d in range(dim + 1)]}
        return keys

    def text(self):
        rng, program, road = self.rng, self.imported(), self.rng.choice(ROADS)
        prepare = PREPARE.format(optimizer=rng.choice(MODEL_OPTIMIZERS))
        if self.compute == "bf16":
            prepare = in_16_bits(prepare)
        has_adapters = rng.random() < 0.25
        if has_adapters:
            prepare = f"add-adapters{{targets=all-linear rank={rng.choice([1, 2, 3])}}},freeze-parameters{{train=base_model.*}},{prepare}"
        attributes = (f"st.scales_matrices, st.prepare = {json.dumps(prepare)}, st.passes = {json.dumps(road)}, "
                      f"st.parallel = {quoted(json.dumps(self.parallel(program, has_adapters)))}")
        return re.sub(r"attributes \{", f"attributes {{{attributes}, ".replace("\\", "\\\\"), program, count=1)
