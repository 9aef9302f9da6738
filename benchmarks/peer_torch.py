"""PyTorch (CPU) peer: one unsharded BERT span training step, AdamW, dropout on.

Prints one JSON line: version, seconds and losses of each step. Run by bert_large_step.py; needs a Python that has torch
(Debian: python3-torch). --type=bf16 is torch.autocast: parameters and AdamW in f32, products in bf16.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, hidden, heads, inner, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, inner)
        self.down = nn.Linear(inner, hidden)
        self.norm1 = nn.LayerNorm(hidden, eps=1e-12)
        self.norm2 = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / (hidden // self.heads) ** 0.5
        probs = F.dropout(scores.softmax(-1), self.dropout)
        context = (probs @ v).transpose(1, 2).reshape(batch, length, hidden)
        x = self.norm1(x + F.dropout(self.out(context), self.dropout))
        inner = self.down(F.gelu(self.up(x)))
        return self.norm2(x + F.dropout(inner, self.dropout))


class Bert(nn.Module):
    def __init__(self, config, dropout):
        super().__init__()
        hidden = config["hidden_size"]
        self.dropout = dropout
        self.words = nn.Embedding(config["vocab_size"], hidden)
        self.positions = nn.Embedding(config["max_position_embeddings"], hidden)
        self.types = nn.Embedding(config["type_vocab_size"], hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(
            Layer(hidden, config["num_attention_heads"], config["intermediate_size"], dropout)
            for _ in range(config["num_hidden_layers"]))
        self.span = nn.Linear(hidden, 2)

    def forward(self, ids, start, end):
        positions = torch.arange(ids.shape[1])
        x = self.words(ids) + self.positions(positions) + self.types(torch.zeros_like(ids))
        x = F.dropout(self.norm(x), self.dropout)
        for layer in self.layers:
            x = layer(x)
        first, last = self.span(x).unbind(-1)
        return (F.cross_entropy(first, start) + F.cross_entropy(last, end)) / 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=384)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    config = json.load(open(options.config))
    model = Bert(config, options.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    ids = torch.randint(0, config["vocab_size"], (options.batch, options.seq))
    start, end = torch.randint(0, options.seq, (2, options.batch))
    times, losses = [], []
    for _ in range(options.steps + 1):
        begin = time.time()
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.type == "bf16"):
            loss = model(ids, start, end)
        loss.backward()
        optimizer.step()
        times.append(time.time() - begin)
        losses.append(loss.item())
    print(json.dumps({"peer": "PyTorch", "version": torch.__version__, "seconds": times[1:], "losses": losses}))


if __name__ == "__main__":
    main()
