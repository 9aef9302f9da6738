"""PyTorch peer: fine-tunes transformers' BertForQuestionAnswering on given batches with AdamW, dropout 0.

  peer_span.py --model=FOLDER --data=train.safetensors --valid=valid.safetensors --lr=RATE --warmup=STEPS

The first step starts from FOLDER. A tensor of a file has the shape [batches, rows, ...]; each batch is one step. The rate rises
linearly over the warm-up and then falls linearly to 0 at the last step. Parameters of one dimension do not decay. Prints one
JSON line: version, losses of the steps, mean loss of the validation, and F1 and exact match of its rows whose answer is in
their window, as SQuAD 1.1 defines them.
"""

import argparse
import collections
import json
import pathlib
import re
import string

import torch
import transformers
from safetensors.torch import load_file

DECAY, LONGEST = 0.01, 30


def normalize(text):
    """As SQuAD 1.1's evaluation."""
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1_score(found, expected):
    same = sum((collections.Counter(found) & collections.Counter(expected)).values())
    return 2 * same / (len(found) + len(expected)) if same else float(found == expected)


def best_span(starts, ends, places):
    """The span of at most LONGEST tokens with the largest sum of logits, within the places of the paragraph."""
    pairs = ((starts[a] + ends[b], a, b) for i, a in enumerate(places) for b in places[i:i + LONGEST])
    _, a, b = max(pairs, key=lambda pair: pair[0])
    return a, b


def scores(batch, output, pieces):
    """(F1, exact match) of the rows whose answer is in the window."""
    result = []
    for row, (start, end) in enumerate(zip(batch["start_positions"].tolist(), batch["end_positions"].tolist(), strict=True)):
        if start == 0:
            continue
        # The second segment without its last token, [SEP].
        places = torch.nonzero(batch["token_type_ids"][row]).flatten().tolist()[:-1]
        span = best_span(output.start_logits[row].tolist(), output.end_logits[row].tolist(), places)
        ids = batch["input_ids"][row].tolist()
        texts = [" ".join(pieces[i] for i in ids[a:b + 1]).replace(" ##", "") for a, b in (span, (start, end))]
        found, expected = map(normalize, texts)
        result.append((f1_score(found, expected), float(found == expected)))
    return result


def batches_of(path):
    tensors = load_file(path)
    for i in range(len(tensors["input_ids"])):
        yield {name: values[i].long() for name, values in tensors.items()}


def train(model, options):
    decays = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}], lr=options.lr)
    batches, losses = list(batches_of(options.data)), []
    for step, batch in enumerate(batches, 1):
        left = (len(batches) - step) / (len(batches) - options.warmup)
        for group in optimizer.param_groups:
            group["lr"] = options.lr * min(step / options.warmup, left)
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "data", "valid"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    options = parser.parse_args()
    model = transformers.BertForQuestionAnswering.from_pretrained(options.model)
    model.train()  # The configuration has no dropout.
    losses = train(model, options)
    pieces = (options.model / "vocab.txt").read_text().split("\n")
    rows, validation = [], []
    model.eval()
    with torch.no_grad():
        for batch in batches_of(options.valid):
            output = model(**batch)
            validation.append(output.loss.item())
            rows += scores(batch, output, pieces)
    f1, exact = (100 * sum(column) / len(rows) for column in zip(*rows, strict=True))
    print(json.dumps({"peer": "PyTorch", "version": torch.__version__, "losses": losses, "loss": sum(validation) / len(validation),
                      "f1": f1, "exact_match": exact, "rows": len(rows)}))


if __name__ == "__main__":
    main()
