//===- DecoderFamily.h - The families of causal language models -*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_DECODERFAMILY_H
#define ST_LIB_FRONTEND_DECODERFAMILY_H

#include "lib/Frontend/ModelBuilder.h"

namespace mlir::st {

enum class Norm {
  Layer,        ///< layer normalisation, with a weight and a bias
  LayerPlusOne, ///< the same, but the weight is stored minus one and starts at zero
  Rms,          ///< division by the root mean square, and a weight
  RmsPlusOne,   ///< the same, but the weight is stored minus one and starts at zero
};

/// The way in which one or three products compute queries, keys and values.
enum class Projections {
  Separate, ///< three products
  Joined,   ///< one product; all queries come first, then all keys, then all values
  /// One product; the queries that share a key, the key and the value are adjacent, so heads can be
  /// sharded.
  ByHead,
};

/// One family of decoders: the parts of its blocks, and the names of its parameters as in its
/// checkpoints. Sizes and options of a single model are in ModelConfig.
///
/// Each block computes y = x + attention(norm(x)) and returns y + mlp(norm(y)), or with parallel
/// branches y + mlp(norm(x)). A model may normalise sums instead: y = norm(x + attention(x)), and
/// the result is norm(y + mlp(y)).
struct DecoderFamily {
  ModelType type;

  Norm norm = Norm::Layer;
  Projections projections = Projections::Separate;
  WeightLayout layout = WeightLayout::OutIn;
  /// True if heads of queries and keys have separate norms.
  bool normalizesHeads = false;
  bool hasRotaryPositions = false;
  /// True if embeddings are multiplied by the root of their size.
  bool scalesEmbeddings = false;
  bool hasHeadBias = false;
  /// True if the ops of each product are in a scope with the name of the product.
  bool scopesProducts = false;

  // Scopes.
  StringRef root, embeddingScope, headScope;
  // Parameters of the model, without ".weight".
  StringRef tokens, positions, finalNorm, head;
  // Projections of token embeddings to and from the size of the blocks, if a model has them.
  StringRef projectIn, projectOut;
  // The same of the heads that classify; empty if transformers has no such model.
  StringRef classHead = "score", tokenClassHead = "score";
  // Parameters of a block, after its prefix and number. `gate` is empty if the MLP has no gate, or
  // (`joinsGate`) if the first half of the product `up` is the gate; `mlpNorm` is empty if both
  // branches read the same norm.
  StringRef block, attentionNorm, mlpNorm;
  StringRef attention, query, key, value, joined, out;
  StringRef queryNorm = "q_norm", keyNorm = "k_norm";
  StringRef mlp, gate, up, down;
  bool joinsGate = false;
  // Parameters of a layer of experts, after the block's prefix; `expertGate` is like `gate`.
  // `sharedExpert` is empty if there is none; it has the names of an MLP, and `sharedGate` is empty
  // if no gate scales it.
  StringRef router, experts, expertGate, expertUp, expertDown;
  StringRef sharedExpert, sharedGate;
};

/// The family of a type, without the parts that differ between its models; null if its models are
/// not causal language models.
const DecoderFamily *findDecoderFamily(ModelType type);

/// Returns true if models of this type are causal language models.
bool isDecoder(ModelType type);

/// The family of a decoder, with the parts that differ between models.
DecoderFamily describeDecoder(const ModelConfig &config);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_DECODERFAMILY_H
