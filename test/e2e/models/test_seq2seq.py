"""Encoders with decoders: AdamW like that of transformers under several layouts, checkpoints, sources of pairs, refusals."""

import json
import pathlib
import re
import sys

import numpy as np
import tokenizers
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from families import ADAMW, BART, BATCH, FAMILIES, LAYOUTS, OPTIMIZER, SEQ, STEPS, T5, TARGET, batch, parameter, references
from st_programs import import_model, signature

NAMES = [name for name in FAMILIES if name.startswith(("bart", "t5"))]
LAYOUTS = LAYOUTS | {"a stage for each layer": {"mode": "pipeline", "stage_cnt": 4, "data": 1, "accum_degree": 2}}


def given_parameters(folder, config):
    """A folder with the parameters of the references."""
    arguments = [a for a in signature(import_model(folder, config, "seq2seq", BATCH, SEQ))[0] if a.role == "parameter"]
    model = st.write_json(folder / "hf" / "config.json", config).parent
    save_file({a.name: parameter(a.name, a.shape) for a in arguments}, model / "model.safetensors")
    return model


def given_batches(folder, config):
    batches = [batch(config, i) for i in range(STEPS)]
    path = folder / "batches.safetensors"
    save_file({name: np.stack([values[name] for values in batches]) for name in batches[0]}, path)
    return path


def compile_pairs(folder, name, config, parallel=None, *flags, batch=BATCH, seq=SEQ):
    return st.compile_model(folder, name, config, "seq2seq", parallel, *flags, batch=batch, seq=seq)


def trains_like_transformers(name):
    """Losses, and the saved parameters. The bias of the logits is a buffer: saved as it was given."""
    def run(folder):
        config, reference = FAMILIES[name], dict(np.load(references(FAMILIES[name]) / f"{name}-steps.npz"))
        expected = reference.pop("losses")
        model, data = given_parameters(folder, config), given_batches(folder, config)
        worst = worst_parameter = 0.0
        for layout, parallel in LAYOUTS.items():
            binary = compile_pairs(folder, layout.replace(" ", "-"), config, parallel, f"--label-seq={TARGET}", *OPTIMIZER)
            saved = folder / f"saved-{layout}"
            metrics = st.train(binary, f"--lr={ADAMW['lr']}", f"--init={model}", f"--data={data}", f"--save={saved}", steps=STEPS)
            found = st.losses(metrics)
            worst = max(worst, st.relative_difference(expected, found))
            st.expect(worst <= 1e-5, f"{layout}: {found}, transformers has {expected}")
            values = load_file(saved / "model.safetensors")
            bias = values.pop("final_logits_bias", None)
            st.expect(bias is None or (bias == parameter("final_logits_bias", bias.shape)).all(), "the buffer has changed")
            st.expect(values.keys() == reference.keys(), f"other parameters: {sorted(values.keys() ^ reference.keys())}")
            for key, value in reference.items():
                worst_parameter = max(worst_parameter, np.linalg.norm(values[key] - value) / np.linalg.norm(value))
                st.expect(worst_parameter <= 1e-4, f"{layout}: {key} differs by {worst_parameter:.1e}")
        return f"losses {worst:.0e}, parameters {worst_parameter:.0e}"
    return run


def continues(folder):
    """A checkpoint of one layout under another one, with dropout."""
    config = {**T5, "dropout_rate": 0.1}
    one = compile_pairs(folder, "one", config, batch=8)
    many = compile_pairs(folder, "many", config, LAYOUTS["2 replicas x 2 shards x 2 stages"], batch=8)
    expected = st.losses(st.train(one, "--lr=1e-2", steps=4))
    st.train(one, "--lr=1e-2", f"--save={folder / 'saved'}", steps=2)
    st.expect(json.loads((folder / "saved" / "config.json").read_text())["architectures"] == ["T5ForConditionalGeneration"], "class")
    found = st.losses(st.train(many, "--lr=1e-2", f"--resume={folder / 'saved'}", steps=2))
    difference = st.relative_difference(expected[2:], found)
    st.expect(difference <= 1e-5, f"{found}, one device has {expected}")
    return f"{difference:.0e}"


