//===- ConfigKeys.cpp - The keys of a Hugging Face config.json ------------===//

#include "lib/Frontend/ConfigKeys.h"

using namespace mlir;
using namespace mlir::st;

// Keys that any Hugging Face configuration may have and that do not change the training step: how
// the model was saved, printed output, the generation of text, the labels of a classifier. Keys
// that are not read still have a type.
constexpr KnownKey anyModelKeys[] = {{"architectures", KeyType::Array},
                                     {"attn_implementation", KeyType::String},
                                     {"auto_map", KeyType::Object},
                                     {"bad_words_ids", KeyType::Array},
                                     {"begin_suppress_tokens", KeyType::Array},
                                     {"bos_token_id", KeyType::Number},
                                     {"chunk_size_feed_forward", KeyType::Number},
                                     {"classifier_dropout", KeyType::Number},
                                     {"cls_token_id", KeyType::Number},
                                     {"decoder_start_token_id", KeyType::Number},
                                     {"diversity_penalty", KeyType::Number},
                                     {"do_lower_case", KeyType::Flag},
                                     {"do_sample", KeyType::Flag},
                                     {"dtype", KeyType::FloatType},
                                     {"early_stopping", KeyType::FlagOrString},
                                     {"encoder_no_repeat_ngram_size", KeyType::Number},
                                     {"eos_token_id", KeyType::Numbers},
                                     {"eos_token_ids", KeyType::Numbers},
                                     {"exponential_decay_length_penalty", KeyType::Array},
                                     {"finetuning_task", KeyType::String},
                                     {"forced_bos_token_id", KeyType::Number},
                                     {"forced_eos_token_id", KeyType::Numbers},
                                     {"gradient_checkpointing", KeyType::Flag},
                                     {"id2label", KeyType::Object},
                                     {"label2id", KeyType::Object},
                                     {"language", KeyType::String},
                                     {"length_penalty", KeyType::Number},
                                     {"mask_token_id", KeyType::Number},
                                     {"max_length", KeyType::Number},
                                     {"min_length", KeyType::Number},
                                     {"model_type"},
                                     {"name", KeyType::String},
                                     {"name_or_path", KeyType::String},
                                     {"no_repeat_ngram_size", KeyType::Number},
                                     {"num_beam_groups", KeyType::Number},
                                     {"num_beams", KeyType::Number},
                                     {"num_labels", KeyType::Number},
                                     {"num_return_sequences", KeyType::Number},
                                     {"output_attentions", KeyType::Flag},
                                     {"output_hidden_states", KeyType::Flag},
                                     {"output_past", KeyType::Flag},
                                     {"output_scores", KeyType::Flag},
                                     {"pad_token_id", KeyType::Number},
                                     {"prefix", KeyType::String},
                                     {"problem_type"},
                                     {"remove_invalid_values", KeyType::Flag},
                                     {"repetition_penalty", KeyType::Number},
                                     {"return_dict", KeyType::Flag},
                                     {"return_dict_in_generate", KeyType::Flag},
                                     {"sep_token_id", KeyType::Number},
                                     {"suppress_tokens", KeyType::Array},
                                     {"task_specific_params", KeyType::Object},
                                     {"temperature", KeyType::Number},
                                     {"tf_legacy_loss", KeyType::Flag},
                                     {"tie_word_embeddings"},
                                     {"tokenizer_class", KeyType::String},
                                     {"top_k", KeyType::Number},
                                     {"top_p", KeyType::Number},
                                     {"torch_dtype", KeyType::FloatType},
                                     {"torchscript", KeyType::Flag},
                                     {"transformers.js_config", KeyType::Object},
                                     {"transformers_version", KeyType::String},
                                     {"typical_p", KeyType::Number},
                                     {"unk_token_id", KeyType::Number},
                                     {"use_bfloat16", KeyType::Flag},
                                     {"use_cache", KeyType::Flag},
                                     {"xla_device", KeyType::Flag},
                                     // Rejected by value elsewhere.
                                     {"add_cross_attention"},
                                     {"cross_attention_hidden_size", KeyType::Number},
                                     {"is_encoder_decoder"},
                                     {"is_decoder"},
                                     {"pruned_heads"},
                                     {"tie_encoder_decoder"}};

// The keys of BERT's architecture. Families with the same blocks have them too.
constexpr KnownKey encoderKeys[] = {{"attention_probs_dropout_prob"},
                                    {"hidden_act"},
                                    {"hidden_dropout_prob"},
                                    {"hidden_size"},
                                    {"initializer_range"},
                                    {"intermediate_size"},
                                    {"layer_norm_eps"},
                                    {"max_position_embeddings"},
                                    {"num_attention_heads"},
                                    {"num_hidden_layers"},
                                    {"position_embedding_type"},
                                    {"type_vocab_size"},
                                    {"vocab_size"}};

