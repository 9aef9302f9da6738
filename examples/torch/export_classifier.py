"""Exports a classifier of torchvision with random images, for st-compile, and prints PyTorch's own losses of five steps.

    python examples/torch/export_classifier.py --model=resnet18 --folder=resnet18
    build/bin/st-compile resnet18/model.mlir --target=dtu-t10 -o train
    ./train --init=resnet18 --data=resnet18/batches.safetensors --lr=1e-4 --steps=5
"""

import argparse

import torch
import torchvision

import st_torch


class Classifier(torch.nn.Module):
    """The loss of a model: the first result of an exported module is what St minimises."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return torch.nn.functional.cross_entropy(self.model(images), labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--folder", default="resnet18")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=64, help="height and width of an image")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--lr", type=float, default=1e-4)
    options = parser.parse_args()

    torch.manual_seed(0)
    module = Classifier(torchvision.models.get_model(options.model, num_classes=options.classes)).train()
    batches = [{"images": torch.randn(options.batch, 3, options.size, options.size),
                "labels": torch.randint(options.classes, (options.batch,))} for _ in range(5)]
    st_torch.export(module, tuple(batches[0].values()), folder=options.folder)
    st_torch.save_batches(f"{options.folder}/batches.safetensors", batches)

    optimizer = torch.optim.AdamW(module.parameters(), lr=options.lr)
    for step, batch in enumerate(batches):
        loss = module(**batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"PyTorch: step {step + 1}  loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