def sends_the_encoder_once(folder):
    """Stages that divide the decoder: the encoder's result is sent from each stage to the next one, once for all cross
    attentions after it, and its gradient is sent back once. Keys and values of cross attention are computed where they
    are used."""
    encoder, decoder, width = 2, 3, T5["d_model"]
    config = {**T5, "num_layers": encoder, "num_decoder_layers": decoder}
    layout = {"mode": "pipeline", "stage_cnt": encoder + decoder, "data": 1, "accum_degree": 2}

    def sent_bytes(batch):
        name = f"batch-{batch}"
        binary = compile_pairs(folder, name, config, layout, f"--label-seq={TARGET}", f"--dump-phases-to={folder / name}.phases",
                               batch=batch)
        st.train(binary, f"--report={folder / 'report.json'}", steps=1)
        return sum(device["sent_bytes"] for device in json.loads((folder / "report.json").read_text())["devices"])

    fewer, more = sent_bytes(2), sent_bytes(6)
    tasks = next((folder / "batch-2.phases").glob("*-tasks.mlir")).read_text()
    found = sorted(re.findall(r"st\.send .*: tensor<(1x[\dx]+)xf32>", tasks))
    sources, targets = 2 * (encoder + decoder - 1), 2 * (decoder - 1)
    expected = sorted([f"1x{SEQ}x{width}"] * sources + [f"1x{TARGET}x{width}"] * targets)
    st.expect(found == expected, f"messages of a micro-batch {found}, expected {expected}")
    # The links carry these bytes for four more rows. Reductions of parameters do not depend on the batch.
    formula = 4 * 4 * width * (sources * SEQ + targets * TARGET)
    st.expect(more - fewer == formula, f"four rows more send {more - fewer} bytes, expected {formula}")
    return f"{len(found)} messages of a micro-batch, {formula // 4} bytes for a row"


def refuses_other_functions(folder):
    """A folder whose configuration makes another function of the same tensors."""
    binary = compile_pairs(folder, "one", T5)
    model = given_parameters(folder, T5)
    for key, value in (("num_decoder_layers", 1), ("relative_attention_max_distance", 11), ("scale_decoder_outputs", False),
                       ("decoder_start_token_id", 1), ("feed_forward_proj", "silu")):
        st.write_json(model / "config.json", {**T5, key: value})
        done = st.run([binary, "--steps=0", f"--init={model}"])
        st.expect(done.returncode == 1 and f'"{key}" is ' in done.stderr, done.stderr)
    st.write_json(model / "config.json", {**T5, "num_decoder_layers": T5["num_layers"], "scale_decoder_outputs": True})
    st.check_run([binary, "--steps=0", f"--init={model}"])


def learns_synthetic(folder):
    """Far below the entropy of a target's token, given the tokens before: only attention to the source helps."""
    config = {**BART, "vocab_size": 16, "d_model": 32, "max_position_embeddings": 32, "encoder_layers": 1, "decoder_layers": 1}
    binary = compile_pairs(folder, "one", config, None, "--label-seq=8", "--eval", batch=64, seq=8)
    metrics = st.train(binary, "--lr=1e-2", "--split=9,1", "--valid-data=synthetic", "--eval-interval=160", steps=160)
    loss = metrics[-1]["loss"]
    st.expect(loss < 0.25, f"loss {metrics[0]['loss']} to {loss}")
    found = [m for m in metrics if "validation" in json.dumps(m)]
    return f"loss {metrics[0]['loss']:.2f} to {loss:.2f}, {len(found)} evaluations"


def unigram_tokenizer(folder):
    """A tokenizer like T5's: an end token after each text, and none before it."""
    words = ["<pad>", "</s>", "<unk>", "\u2581a", "\u2581cat", "\u2581eine", "\u2581Katze", "\u2581sat", "s"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram([(word, -1.0 - i) for i, word in enumerate(words)], unk_id=2))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                                        special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def reads_pairs(folder):
    """Rows of JSON lines: the special tokens of the tokenizer, truncation, padding, labels that do not count."""
    model = st.write_json(folder / "pairs" / "config.json", T5).parent
    tokenizer = unigram_tokenizer(model)
    pairs = [("a cat", "eine Katze"), ("a cat sat a cat sat a cat", "Katze"), ("cats", "eine Katze sat a cat sat")]
    lines = [json.dumps({"source": source, "target": target, "id": 3}) for source, target in pairs]
    (folder / "pairs.jsonl").write_text("\n\n".join(lines) + "\n")
    binary = compile_pairs(folder, "pairs", T5, None, "--label-seq=4", batch=3, seq=6)
    record = folder / "recorded.safetensors"
    st.check_run([binary, "--steps=1", f"--data=jsonl:{folder / 'pairs.jsonl'}", f"--record-batches={record}"])
    found = {name: value.reshape(3, -1) for name, value in load_file(record).items()}
    rows = set()
    for source, target in pairs:
        ids, label = (tokenizer.encode(text, add_special_tokens=False).ids for text in (source, target))
        ids, label = ids[:5] + [1], label[:3] + [1]
        rows.add((*ids, *[0] * (6 - len(ids)), *[1] * len(ids), *[0] * (6 - len(ids)), *label, *[-100] * (4 - len(label))))
    columns = np.concatenate([found[name] for name in ("input_ids", "attention_mask", "labels")], axis=1)
    st.expect({tuple(map(int, row)) for row in columns} == rows, f"{columns}, expected {rows}")
    # Without a tokenizer, tokens are bytes, and 2 ends a text.
    config = {**T5, "vocab_size": 300}
    binary = compile_pairs(folder, "bytes", config, None, "--label-seq=4", batch=3, seq=6)
    st.check_run([binary, "--steps=1", f"--data=jsonl:{folder / 'pairs.jsonl'}", f"--record-batches={record}"])
    found = {name: value.reshape(3, -1) for name, value in load_file(record).items()}
    row = [4 + value for value in b"cats"] + [2]
    st.expect([*row, 0] in found["input_ids"].tolist(), f"{found['input_ids']}")