// Left by the original TensorFlow configurations and never read.
constexpr KnownKey bertKeys[] = {{"directionality", KeyType::String},
                                 {"pooler_fc_size", KeyType::Number},
                                 {"pooler_num_attention_heads", KeyType::Number},
                                 {"pooler_num_fc_layers", KeyType::Number},
                                 {"pooler_size_per_head", KeyType::Number},
                                 {"pooler_type", KeyType::String}};

constexpr KnownKey distilBertKeys[] = {{"activation"},
                                       {"attention_dropout"},
                                       {"dim"},
                                       {"dropout"},
                                       {"hidden_dim"},
                                       {"initializer_range"},
                                       {"max_position_embeddings"},
                                       {"n_heads"},
                                       {"n_layers"},
                                       {"qa_dropout"},
                                       {"sinusoidal_pos_embds"},
                                       {"vocab_size"},
                                       // Read by heads that no supported task has, or by no class.
                                       {"seq_classif_dropout", KeyType::Number},
                                       {"tie_weights_", KeyType::Flag}};

constexpr KnownKey gpt2Keys[] = {{"activation_function"},
                                 {"attn_pdrop"},
                                 {"embd_pdrop"},
                                 {"initializer_range"},
                                 {"layer_norm_epsilon"},
                                 {"n_embd"},
                                 {"n_head"},
                                 {"n_inner"},
                                 {"n_layer"},
                                 {"n_positions"},
                                 {"reorder_and_upcast_attn", KeyType::Flag},
                                 {"resid_pdrop"},
                                 {"scale_attn_by_inverse_layer_idx"},
                                 {"scale_attn_weights"},
                                 {"vocab_size"},
                                 // Unused, or used only by heads that no supported task has.
                                 {"n_ctx", KeyType::Number},
                                 {"predict_special_tokens", KeyType::Flag},
                                 {"summary_activation", KeyType::String},
                                 {"summary_first_dropout", KeyType::Number},
                                 {"summary_proj_to_labels", KeyType::Flag},
                                 {"summary_type", KeyType::String},
                                 {"summary_use_proj", KeyType::Flag}};

// The keys of decoders with rotary positions and grouped key-value heads.
constexpr KnownKey rotaryDecoderKeys[] = {{"attention_dropout"},   {"hidden_act"},
                                          {"hidden_size"},         {"initializer_range"},
                                          {"intermediate_size"},   {"max_position_embeddings"},
                                          {"num_attention_heads"}, {"num_hidden_layers"},
                                          {"num_key_value_heads"}, {"partial_rotary_factor"},
                                          {"rope_parameters"},     {"rope_scaling"},
                                          {"rope_theta"},          {"vocab_size"}};

constexpr KnownKey llamaKeys[] = {{"attention_bias"},
                                  {"head_dim"},
                                  {"is_llama_config"},
                                  {"mlp_bias"},
                                  {"rms_norm_eps"},
                                  {"rope_interleaved"},
                                  {"sliding_window"},
                                  // A split of the same products into parts.
                                  {"pretraining_tp", KeyType::Number}};

constexpr KnownKey gemmaKeys[] = {
    {"attention_bias"},
    {"head_dim"},
    {"rms_norm_eps"},
    {"use_bidirectional_attention"},
    // The same as hidden_act in recent configurations, and unread in all.
    {"hidden_activation", KeyType::String}};

constexpr KnownKey gptNeoXKeys[] = {
    {"attention_bias"},      {"attention_dropout"}, {"hidden_act"},
    {"hidden_dropout"},      {"hidden_size"},       {"initializer_range"},
    {"intermediate_size"},   {"layer_norm_eps"},    {"max_position_embeddings"},
    {"num_attention_heads"}, {"num_hidden_layers"}, {"partial_rotary_factor"},
    {"rope_parameters"},     {"rope_scaling"},      {"rope_theta"},
    {"rotary_emb_base"},     {"rotary_pct"},        {"use_parallel_residual"},
    {"vocab_size"}};

constexpr KnownKey mistralKeys[] = {{"head_dim"}, {"rms_norm_eps"}, {"sliding_window"}};

constexpr KnownKey expertKeys[] = {{"num_experts"},
                                   {"num_experts_per_tok"},
                                   {"output_router_logits"},
                                   {"router_aux_loss_coef"},
                                   // transformers does not have these keys for these families. By
                                   // default no token is dropped, the balance loss is that of a
                                   // batch, and there is no z-loss.
                                   {"balance_loss_per_sequence"},
                                   {"expert_capacity_factor"},
                                   {"router_z_loss_coef"}};

