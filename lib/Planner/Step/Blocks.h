// The planner's building blocks: compiled blocks of a model.
#ifndef ST_PLANNER_BLOCKS_H
#define ST_PLANNER_BLOCKS_H

#include "lib/Planner/Layout.h"
#include "lib/Proto/work.pb.h"

#include "absl/status/statusor.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace st {

/// Parameters of a block's work.
struct BlockKey {
  int64_t tensor = 1, microBatch = 1;
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;
  bool formsKernels = false;       ///< St's kernels instead of tensor ops
  bool splitsBackward = false;     ///< gradients of weights are separate tasks
  std::string optimizer = "adamw"; ///< one of kOptimizerNames
  int64_t context = 1, expert = 1;
  ContextAttention contextAttention = ContextAttention::Unset;

  auto tie() const {
    return std::tie(tensor, microBatch, context, expert, contextAttention, sequenceParallel,
                    recompute, formsKernels, splitsBackward, optimizer);
  }
  bool operator<(const BlockKey &other) const { return tie() < other.tie(); }
};

/// Layers in the programs that a BlockSource compiles, if one layer represents all.
constexpr int64_t kCompiledLayers = 2;

/// A planned model. Its blocks are compiled; all other properties are numbers. A program has the
/// embeddings (block 0), layers and the head. That of a model with an encoder and a decoder has
/// layers of each, and between them a bridge: the encoder's last norm and the decoder's embeddings.
/// Usually there are two layers of each, and the second one represents all but the first. If layers
/// differ, a program has the first layers of each stack, up to the second one of each kind.
struct PlannedModel {
  std::string name;
  int64_t layers = 0, hidden = 0, heads = 0, sequence = 0;
  int64_t vocabulary = 0;        ///< without padding
  std::string precision = "f16"; ///< "f16", "bf16" or "f32"
  int64_t decoderLayers = 0;     ///< the last ones of `layers`, if the others are an encoder's
  int64_t experts = 0;           ///< of a layer; 0 without
  /// Layers of the encoder (all of a model with one stack) and of the decoder in a program.
  int64_t compiledLayers = kCompiledLayers, compiledDecoderLayers = kCompiledLayers;

  int64_t encoderLayers() const { return layers - decoderLayers; }
  /// Sets the kind of each layer: layers of a stack may differ in their experts or in what they
  /// train. If they do, programs have the layers up to each of `needed`, too. `layers` and
  /// `decoderLayers` must be set.
  void setLayerKinds(const std::vector<std::string> &kinds,
                     const std::vector<int64_t> &needed = {});
  /// Returns true if layers of a stack differ.
  bool hasUnequalLayers() const { return !likeBlocks.empty(); }
  /// Returns true if a layer does not represent all others.
  bool layersDiffer() const { return hasUnequalLayers() || decoderLayers > 0; }
  int64_t bridgeBlock() const { return compiledLayers + 1; }
  int64_t headBlock() const {
    return compiledLayers + 1 + (decoderLayers > 0 ? compiledDecoderLayers + 1 : 0);
  }
  bool isLayer(int64_t block) const {
    return block > 0 && block < headBlock() && (decoderLayers == 0 || block != bridgeBlock());
  }
  bool isDecoderLayer(int64_t block) const {
    return decoderLayers > 0 && block > bridgeBlock() && block < headBlock();
  }
  /// The block that represents a layer of the model.
  int64_t blockOf(int64_t layer) const {
    if (hasUnequalLayers())
      return likeBlocks[layer];
    return layer < encoderLayers() ? compiledLayers : bridgeBlock() + compiledDecoderLayers;
  }
  /// The blocks that represent layers, ascending.
  std::vector<int64_t> layerBlocks() const;
  /// Blocks of the model that a block of a program represents.
  int64_t timesOf(int64_t block) const;
  /// The number of the model's tensors that a state of a program represents; all layers may share
  /// one tensor.
  int64_t timesOf(const proto::StateWork &state) const;

  /// The block that represents each layer, as set by setLayerKinds. Empty if the layers of a stack
  /// are equal.
  std::vector<int64_t> likeBlocks;
};

/// Visits a block's collectives that gather the weights of experts before the passes, or scatter
/// their gradients in the update. Programs that send tokens instead have none.
template <typename Visit>
void visitExpertWeights(const proto::ProgramWork &work, int64_t block, Visit visit) {
  for (const proto::PhaseWork &phase : work.phases()) {
    const bool isGather = phase.phase() == "prologue";
    if (phase.block() != block || !(isGather || phase.phase() == "update"))
      continue;
    for (const proto::OpWork &op : phase.ops())
      if (op.collective() == (isGather ? "all_gather" : "reduce_scatter") &&
          std::find(op.axes().begin(), op.axes().end(), "expert") != op.axes().end())
        visit(op, isGather);
  }
}

/// Compiles each block once.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  /// The work of one device, valid as long as the source.
  virtual absl::StatusOr<const proto::ProgramWork *> get(const BlockKey &key) = 0;
};

} // namespace st

#endif // ST_PLANNER_BLOCKS_H