def refuses_data(folder):
    """One line for data that has no pairs."""
    binary = compile_pairs(folder, "one", {**T5, "vocab_size": 300})
    text = folder / "text.txt"
    text.write_text("A text. Another one.\n" * 99)
    lines = folder / "lines.jsonl"
    for content, data, expected, *flags in (
            ("", f"text:{text}", "the task seq2seq needs sources and targets"),
            ("", f"squad:{text}", "the task seq2seq needs sources and targets"),
            ("", f"megatron:{text}", "the task seq2seq needs sources and targets"),
            ('{"text": "a"}', f"jsonl:{lines}", "lines.jsonl:1: no \"source\""),
            ('{"source": "a", "target": 3}', f"jsonl:{lines}", "lines.jsonl:1"),
            ("\n", f"jsonl:{lines}", "no documents"),
            ('{"source": "a", "target": "b"}', f"jsonl:{lines}", "--mask-prob has no effect", "--mask-prob=0.2"),
            ('{"source": "a", "target": "b"}', f"jsonl:{lines}", "--eod-mask-loss has no effect", "--eod-mask-loss"),
            ('{"source": "a", "target": "b"}', f"jsonl:{lines}", "assigns none of its 1 pairs to the train part", "--split=0,1")):
        lines.write_text(content)
        done = st.run([binary, "--steps=1", f"--data={data}", *flags])
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        st.expect(done.returncode == 1 and len(errors) == 1 and expected in errors[0], f"{data}: {done.stderr[-600:]}")


# Faults of configurations: the changed keys, and what the line about them says.
SHARED_FAULTS = [
    ({"d_model": 0}, "'d_model': expected an integer from 1"), ({"d_model": "16"}, "'d_model': expected an integer"),
    ({"d_model": None}, "'d_model': expected an integer"), ({"vocab_size": -1}, "'vocab_size'"),
    ({"vocab_size": 2.5}, "'vocab_size'"),
    ({"decoder_start_token_id": 61}, "'decoder_start_token_id': expected a token below vocab_size = 61"),
    ({"decoder_start_token_id": None}, "'decoder_start_token_id'"),
    ({"decoder_start_token_id": -1}, "'decoder_start_token_id'"),
    ({"pad_token_id": None}, "'pad_token_id': expected a token below vocab_size = 61"), ({"pad_token_id": 61}, "'pad_token_id'"),
    ({"pad_token_id": -2}, "'pad_token_id'"), ({"is_encoder_decoder": False}, "'is_encoder_decoder': expected true"),
    ({"is_decoder": True}, "'is_decoder': expected false"), ({"add_cross_attention": True}, "'add_cross_attention'"),
    ({"tie_encoder_decoder": True}, "'tie_encoder_decoder'"),
    ({"hidden_size": 17}, "'hidden_size': expected the same as in d_model, 16"),
    ({"num_hidden_layers": 5}, "'num_hidden_layers': expected the same as in"),
    ({"num_attention_heads": 3}, "'num_attention_heads'"), ({"use_cache": 1}, "'use_cache': expected true or false"),
    ({"hidden_act": "relu"}, "unknown key 'hidden_act'"), ({"tie_word_embeddings": "no"}, "'tie_word_embeddings'"),
    ({"pruned_heads": {"0": [1]}}, "'pruned_heads'")]
