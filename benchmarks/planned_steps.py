"""Compares st-plan's plans for simulated clusters with the simulator: 13 searches of small BERT, GPT-2, Llama, Mixtral and T5,
whose 5 fastest layouts are compiled completely. With --seed, random searches of models, clusters and layouts until there are
40 plans; every other one splits sequences or experts, trains adapters or a part of a model, or has an encoder and a decoder.

  benchmarks/planned_steps.py [--seed=N [--layers=N]] [--only=NAME] [--build=build]

Prints a line per plan: the time of the step that the search composed from blocks, that of the complete program, and their
difference, at most 2 %. Then it prints how many pairs of plans of one search that differ by more than 3 % are in the right
order. st-compile compiles the best plan of each search from st-plan's file: the time of its binary must be equal to the
picosecond, and its memory to the byte. Simulated times depend on the programs alone.
"""

import argparse
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import simulated

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEQUENCE = 128
TOLERANCE, DIFFERENT = 0.02, 0.03
OF_THE_MODEL = ["--optimizer", "--lora", "--freeze", "--expert-capacity-factor"]  # flags of st-compile too

BERT = {"model_type": "bert", "hidden_size": 256, "num_hidden_layers": 8, "num_attention_heads": 8, "intermediate_size": 1024,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 128,
        "type_vocab_size": 2, "vocab_size": 2048, "pad_token_id": 0}
