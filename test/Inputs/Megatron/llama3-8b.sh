#!/bin/bash
# Llama 3 of 8 billion parameters on one node of eight devices.
MODEL=(
    --use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 8192 --max-position-embeddings 8192
    --position-embedding-type rope --rotary-base 500000 --rotary-percent 1.0 --swiglu --normalization RMSNorm
    --norm-epsilon 1e-5 --untie-embeddings-and-output-weights --disable-bias-linear --init-method-std 0.01
    --attention-dropout 0.0 --hidden-dropout 0.0 --vocab-size 128256 --tokenizer-type HuggingFaceTokenizer
)
STEP=(
    --micro-batch-size 1 --global-batch-size 128 --train-iters 100000 --lr 1.5e-4 --min-lr 1e-5 --lr-decay-style WSD
    --lr-wsd-decay-style minus_sqrt --lr-wsd-decay-iters 10000 --lr-warmup-iters 500 --weight-decay 0.1 --adam-beta1 0.9
    --adam-beta2 0.95 --clip-grad 1.0 --bf16 --grad-reduce-in-bf16
)
LAYOUT=(--tensor-model-parallel-size 4 --pipeline-model-parallel-size 1 --sequence-parallel --use-distributed-optimizer
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1)
torchrun --nproc_per_node 8 pretrain_gpt.py "${MODEL[@]}" "${STEP[@]}" "${LAYOUT[@]}" --data-path corpus_text_document
