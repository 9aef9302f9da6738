//===- Seq2SeqFamily.h - Families with encoder and decoder ------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_SEQ2SEQ_SEQ2SEQFAMILY_H
#define ST_LIB_FRONTEND_SEQ2SEQ_SEQ2SEQFAMILY_H

#include "lib/Frontend/DecoderFamily.h"

namespace mlir::st {

/// The names of a branch of a block, after the block's prefix and number: the module of its
/// products (empty if these follow the block's number) and its norm.
struct BranchNames {
  StringRef module, norm;
};

/// One family of models with an encoder and a decoder: the parts of their blocks, and the names of
/// their parameters as in its checkpoints. Sizes and options of a single model are in ModelConfig.
///
/// A block of the encoder has the branches self-attention and MLP. A block of the decoder also
/// attends to the encoder's result, between the two.
struct Seq2SeqFamily {
  ModelType type;

  Norm norm = Norm::Layer;
  /// True if branches normalise their inputs, and each stack its result; else each residual sum and
  /// the embeddings are normalised.
  bool normalizesFirst = false;
  /// True if scores have a bias for each head and distance (Raffel et al., 2019), from a table of
  /// the first block of each stack; else embeddings of positions are added to those of tokens.
  bool hasRelativePositions = false;
  /// True if the standard deviation of initial weights is divided by the root of the number of
  /// inputs, and that of queries also by the root of a head's size.
  bool initializesByInputs = false;

  // Parameters of the model, without ".weight". `headBias` is not trained; empty without one.
  StringRef tokens, head, headBias;
  /// The prefixes of the stacks.
  StringRef encoder, decoder;
  // Parameters of a stack, after its prefix. `block` precedes the number of a block.
  StringRef block, positions, embeddingNorm, finalNorm;
  BranchNames selfAttention, crossAttention, encoderMlp, decoderMlp;
  // Products of a branch, after its module. `gate` and `gatedUp` are those of an MLP with a gate.
  StringRef query, key, value, out, up, gate, gatedUp, down;
  /// The table of relative positions, after the module of self-attention.
  StringRef relativeTable;
};

/// The family of a model; null if it does not have both an encoder and a decoder.
const Seq2SeqFamily *findSeq2SeqFamily(ModelType type);

/// The loss of the target's tokens.
Value buildSeq2Seq(ModelBuilder &model, const Seq2SeqFamily &family);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_SEQ2SEQ_SEQ2SEQFAMILY_H
