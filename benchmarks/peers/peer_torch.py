"""PyTorch peer: one unsharded BERT training step, AdamW, dropout on.

Prints one JSON line: version, seconds and losses of each step, and on a GPU the peak bytes. Run by
bert_large_step.py and gpu_step.py; needs a Python that has torch (Debian: python3-torch). --type=bf16 is torch.autocast:
parameters and AdamW in f32, products in bf16. --task=mlm is BERT's pre-training: masked words and the next sentence.
On a GPU attention and AdamW are PyTorch's fused ones; --compile is torch.compile.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, hidden, heads, inner, dropout, fused):
        super().__init__()
        self.heads, self.dropout, self.fused = heads, dropout, fused
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
        if self.fused:
            context = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)
        else:
            scores = q @ k.transpose(-1, -2) / (hidden // self.heads) ** 0.5
            context = F.dropout(scores.softmax(-1), self.dropout) @ v
        context = context.transpose(1, 2).reshape(batch, length, hidden)
        x = self.norm1(x + F.dropout(self.out(context), self.dropout))
        inner = self.down(F.gelu(self.up(x)))
        return self.norm2(x + F.dropout(inner, self.dropout))


class Bert(nn.Module):
    def __init__(self, config, dropout, task, fused):
        super().__init__()
        hidden = config["hidden_size"]
        self.dropout, self.task = dropout, task
        self.words = nn.Embedding(config["vocab_size"], hidden)
        self.positions = nn.Embedding(config["max_position_embeddings"], hidden)
        self.types = nn.Embedding(config["type_vocab_size"], hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(
            Layer(hidden, config["num_attention_heads"], config["intermediate_size"], dropout, fused)
            for _ in range(config["num_hidden_layers"]))
        if task == "span":
            self.span = nn.Linear(hidden, 2)
        else:
            self.transform, self.transform_norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=1e-12)
            self.bias = nn.Parameter(torch.zeros(config["vocab_size"]))
            self.pool, self.next = nn.Linear(hidden, hidden), nn.Linear(hidden, 2)

    def heads_loss(self, x, labels):
        if self.task == "span":
            first, last = self.span(x).unbind(-1)
            return (F.cross_entropy(first, labels[0]) + F.cross_entropy(last, labels[1])) / 2
        words = F.linear(self.transform_norm(F.gelu(self.transform(x))), self.words.weight, self.bias)
        follows = self.next(torch.tanh(self.pool(x[:, 0])))
        return F.cross_entropy(words.flatten(0, 1), labels[0].flatten()) + F.cross_entropy(follows, labels[1])

    def forward(self, ids, labels):
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.words(ids) + self.positions(positions) + self.types(torch.zeros_like(ids))
        x = F.dropout(self.norm(x), self.dropout)
        for layer in self.layers:
            x = layer(x)
        return self.heads_loss(x, labels)


def batch_of(config, options):
    shape = (options.batch, options.seq)
    ids = torch.randint(0, config["vocab_size"], shape)
    if options.task == "span":
        return ids, list(torch.randint(0, options.seq, (2, options.batch)))
    words = torch.where(torch.rand(shape) < 0.15, torch.randint(0, config["vocab_size"], shape), -100)
    return ids, [words, torch.randint(0, 2, (options.batch,))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=384)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--task", choices=("span", "mlm"), default="span")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    on_gpu = options.device == "cuda"
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    config = json.load(open(options.config))
    model = Bert(config, options.dropout, options.task, on_gpu).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, **({"fused": True} if on_gpu else {}))
    ids, labels = batch_of(config, options)
    ids, labels = ids.to(options.device), [label.to(options.device) for label in labels]
    run = torch.compile(model) if options.compile else model
    times, losses = [], []
    for _ in range(options.steps + 1):
        begin = time.time()
        optimizer.zero_grad()
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.type == "bf16"):
            loss = run(ids, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # Waits for the GPU, as does the synchronization below.
        if on_gpu:
            torch.cuda.synchronize()
        times.append(time.time() - begin)
    print(json.dumps({"peer": "PyTorch compiled" if options.compile else "PyTorch", "version": torch.__version__,
                      "seconds": times[1:], "losses": losses,
                      "bytes": torch.cuda.max_memory_allocated() if on_gpu else 0}))


if __name__ == "__main__":
    main()