GPT2 = {"model_type": "gpt2", "n_embd": 256, "n_layer": 8, "n_head": 8, "n_positions": 128, "vocab_size": 2048,
        "activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1}
LLAMA = {"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4,
         "intermediate_size": 704, "max_position_embeddings": 128, "vocab_size": 2048, "rms_norm_eps": 1e-5,
         "hidden_act": "silu", "tie_word_embeddings": False}

MIXTRAL = LLAMA | {"model_type": "mixtral", "intermediate_size": 384, "num_local_experts": 4, "num_experts_per_tok": 2}
T5 = {"model_type": "t5", "d_model": 256, "num_layers": 4, "num_decoder_layers": 4, "num_heads": 8, "d_kv": 32, "d_ff": 704,
      "vocab_size": 2048, "feed_forward_proj": "gated-gelu", "dropout_rate": 0.1, "decoder_start_token_id": 0, "pad_token_id": 0,
      "tie_word_embeddings": False}

# name: (configuration, task, cluster, flags)
SEARCHES = {
    "bert on a chip": (BERT, "mlm", "dtu-t10", "--devices=4 --batch=16 --mb=2 --recompute=none --sequence-parallel=false"),
    "bert on 8": (BERT, "mlm", "dtu-t10", "--devices=8 --batch=32 --tp=1,8 --mb=4 --recompute=none --zero=1 --schedule=1f1b"),
    "bert on 8 of T20": (BERT, "mlm", "dtu-t20", "--devices=8 --batch=32 --tp=4 --mb=2 --schedule=1f1b --zero=1"),
    "gpt2 on a chip": (GPT2, "clm", "dtu-t10", "--devices=4 --batch=16 --tp=1,2 --mb=1 --recompute=none,full "
                                               "--sequence-parallel=false --schedule=1f1b"),
    "gpt2 on 16": (GPT2, "clm", "dtu-t10", "--devices=16 --batch=32 --tp=4 --mb=2 --recompute=none --schedule=1f1b"),
    "gpt2 in f32": (GPT2, "clm", "dtu-t10", "--devices=8 --batch=16 --tp=2,4 --mb=1 --precision=f32 --recompute=none,selective "
                                            "--sequence-parallel=false --schedule=1f1b"),
    "llama on a chip": (LLAMA, "clm", "dtu-t10", "--devices=4 --batch=16 --tp=1,2 --mb=2 --recompute=none "
                                                 "--sequence-parallel=false --schedule=1f1b,zb-h1,gpipe"),
    "llama on 8, ZeRO": (LLAMA, "clm", "dtu-t10", "--devices=8 --batch=32 --tp=1,2 --mb=2 --recompute=none --zero=0,1,2,3 "
                                                  "--sequence-parallel=false --schedule=1f1b"),
    "llama, context": (LLAMA, "clm", "dtu-t10", "--devices=8 --batch=16 --tp=1,2 --context=2,4 --mb=2 --recompute=none --zero=0,1 "
                                                "--sequence-parallel=false --schedule=1f1b"),
    "mixtral, experts": (MIXTRAL, "clm", "dtu-t10", "--devices=8 --batch=16 --tp=1,2 --expert=2,4 --mb=1 --recompute=none "
                                                    "--sequence-parallel=false --schedule=1f1b"),
    "llama, adapters": (LLAMA, "clm", "dtu-t10", "--devices=4 --batch=16 --tp=1,2 --mb=2 --recompute=none --zero=0 "
                                                 "--sequence-parallel=false --schedule=1f1b --lora=8:q_proj,v_proj"),
    "llama, half trained": (LLAMA, "clm", "dtu-t10", "--devices=4 --batch=16 --mb=2 --recompute=none --zero=0 --schedule=1f1b "
                                                     "--sequence-parallel=false --freeze=*.layers.[0-3].*,*.embed_tokens.*"),
    "t5": (T5, "seq2seq", "dtu-t10", "--devices=4 --batch=16 --tp=1,2 --mb=2 --recompute=none --zero=0 --schedule=1f1b "
                                     "--sequence-parallel=false"),
}


def draw_search(random):
    """Draws a model, a cluster and flags that leave a few layouts: one value for each main parameter, two for some others."""
    heads, layers = random.choice([4, 8, 16]), random.choice([4, 6, 8, 12])
    hidden, vocabulary = heads * random.choice([16, 32, 64]), random.choice([1024, 2048, 3072])
    dropout = random.choice([0.0, 0.1])
    family = random.choice(["bert", "gpt2", "llama"])
    config = dict({"bert": BERT, "gpt2": GPT2, "llama": LLAMA}[family], vocab_size=vocabulary)
    if family == "bert":
        config.update(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden,
                      hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    elif family == "gpt2":
        config.update(n_embd=hidden, n_layer=layers, n_head=heads, attn_pdrop=dropout, embd_pdrop=dropout, resid_pdrop=dropout)
    else:
        config.update(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                      num_key_value_heads=heads // random.choice([1, 2]), intermediate_size=64 * (hidden * 8 // 3 // 64 or 1))
    devices = random.choice([4, 8, 8, 16])
    cluster = random.choice(["dtu-t10", "dtu-t10", "dtu-t20"])
    tensor = random.sample([size for size in (1, 2, 4, 8) if size <= min(devices, heads)], 2)
    micro_batch = random.choice([1, 2, 4])
    flags = [f"--devices={devices}", f"--batch={micro_batch * devices * random.choice([1, 2, 4])}", f"--mb={micro_batch}",
             "--tp=" + ",".join(map(str, sorted(tensor))), "--recompute=" + random.choice(["none", "none", "selective", "full"]),
             "--schedule=" + random.choice(["1f1b", "1f1b,zb-h1", "gpipe,1f1b", "1f1b,interleaved"]),
             "--zero=" + random.choice(["0", "0,1", "2", "3"]), "--sequence-parallel=" + random.choice(["false", "true,false"]),
             "--precision=" + random.choice(["bf16", "bf16", "f32"])]
    return config, "mlm" if family == "bert" else "clm", cluster, " ".join(flags)


def draw_special_search(random):
    """Draws a search of sequences or experts that devices share, of parameters that do not train, or of two kinds of layers."""
    kind = random.choice(["context", "context", "expert", "adapters", "freeze", "seq2seq"])
    heads, layers, devices = random.choice([4, 8]), random.choice([4, 6, 8]), random.choice([4, 8])
    sizes = {"hidden_size": heads * random.choice([16, 32]), "num_hidden_layers": layers, "num_attention_heads": heads,
             "num_key_value_heads": heads // random.choice([1, 2]), "vocab_size": random.choice([1024, 2048])}
    config, task, more = LLAMA | sizes | {"intermediate_size": 3 * sizes["hidden_size"]}, "clm", []
    if kind == "context":
        more = ["--context=" + random.choice(["2", "4", "1,2"])]
        if random.choice([True, False]):
            config, task = BERT | {name: sizes[name] for name in sizes if "key" not in name}, "mlm"
            config["intermediate_size"] = 4 * config["hidden_size"]
    elif kind == "expert":
        config = MIXTRAL | sizes | {"intermediate_size": 2 * sizes["hidden_size"], "num_local_experts": random.choice([4, 8])}
        more = ["--expert=" + random.choice(["2", "4", "1,2"]), *random.choice([[], ["--expert-capacity-factor=1.5"]])]
    elif kind == "adapters":
        more = [f"--lora={random.choice([4, 16])}:" + random.choice(["q_proj,v_proj", "all-linear"])]
    elif kind == "freeze":
        more = ["--freeze=" + random.choice(["*norm*", f"*.layers.[0-{layers // 2 - 1}].*", "*.embed_tokens.*,*.mlp.*"])]
    else:
        config, task = T5 | {"d_model": sizes["hidden_size"], "num_heads": heads, "d_kv": sizes["hidden_size"] // heads, "num_layers":
                             layers, "num_decoder_layers": random.choice([2, layers]), "vocab_size": sizes["vocab_size"]}, "seq2seq"
    micro_batch = random.choice([1, 2])
    flags = [f"--devices={devices}", f"--batch={micro_batch * devices * random.choice([1, 2])}", f"--mb={micro_batch}", "--tp=1,2",
             "--recompute=" + random.choice(["none", "none", "full"]), "--schedule=" + random.choice(["1f1b", "1f1b,zb-h1"]),
             "--zero=" + random.choice(["0", "1", "3"]), "--sequence-parallel=false",
             "--precision=" + random.choice(["bf16", "f32"]), *more]
    return config, task, random.choice(["dtu-t10", "dtu-t20"]), " ".join(flags)


def drawn_searches(seed, layers=None):
    """Yields names of drawn searches without end, and adds each search to SEARCHES. `layers`: of the models, if not drawn."""
    for number in itertools.count():
        for kind, draw in (("", draw_search), (" special", draw_special_search)):
            found = draw(random.Random(f"{seed} {number}{kind}"))
            config, _, cluster, flags = found
            if layers:
                config.update({key: layers for key in ("num_hidden_layers", "n_layer", "num_layers") if key in config})
            name = f"{number}{kind}: {config['model_type']} on {cluster} {flags}"
            SEARCHES[name] = found
            yield name


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def search(bin, folder, name, plans=5):
    """Returns the plans that were compiled completely, and the parallel file of the best one."""
    config, task, cluster, flags = SEARCHES[name]
    model, parallel = folder / "model", folder / "parallel.json"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps(config))
    report = json.loads(run(bin / "st-plan", "-q", model, f"--task={task}", f"--cluster={cluster}", f"--seq={SEQUENCE}",
                            f"--simulate={plans}", "--json", f"--emit={parallel}", *flags.split()))
    bounds = {candidate["layout"]["text"]: candidate["bound_ms"] for candidate in report["candidates"]}
    for plan in report["simulated"]:
        plan["bound_ms"] = bounds[plan["layout"]["text"]]
    return report, model, parallel


def compare_with_binary(bin, folder, name, report, model, parallel):
    """Checks that the binary of the emitted file takes the same time, to the picosecond, and memory, to the byte."""
    _, task, cluster, flags = SEARCHES[name]
    best = report["best"]["layout"]["text"]
    plan = next(plan for plan in report["simulated"] if plan["layout"]["text"] == best)
    binary = folder / "step"
    run(bin / "st-compile", "-q", model, f"--task={task}", f"--batch={plan['layout']['global_batch']}", f"--seq={SEQUENCE}",
        f"--target={cluster}", f"--parallel={parallel}", "-o", binary, "--predict=false",
        *(flag for flag in flags.split() if flag.split("=")[0] in OF_THE_MODEL))
    milliseconds = simulated.timed_step(binary)["sim_ms"]
    arenas = re.findall(r"^  arena (\d+) bytes", run(bin / "st-translate", "--executable-to-text", binary), re.M)
    problems = []
    if round(milliseconds * 1e9) != int(plan["picoseconds"]):
        problems.append(f"{name}: the binary takes {milliseconds} ms, the plan {plan['picoseconds']} ps")
    if arenas != plan["arena_bytes"]:
        problems.append(f"{name}: the binary has arenas of {arenas} bytes, the plan {plan['arena_bytes']}")
    return problems


def misordered(plans):
    """(Pairs that differ by more than DIFFERENT, those of them that the composition orders wrongly)."""
    pairs = [(a, b) for a, b in itertools.combinations(plans, 2)
             if abs(a["simulated_ms"] / b["simulated_ms"] - 1) > DIFFERENT]
    wrong = [(a, b) for a, b in pairs
             if (a["simulated_ms"] < b["simulated_ms"]) != (a["composed_ms"] < b["composed_ms"])]
    return pairs, wrong


def check_plans(name, plans):
    problems = [f"{name}: {plan['layout']['text']} composes {plan['difference']:+.2%} off" for plan in plans
                if abs(plan["difference"]) > TOLERANCE]
    problems += [f"{name}: {plan['layout']['text']} is faster than its bound of {plan['bound_ms']} ms" for plan in plans
                 if plan["simulated_ms"] < plan["bound_ms"]]
    pairs, wrong = misordered(plans)
    problems += [f"{name}: order of {a['layout']['text']} and {b['layout']['text']}" for a, b in wrong]
    return len(pairs), problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="draw the searches")
    parser.add_argument("--layers", type=int, help="of the drawn models; without it 4 to 12")
    parser.add_argument("--plans", type=int, default=40, help="of drawn searches")
    parser.add_argument("--only", default="", help="searches whose names hold this")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    bin = options.build.resolve() / "bin"
    plans, pairs, problems = [], 0, []
    searches = list(SEARCHES) if options.seed is None else drawn_searches(options.seed, options.layers)
    for name in searches:
        if options.seed is not None and len(plans) >= options.plans:
            break
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            report, model, parallel = search(bin, pathlib.Path(folder), name, plans=5 if options.seed is None else 4)
            problems += compare_with_binary(bin, pathlib.Path(folder), name, report, model, parallel)
        print(f"{name}, {len(report['candidates'])} layouts\n{'composed ms':>12} {'simulated ms':>12} {'off by':>8} {'bytes':>12}")
        for plan in report["simulated"]:
            print(f"{plan['composed_ms']:12.4g} {plan['simulated_ms']:12.4g} {plan['difference']:+8.2%} {plan['memory_bytes']:>12}  "
                  f"{plan['layout']['text']}", flush=True)
        count, found = check_plans(name, report["simulated"])
        plans += report["simulated"]
        pairs += count
        problems += found
    if plans:
        errors = [abs(plan["difference"]) for plan in plans]
        print(f"{len(plans)} plans: mean {sum(errors) / len(errors):.2%}, worst {max(errors):.2%}; {pairs} pairs more than "
              f"{DIFFERENT:.0%} apart; {len(problems)} problems")
    for problem in problems:
        print(problem)
    return 1 if problems or not plans else 0


if __name__ == "__main__":
    sys.exit(main())