constexpr KnownKey mixtralKeys[] = {{"num_local_experts"}, {"router_jitter_noise"}};

constexpr KnownKey qwen2MoeKeys[] = {
    {"decoder_sparse_step"}, {"mlp_only_layers"}, {"moe_intermediate_size"},
    {"norm_topk_prob"},      {"qkv_bias"},        {"shared_expert_intermediate_size"}};

constexpr KnownKey optKeys[] = {{"_remove_final_layer_norm"},
                                {"activation_function"},
                                {"attention_dropout"},
                                {"do_layer_norm_before"},
                                {"dropout"},
                                {"enable_bias"},
                                {"ffn_dim"},
                                {"hidden_size"},
                                {"init_std"},
                                {"layer_norm_elementwise_affine"},
                                {"layerdrop"},
                                {"max_position_embeddings"},
                                {"num_attention_heads"},
                                {"num_hidden_layers"},
                                {"vocab_size"},
                                {"word_embed_proj_dim"},
                                // Read by no class of transformers.
                                {"activation_dropout", KeyType::Number},
                                {"initializer_range"}};

constexpr KnownKey phiKeys[] = {
    {"embd_pdrop"}, {"layer_norm_eps"}, {"qk_layernorm"}, {"resid_pdrop"}};

// A sliding window that only some layers have.
constexpr KnownKey layerWindowKeys[] = {
    {"layer_types"}, {"max_window_layers"}, {"sliding_window"}, {"use_sliding_window"}};

constexpr KnownKey qwen2Keys[] = {{"head_dim"},
                                  {"rms_norm_eps"},
                                  // Used by multimodal configurations.
                                  {"use_mrope", KeyType::Flag}};

constexpr KnownKey qwen3Keys[] = {{"attention_bias"}, {"head_dim"}, {"rms_norm_eps"}};

constexpr KnownKey megatronBertKeys[] = {{"apply_query_key_layer_scaling"},
                                         {"bert_binary_head"},
                                         {"lm_head_act"},
                                         {"make_vocab_size_divisible_by"},
                                         {"use_scaled_init_method"}};

// No class of transformers reads them: Megatron-LM's arguments, under their own names and, if
// transformers has different names, under those too.
constexpr KnownKey megatronGptKeys[] = {{"apply_query_key_layer_scaling"},
                                        {"attention_dropout"},
                                        {"ffn_hidden_size"},
                                        {"hidden_act"},
                                        {"hidden_dropout"},
                                        {"hidden_dropout_prob"},
                                        {"hidden_size"},
                                        {"init_method_std"},
                                        {"initializer_range"},
                                        {"intermediate_size"},
                                        {"layernorm_epsilon"},
                                        {"make_vocab_size_divisible_by"},
                                        {"max_position_embeddings"},
                                        {"num_attention_heads"},
                                        {"num_hidden_layers"},
                                        {"num_layers"},
                                        {"vocab_size"}};

// Keys of Megatron-LM's models with parts of Llama's and Mixtral's blocks.
constexpr KnownKey megatronBlockKeys[] = {{"add_bias_linear"},
                                          {"add_qkv_bias"},
                                          {"apply_layernorm_1p"},
                                          {"expert_capacity_factor"},
                                          {"gated_linear_unit"},
                                          {"kv_channels"},
                                          {"moe_aux_loss_coeff"},
                                          {"moe_aux_loss_sequences"},
                                          {"moe_ffn_hidden_size"},
                                          {"moe_layer_freq"},
                                          {"moe_router_pre_softmax"},
                                          {"moe_router_topk"},
                                          {"moe_shared_expert_intermediate_size"},
                                          {"moe_z_loss_coeff"},
                                          {"normalization"},
                                          {"num_experts"},
                                          {"num_query_groups"},
                                          {"position_embedding_type"},
                                          {"qk_layernorm"},
                                          {"rope_parameters"},
                                          {"rope_scaling"},
                                          {"rotary_base"},
                                          {"rotary_percent"}};

constexpr KnownKey vitKeys[] = {{"attention_probs_dropout_prob"},
                                {"hidden_act"},
                                {"hidden_dropout_prob"},
                                {"hidden_size"},
                                {"image_size"},
                                {"initializer_range"},
                                {"intermediate_size"},
                                {"layer_norm_eps"},
                                {"num_attention_heads"},
                                {"num_channels"},
                                {"num_hidden_layers"},
                                {"patch_size"},
                                {"qkv_bias"},
                                // Read by heads that no supported task has.
                                {"encoder_stride", KeyType::Number},
                                {"pooler_act", KeyType::String},
                                {"pooler_output_size", KeyType::Number}};

