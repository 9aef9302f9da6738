"""Checks whether a search without built-in rules finds the rules that experiments established (docs/planning.md).

  benchmarks/planned_rules.py ROWS.csv [--build=build]

ROWS.csv has published runs of GPT (columns model, heads, hidden, layers, tp, pp, dp, global_batch; sequence
2048, vocabulary 51200).

1. The published tensor shards, stages and replicas against the best ones that their software could run: Megatron-LM with full
   recomputation, without sequence parallelism and ZeRO. If they are slower, the timers that differ. Both have their best
   micro-batch and schedule.
2. The best number of tensor shards in nodes of eight devices, and in nodes where four devices are close to each other.
3. The least time of each number of tensor shards if the network is as fast as the node: it has no jump at eight.
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLUSTER = (ROOT / "devices/clusters/dgx-a100-80gb.textproto").read_text()
# The software of the rows: its recomputation and its numbering of ranks.
SOFTWARE = ["--recompute=full", "--sequence-parallel=false", "--zero=0", "--placement=cluster"]
SHARDS = [1, 2, 4, 8, 16, 32]


def model_of(row):
    return json.dumps({"model_type": "megatron-gpt", "hidden_act": "gelu_new", "hidden_size": int(row["hidden"]),
                       "num_layers": int(row["layers"]), "num_attention_heads": int(row["heads"]),
                       "ffn_hidden_size": 4 * int(row["hidden"]), "max_position_embeddings": 2048, "vocab_size": 51200,
                       "attention_dropout": 0.1, "hidden_dropout": 0.1})


def edit(cluster, **figures):
    """Returns a description with other values, without the measured curves of the real one."""
    text = re.sub(r"curves \{\n(?:[^{}]|\{[^{}]*\})*\n\}\n", "", cluster)
    for name, value in figures.items():
        text, found = re.subn(rf"^{name} \{{ value: \S+", f"{name} {{ value: {value}", text, flags=re.M)
        if not found:
            text, found = re.subn(rf"^{name}: \S+", f"{name}: {value}", text, flags=re.M)
        if not found:
            text += f'{name} {{ value: {value} source: "a: changed" }}\n'
    return text


class Planner:
    def __init__(self, build, folder):
        self.tool, self.folder = build / "bin/st-plan", folder

    def plan(self, row, *flags, cluster="dgx-a100-80gb"):
        """The best step, or None if no layout fits."""
        model = self.folder / "config.json"
        model.write_text(model_of(row))
        if "\n" in cluster:
            (self.folder / "cluster.textproto").write_text(cluster)
            cluster = self.folder / "cluster.textproto"
        devices = int(row["tp"]) * int(row["pp"]) * int(row["dp"])
        run = subprocess.run([self.tool, model, f"--cluster={cluster}", "--profile=megatron-lm", "--precision=f16", "--json", "-q", "--top=1",
                              f"--devices={devices}", f"--batch={row['global_batch']}", *SOFTWARE, *flags],
                             capture_output=True, text=True)
        if run.returncode != 0:
            if "no layout" in run.stderr:
                return None
            raise SystemExit(run.stderr)
        return json.loads(run.stdout)["best"]


def compare_published(planner, rows):
    print("published layouts against the best found (ms)")
    worst = 0
    for row in rows:
        published = planner.plan(row, *(f"--{key}={row[key]}" for key in ("tp", "pp", "dp")))
        best = planner.plan(row)
        share = published["predicted_ms"] / best["predicted_ms"] - 1
        worst = max(worst, share)
        print(f"{row['model']:>6}  {published['predicted_ms']:10.1f}  {published['layout']['text']}\n"
              f"{'':6}  {best['predicted_ms']:10.1f}  {best['layout']['text']}  published is {share:.1%} slower")
        if share > 0.03:
            timers = {timer["name"]: timer["last_rank_ms"] for timer in best["timers"]}
            lost = sorted(((timer["last_rank_ms"] - timers.get(timer["name"], 0), timer["name"])
                           for timer in published["timers"] if not timer["name"].startswith("optimizer-")), reverse=True)
            print("        " + ", ".join(f"{name} {ms:+.1f} ms" for ms, name in lost[:3]))
    print(f"worst {worst:.1%}\n")


def compare_domains(planner, rows):
    slow = {"node_far_gbytes_per_second": 20}
    clusters = [("eight", CLUSTER), ("four, in nodes of four", edit(CLUSTER, devices_per_node=4, cards_per_node=4, fast_domain=4, max_nodes=1024)),
                ("four, in nodes of eight", edit(CLUSTER, fast_domain=4, **slow))]
    print("best tensor shards by the devices of a fast domain")
    for row in rows:
        found = [(name, planner.plan(row, cluster=cluster)) for name, cluster in clusters]
        print(f"{row['model']:>6}  " + "  ".join(f"{name}: tp={best['layout']['tp']}" for name, best in found))
    print()


def compare_shards(planner, rows, constants):
    # Without curves all links have the rate of the node's links.
    nodes = edit(CLUSTER)
    even = edit(CLUSTER, card_gbits_per_second=229 * 8, card_efficiency=1, network_latency_ns=4000, max_nodes=512)
    print("least ms by tensor shards; behind: what the step from 8 to 16 shards costs beyond that from 4 to 8, and so on.\n"
          "A step at the end of a node shows at 8 alone.")
    for row in rows:
        for name, cluster in (("as it is", nodes), ("network as fast as the node", even)):
            # The fitted share of the cards' rate would slow the links again.
            flags = ["--constants=" + str(constants)] if cluster is even else []
            times = {}
            for shards in SHARDS:
                best = planner.plan(row, f"--tp={shards}", *flags, cluster=cluster)
                if best:
                    times[shards] = best["predicted_ms"]
            bends = {at: times[2 * at] * times[at // 2] / times[at] ** 2 - 1 for at in (2, 4, 8, 16)
                     if {at // 2, at, 2 * at} <= times.keys()}
            print(f"{row['model']:>6}  {name:28}" + "".join(f"  tp={shards} {ms:9.0f}" for shards, ms in times.items()) +
                  "  bends" + "".join(f"  at {at} {bend:+.0%}" for at, bend in bends.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    rows = list(csv.DictReader(args.rows.open()))
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(args.build, pathlib.Path(folder))
        constants = pathlib.Path(folder) / "constants.textproto"
        fitted = (ROOT / "devices/fits/dgx-a100-80gb-megatron-lm.textproto").read_text()
        constants.write_text(re.sub(r'(name: "network_efficiency" value: )\S+', r"\g<1>1", fitted))
        compare_published(planner, rows)
        compare_domains(planner, rows)
        compare_shards(planner, rows, constants)


if __name__ == "__main__":
    main()
