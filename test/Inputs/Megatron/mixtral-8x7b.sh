#!/bin/bash
# Mixtral 8x7B on one node of eight devices.
MODEL=(
    --use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 32768
    --position-embedding-type rope --rotary-base 1000000 --swiglu --normalization RMSNorm --disable-bias-linear
    --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0 --tokenizer-type Llama2Tokenizer
)
EXPERTS=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall)
STEP=(--micro-batch-size 1 --global-batch-size 256 --train-iters 500000 --lr 1e-4 --min-lr 1e-5 --lr-decay-style cosine
    --lr-warmup-iters 500 --weight-decay 0.1 --clip-grad 1.0 --bf16)
LAYOUT=(--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 --expert-model-parallel-size 8 --use-distributed-optimizer)
torchrun --nproc_per_node 8 pretrain_gpt.py "${MODEL[@]}" "${EXPERTS[@]}" "${STEP[@]}" "${LAYOUT[@]}" --data-path corpus_text_document
