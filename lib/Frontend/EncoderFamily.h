//===- EncoderFamily.h - The families of encoders ---------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_ENCODERFAMILY_H
#define ST_LIB_FRONTEND_ENCODERFAMILY_H

#include "lib/Frontend/ModelBuilder.h"

namespace mlir::st {

/// The embeddings of token types that an encoder adds.
enum class TokenTypes {
  None,
  First, ///< the first row of a table, for every token
  Given, ///< rows of a table, for types that the batch gives
};

/// One family of encoders: the parts of its blocks, and the names of its parameters as in its
/// checkpoints. Sizes and options of a single model are in ModelConfig.
struct EncoderFamily {
  ModelType type;

  /// True if branches normalise their inputs, and the encoder its result; else each residual sum is
  /// normalised.
  bool normalizesFirst = false;
  /// True if only tokens other than padding count for positions, and position 0 has the row after
  /// the padding token's number. Padding tokens have the row of their number.
  bool countsPositions = false;
  TokenTypes tokenTypes = TokenTypes::Given;
  /// True if dropout follows attention's output product.
  bool dropsAttentionOutput = true;

  /// The scope of the model, and the prefix of the parameters of embeddings and pooler.
  StringRef root;
  // Parameters of a block, after its prefix and number.
  StringRef block, query, key, value, out, attentionNorm, up, down, mlpNorm;
  // The head for masked tokens: its scope and its parameters, without ".weight".
  StringRef headScope, headDense, headNorm, decoder, headBias;
  // The head for the class of a text, which reads its first token: a layer with its activation,
  // and the product that gives the logits. Dropout is between them and, in some families, before
  // them.
  StringRef classDense, classOut = "classifier";
  Activation classActivation = Activation::Tanh;
  bool dropsClassInput = false;
};

/// The family of a model; null if it is not an encoder of text.
const EncoderFamily *findEncoderFamily(ModelType type);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_ENCODERFAMILY_H
