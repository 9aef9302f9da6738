//===- DataArguments.cpp - Megatron arguments without effect on a plan ----===//
//
// Data, tokenizers and masks.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Megatron/Other/Tables.h"

using namespace mlir;
using namespace mlir::st;

using Kind = ArgumentKind;
using Status = ArgumentStatus;

static constexpr StringRef kData = "decides which samples are read, not what is done with one";
static constexpr StringRef kTokenizer = "is about the text before it is tokens";
static constexpr StringRef kMask =
    "changes the contents of the mask, positions or loss weights, not the work";

constexpr Argument table[] = {
    noEffect("data_path", Kind::Texts, kData),
    noEffect("train_data_path", Kind::Texts, kData),
    noEffect("valid_data_path", Kind::Texts, kData),
    noEffect("test_data_path", Kind::Texts, kData),
    noEffect("data_impl", Kind::Text, kData),
    noEffect("data_cache_path", Kind::Text, kData),
    noEffect("split", Kind::Text, kData),
    noEffect("dataloader_type", Kind::Text, kData),
    noEffect("num_workers", Kind::Count, kData),
    noEffect("mmap_warmup", Kind::Flag, kData),
    noEffect("mmap_bin_files", Kind::Flag, kData),
    noEffect("sample_rate", Kind::NonNegative, kData),
    noEffect("mask_prob", Kind::Probability, kData),
    noEffect("short_seq_prob", Kind::Probability, kData),
    noEffect("use_one_sent_docs", Kind::Flag, kData),
    noEffect("mock_data", Kind::Flag, kData),
    noEffect("data_args_path", Kind::Text, kData),
    noEffect("per_split_data_args_path", Kind::Text, kData),
    noEffect("train_idx_path", Kind::Text, kData),
    noEffect("train_desc_path", Kind::Text, kData),
    noEffect("train_doc_idx_path", Kind::Text, kData),
    noEffect("train_sample_idx_path", Kind::Text, kData),
    noEffect("train_shuffle_idx_path", Kind::Text, kData),
    noEffect("train_data_exact_num_epochs", Kind::Count, kData),
    noEffect("return_data_index", Kind::Flag, kData),
    noEffect("repeated_dataloader", Kind::Flag, kData),
    noEffect("disable_doc_shuffling", Kind::Flag, kData),
    noEffect("use_seq_len_plus_one_tokens", Kind::Flag, kData),
    noEffect("aml_data_download_path", Kind::Text, kData),
    noEffect("weighted_split_paths", Kind::Any, kData),
    noEffect("train_weighted_split_paths", Kind::Any, kData),
    noEffect("valid_weighted_split_paths", Kind::Any, kData),
    noEffect("test_weighted_split_paths", Kind::Any, kData),
    noEffect("num_dataset_builder_threads", Kind::Any, kData),
    noEffect("object_storage_cache_path", Kind::Text, kData),
    noEffect("s3_cache_path", Kind::Text, kData),
    noEffect("full_validation", Kind::Flag, kData),
    noEffect("multiple_validation_sets", Kind::Flag, kData),
    noEffect("consumed_train_samples", Kind::Count, kData),
    noEffect("consumed_valid_samples", Kind::Count, kData),
    noEffect("consumed_train_tokens", Kind::Count, kData),
    noEffect("train_tokens", Kind::Count, kData),
    noEffect("lr_decay_tokens", Kind::Count, kData),
    noEffect("lr_warmup_tokens", Kind::Count, kData),
    noEffect("use_dataset_only", Kind::Flag, kData),
    noEffect("data_sharding", Kind::Flag, kData),
    noEffect("iterations_to_skip", Kind::Any, kData),
    noEffect("enable_msc", Kind::Flag, kData),
    noEffect("mid_level_dataset_surplus", Kind::Any, kData),
    noEffect("skipped_train_samples", Kind::Count, kData),

    noEffect("merge_file", Kind::Text, kTokenizer),
    noEffect("tokenizer_model", Kind::Text, kTokenizer),
    noEffect("tokenizer_name_or_path", Kind::Text, kTokenizer),
    noEffect("tiktoken_pattern", Kind::Text, kTokenizer),
    noEffect("tiktoken_num_special_tokens", Kind::Count, kTokenizer),
    noEffect("tiktoken_special_tokens", Kind::Any, kTokenizer),
    noEffect("tokenizer_hf_use_fast", Kind::Flag, kTokenizer),
    noEffect("trust_remote_code", Kind::Flag, kTokenizer),
    noEffect("tokenizer_metadata", Kind::Text, kTokenizer),
    noEffect("tokenizer_special_tokens", Kind::Any, kTokenizer),
    noEffect("use_tokenizer_model_from_checkpoint_args", Kind::Flag, kTokenizer),

    noEffect("reset_attention_mask", Kind::Flag, kMask),
    noEffect("reset_position_ids", Kind::Flag, kMask),
    noEffect("eod_mask_loss", Kind::Flag, kMask),
    noEffect("create_attention_mask_in_dataloader", Kind::Flag, kMask),
    {"attn_mask_type",
     Kind::Text,
     Status::NoEffect,
     {},
     kMask,
     "padding|causal|no_mask|bidirectional|arbitrary|padding_causal"},
};

ArrayRef<Argument> mlir::st::dataArguments() { return table; }
