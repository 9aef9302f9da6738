//===- Frontend.h - From a configuration to a forward loss ------*- C++ -*-===//
//
// Builds the forward loss of a Hugging Face model as a module whose one
// function, @main, every later phase reads by the roles of its arguments.
//
// Arguments carry `st.name` and `st.role`:
//
//   parameter  A weight under its Hugging Face name (for megatron-gpt, that of
//              Megatron-LM), in its shape there: [out, in] for Linear layers,
//              [in, out] for the Conv1D layers of GPT-2. `st.init` gives its initial value:
//              {kind = "normal", std = 0.02 : f64}, {kind = "zeros"} or
//              {kind = "ones"}; `st.no_decay` excludes it from weight decay.
//   batch      The step's data, i32 with values below `st.limit` but for
//              images, which are f32:
//                mlm   input_ids, token_type_ids, attention_mask, labels,
//                      next_sentence_label [B]
//                span  input_ids, token_type_ids, attention_mask,
//                      start_positions [B], end_positions [B]
//                clm   input_ids, labels; position_ids [B, S], prefix_length [B], segment_ids
//                      [B, S] as ModelConfig::inputs says
//                seq2seq  input_ids [B, S], attention_mask [B, S], labels [B, T]
//                encode  input_ids, token_type_ids, attention_mask
//                classify  pixel_values [B, channels, size, size], or the inputs of an
//                      encoder or decoder; labels [B], or f32 [B, labels]
//                classify-tokens  the inputs of an encoder or decoder; labels [B, S]
//              `labels` are aligned with the positions that predict them (for
//              clm, whoever reads the data has shifted them by one; for seq2seq the
//              program makes the decoder's inputs from them); -100
//              marks a position without a label.
//   key        rng_key : tensor<2xui32> = [seed, step], absent without dropout.
//
// The result is the loss, a tensor<f32> of role "loss"; for encode the hidden_states [B, S, H] of
// role "metric". An op's location has the name of the module followed by the framework's function,
// such as "bert.encoder.layer.0/attention/softmax"; a product with a weight has only the module's
// name. `st.block` counts the layers: 0 for the embeddings, 1 ... L for the layers, L + 1 for the
// head. Constants have no block. The module has `st.task`, `st.batch`, `st.sequence` and
// `st.model_config`, the configuration's JSON.
//
// A model without labels in a batch has loss 0, not NaN: counts of labels are at least 1.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_FRONTEND_H
#define ST_LIB_FRONTEND_FRONTEND_H

#include "lib/Frontend/ModelConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::st {

/// The purpose of the model's result.
enum class Purpose {
  Train,
  /// No dropout. All results are of role "metric": the loss, and
  ///   mlm   lm_loss, next_sentence_loss; masked_lm_correct, masked_lm_count,
  ///         next_sentence_correct, next_sentence_count, the number of labels and of
  ///         those with the largest logit
  ///   span  start_logits, end_logits [B, S]
  ///   clm, seq2seq   token_correct, token_count
  ///   classify, classify-tokens  label_correct, label_count, where labels are numbers of classes
  Evaluate
};

/// Builds the forward loss of `config` for `task` on batches of `batch` sequences of `sequence`
/// tokens (default 128; an image has one more than its number of patches). For seq2seq these are
/// sources; targets have `targetSequence` tokens (default: `sequence`). Null after a diagnostic if
/// the model does not support the task or the sizes do not fit. Loads the dialects it needs.
OwningOpRef<ModuleOp> buildModel(MLIRContext *context, const ModelConfig &config, Task task,
                                 int64_t batch, std::optional<int64_t> sequence,
                                 Purpose purpose = Purpose::Train,
                                 std::optional<int64_t> targetSequence = std::nullopt);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_FRONTEND_H