// The general names of transformers, in addition to those of a family with an encoder and a
// decoder.
constexpr KnownKey otherNameKeys[] = {
    {"hidden_size"}, {"num_attention_heads"}, {"num_hidden_layers"}};

constexpr KnownKey bartKeys[] = {{"activation_dropout"},
                                 {"activation_function"},
                                 {"attention_dropout"},
                                 {"d_model"},
                                 {"decoder_attention_heads"},
                                 {"decoder_ffn_dim"},
                                 {"decoder_layerdrop"},
                                 {"decoder_layers"},
                                 {"dropout"},
                                 {"encoder_attention_heads"},
                                 {"encoder_ffn_dim"},
                                 {"encoder_layerdrop"},
                                 {"encoder_layers"},
                                 {"init_std"},
                                 {"max_position_embeddings"},
                                 {"scale_embedding"},
                                 {"vocab_size"},
                                 // Keys of older files, rejected by value.
                                 {"add_bias_logits"},
                                 {"add_final_layer_norm"},
                                 {"extra_pos_embeddings"},
                                 {"normalize_before"},
                                 {"normalize_embedding"},
                                 {"static_position_embeddings"},
                                 // Read by heads that no supported task has, by generation, or by
                                 // no class.
                                 {"classif_dropout", KeyType::Number},
                                 {"force_bos_token_to_be_generated", KeyType::Flag},
                                 {"save_step", KeyType::Number}};

constexpr KnownKey t5Keys[] = {{"d_ff"},
                               {"d_kv"},
                               {"d_model"},
                               {"dense_act_fn"},
                               {"dropout_rate"},
                               {"feed_forward_proj"},
                               {"head_dim"},
                               {"initializer_factor"},
                               {"is_gated_act"},
                               {"layer_norm_epsilon"},
                               {"num_decoder_layers"},
                               {"num_heads"},
                               {"num_layers"},
                               {"relative_attention_max_distance"},
                               {"relative_attention_num_buckets"},
                               {"scale_decoder_outputs"},
                               {"vocab_size"},
                               // The length in training; distances have no limit.
                               {"n_positions", KeyType::Number}};

SmallVector<ArrayRef<KnownKey>> mlir::st::keysOf(ModelType type) {
  switch (type) {
  case ModelType::Bart:
    return {anyModelKeys, otherNameKeys, bartKeys};
  case ModelType::Bert:
    return {anyModelKeys, encoderKeys, bertKeys};
  case ModelType::DistilBert:
    return {anyModelKeys, distilBertKeys};
  case ModelType::Gemma:
    return {anyModelKeys, rotaryDecoderKeys, gemmaKeys};
  case ModelType::Gpt2:
    return {anyModelKeys, gpt2Keys};
  case ModelType::GptNeoX:
    return {anyModelKeys, gptNeoXKeys};
  case ModelType::Llama:
    return {anyModelKeys, rotaryDecoderKeys, llamaKeys};
  case ModelType::MegatronBert:
    return {anyModelKeys, encoderKeys, megatronBertKeys};
  case ModelType::MegatronGpt:
    return {anyModelKeys, megatronGptKeys, megatronBlockKeys};
  case ModelType::Mistral:
    return {anyModelKeys, rotaryDecoderKeys, mistralKeys};
  case ModelType::Mixtral:
    return {anyModelKeys, rotaryDecoderKeys, mistralKeys, expertKeys, mixtralKeys};
  case ModelType::Opt:
    return {anyModelKeys, optKeys};
  case ModelType::Phi:
    return {anyModelKeys, rotaryDecoderKeys, phiKeys};
  case ModelType::Qwen2:
    return {anyModelKeys, rotaryDecoderKeys, layerWindowKeys, qwen2Keys};
  case ModelType::Qwen2Moe:
    return {anyModelKeys, rotaryDecoderKeys, layerWindowKeys, qwen2Keys, expertKeys, qwen2MoeKeys};
  case ModelType::Qwen3:
    return {anyModelKeys, rotaryDecoderKeys, layerWindowKeys, qwen3Keys};
  case ModelType::Roberta:
    return {anyModelKeys, encoderKeys};
  case ModelType::T5:
    return {anyModelKeys, otherNameKeys, t5Keys};
  case ModelType::Vit:
    return {anyModelKeys, vitKeys};
  }
  llvm_unreachable("unknown model type");
}