FAULTS = {
    "t5": (T5, [
        *SHARED_FAULTS, ({"d_kv": 0}, "'d_kv'"), ({"d_ff": "x"}, "'d_ff'"), ({"num_layers": 1025}, "'num_layers'"),
        ({"num_decoder_layers": 0}, "'num_decoder_layers'"), ({"num_heads": 0}, "'num_heads'"),
        ({"head_dim": 5}, "'head_dim'"), ({"dropout_rate": 1}, "'dropout_rate': expected a probability"),
        ({"layer_norm_epsilon": 0}, "'layer_norm_epsilon'"), ({"initializer_factor": -1}, "'initializer_factor'"),
        ({"feed_forward_proj": "gated"}, "'feed_forward_proj': expected a function"),
        ({"feed_forward_proj": "gated-mish"}, "'feed_forward_proj'"),
        ({"feed_forward_proj": "gated-gelu", "dense_act_fn": "relu"}, "'dense_act_fn'"),
        ({"is_gated_act": True}, "'is_gated_act': expected false"),
        ({"scale_decoder_outputs": False}, "'scale_decoder_outputs'"),
        ({"relative_attention_num_buckets": 3}, "'relative_attention_num_buckets': expected an integer from 4"),
        ({"relative_attention_max_distance": 4}, "'relative_attention_max_distance': expected more than"),
        ({"position_embedding_type": "absolute"}, "unknown key 'position_embedding_type'"),
        ({"encoder_layers": 2}, "unknown key"),
        ({"decoder_start_token_id": ...}, "'decoder_start_token_id': expected a token below vocab_size = 61, for the decoder's")]),
    "bart": (BART, [
        *SHARED_FAULTS, ({"encoder_attention_heads": 3}, "'encoder_attention_heads': expected a divisor of d_model = 16"),
        ({"decoder_attention_heads": 3}, "'decoder_attention_heads': expected a divisor of d_model = 16"),
        ({"encoder_layerdrop": 0.1}, "'encoder_layerdrop': expected 0"),
        ({"decoder_layerdrop": 0.1}, "'decoder_layerdrop': expected 0"), ({"encoder_layers": 0}, "'encoder_layers'"),
        ({"decoder_layers": None}, "'decoder_layers'"), ({"encoder_ffn_dim": -4}, "'encoder_ffn_dim'"),
        ({"decoder_ffn_dim": 1.5}, "'decoder_ffn_dim'"), ({"activation_function": "gated-gelu"}, "'activation_function'"),
        ({"dropout": -0.1}, "'dropout'"), ({"attention_dropout": 1.0}, "'attention_dropout'"),
        ({"activation_dropout": "0"}, "'activation_dropout'"), ({"init_std": 0}, "'init_std'"),
        ({"scale_embedding": 2}, "'scale_embedding'"),
        ({"tie_word_embeddings": False}, "'tie_word_embeddings': expected true"),
        ({"normalize_before": True}, "'normalize_before': expected false"),
        ({"add_final_layer_norm": True}, "'add_final_layer_norm'"),
        ({"normalize_embedding": False}, "'normalize_embedding': expected true"),
        ({"static_position_embeddings": True}, "'static_position_embeddings'"),
        ({"extra_pos_embeddings": 1}, "'extra_pos_embeddings'"),
        ({"max_position_embeddings": 7}, "expected 1 to max_position_embeddings = 7"), ({"d_kv": 4}, "unknown key 'd_kv'")])}


def refuses_configurations(family):
    def run(folder):
        good, faults = FAULTS[family]
        for changes, expected in faults:
            config = {key: value for key, value in {**good, **changes}.items() if value is not ...}
            path = st.write_json(folder / "config.json", config)
            done = st.run([st.BIN / "st-translate", "--import-hf-config", "--task=seq2seq", "--seq=8", path, "-o", folder / "out.mlir"])
            st.expect(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and expected in done.stderr, f"{changes}: {done.stderr}")
            st.expect(not (folder / "out.mlir").exists(), f"{changes}: a file is left")
        return f"{len(faults)} faults"
    return run


def refuses(folder):
    """One line for each setting that contradicts another."""
    for expected, config, task, *flags in (
            ("task 'clm': expected seq2seq for model_type \"t5\"", T5, "clm"),
            ("a gpt2 has no separate target sequence, found 4", FAMILIES["gpt2"], "clm", "--label-seq=4"),
            ("target sequence length: expected 1 to max_position_embeddings = 16, found 17", BART, "seq2seq", "--label-seq=17"),
            ("--label-seq=0: expected an integer from 1", BART, "seq2seq", "--label-seq=0"),
            ("--task=seq2sec: expected mlm, span, clm, seq2seq, classify, classify-tokens or encode", T5, "seq2sec")):
        model = st.write_json(folder / "model" / "config.json", config).parent
        done = st.run([*st.COMPILE, model, f"--task={task}", "--seq=8", *flags, "-o", folder / "refused.bin"])
        st.expect(done.returncode == 1 and done.stderr.count("error: ") == 1 and expected in done.stderr, done.stderr)
    done = st.run([st.BIN / "st-plan", st.write_json(folder / "model" / "config.json", T5).parent])
    st.expect(done.returncode == 1 and done.stderr.count("error: ") == 1 and "expected --seq" in done.stderr, done.stderr)


CASES = [*((f"{name} compared with transformers", trains_like_transformers(name)) for name in NAMES),
         ("checkpoints under another layout", continues), ("one message of the encoder", sends_the_encoder_once),
         ("folders of another function", refuses_other_functions),
         ("synthetic pairs", learns_synthetic), ("pairs of a file", reads_pairs), ("refused data", refuses_data),
         *((f"faults of {family}", refuses_configurations(family)) for family in FAULTS), ("refusals", refuses)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
