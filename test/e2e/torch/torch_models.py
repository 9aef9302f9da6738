"""Small models of torchvision and transformers that no configuration of St describes. Needs PyTorch.

A model is a module whose result is the loss, the values of its inputs' elements (below a limit; None: normally distributed), and
the shapes of the inputs.
"""

import torch
import torchvision
import transformers
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3

BATCH, SEQ, CLASSES, VOCABULARY = 8, 12, 10, 61


class Classifier(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return torch.nn.functional.cross_entropy(self.model(images), labels)


class Language(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, labels):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, labels=labels).loss


def images(model, size):
    return Classifier(model), {"images": (None, (BATCH, 3, size, size)), "labels": (CLASSES, (BATCH,))}


def tokens(kind, model_class, labels=(VOCABULARY, (BATCH, SEQ)), **keys):
    config = transformers.AutoConfig.for_model(kind, vocab_size=VOCABULARY, bos_token_id=1, eos_token_id=2, pad_token_id=0, **keys)
    for key in vars(config):
        if "dropout" in key and isinstance(getattr(config, key), float):
            setattr(config, key, 0.0)
    inputs = {"input_ids": (VOCABULARY, (BATCH, SEQ)), "attention_mask": (2, (BATCH, SEQ)), "labels": labels}
    return Language(model_class.from_config(config)), inputs


def mobilenet():
    blocks = [InvertedResidualConfig(*block, 1, 0.25) for block in (
        (16, 3, 16, 16, True, "RE", 2), (16, 3, 72, 24, False, "RE", 2), (24, 5, 96, 40, True, "HS", 1))]
    return MobileNetV3(blocks, 64, num_classes=CLASSES, dropout=0.0)


def convnext():
    return torchvision.models.ConvNeXt([CNBlockConfig(16, 32, 2), CNBlockConfig(32, None, 2)], stochastic_depth_prob=0.0, num_classes=CLASSES)


BLOCKS = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 16}
MODELS = {
    # Batch norms in training mode: running statistics are part of the state.
    "densenet": lambda: images(torchvision.models.DenseNet(8, (2, 2), 16, num_classes=CLASSES), 32),
    "mobilenet_v3": lambda: images(mobilenet(), 32),
    "convnext": lambda: images(convnext(), 32),
    "swin": lambda: images(torchvision.models.SwinTransformer([2, 2], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0,
                                                              num_classes=CLASSES), 32),
    "electra": lambda: tokens("electra", transformers.AutoModelForMaskedLM, embedding_size=8, **BLOCKS),
    "albert": lambda: tokens("albert", transformers.AutoModelForMaskedLM, embedding_size=8, **BLOCKS),
    "mpnet": lambda: tokens("mpnet", transformers.AutoModelForMaskedLM, **BLOCKS),
    "deberta-v2": lambda: tokens("deberta-v2", transformers.AutoModelForMaskedLM, relative_attention=True, pos_att_type=["p2c", "c2p"],
                                 **BLOCKS),
    "xlnet": lambda: tokens("xlnet", transformers.AutoModelForSequenceClassification, labels=(2, (BATCH,)), d_model=16, n_layer=2,
                            n_head=4, d_inner=24),
    "bloom": lambda: tokens("bloom", transformers.AutoModelForCausalLM, hidden_size=16, n_layer=2, n_head=4),
    "falcon": lambda: tokens("falcon", transformers.AutoModelForCausalLM, hidden_size=16, num_hidden_layers=2, num_attention_heads=4),
    "mamba": lambda: tokens("mamba", transformers.AutoModelForCausalLM, hidden_size=16, num_hidden_layers=2, state_size=4),
}
