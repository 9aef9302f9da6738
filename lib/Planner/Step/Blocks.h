// The planner's building blocks: compiled blocks of a model.
#ifndef ST_PLANNER_BLOCKS_H
#define ST_PLANNER_BLOCKS_H

#include "lib/Planner/Layout.h"
#include "lib/Proto/work.pb.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <tuple>

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

  auto tie() const {
    return std::tie(tensor, microBatch, context, expert, sequenceParallel, recompute, formsKernels,
                    splitsBackward, optimizer);
  }
  bool operator<(const BlockKey &other) const { return tie() < other.tie(); }
};

/// Layers of a kind in the programs that a BlockSource compiles.
constexpr int64_t kCompiledLayers = 2;

/// A planned model: its blocks are compiled, the rest are counts. A program has the embeddings
/// (block 0), two layers and the head; the second layer stands for all but the first. That of a
/// model with an encoder and a decoder has two layers of each, and between them a bridge: the
/// encoder's last norm and the decoder's embeddings.
struct PlannedModel {
  std::string name;
  int64_t layers = 0, hidden = 0, heads = 0, sequence = 0;
  int64_t vocabulary = 0;        ///< without padding
  std::string precision = "f16"; ///< "f16", "bf16" or "f32"
  int64_t decoderLayers = 0;     ///< the last ones of `layers`, if the others are an encoder's
  int64_t experts = 0;           ///< of a layer; 0 without
  bool limitsExperts = false;    ///< an expert takes at most a number of tokens
  /// Layers of a kind differ in their experts or in what they train. Then no layer stands for the
  /// others, and a BlockSource compiles all layers.
  bool layersUnlike = false;

  static constexpr int64_t kLayerBlock = kCompiledLayers, kBridgeBlock = kCompiledLayers + 1,
                           kDecoderBlock = 2 * kCompiledLayers + 1;
  int64_t encoderLayers() const { return layers - decoderLayers; }
  /// Returns true if a layer does not stand for all others.
  bool layersDiffer() const { return layersUnlike || decoderLayers > 0; }
  int64_t headBlock() const {
    if (layersUnlike)
      return layers + (decoderLayers > 0 ? 2 : 1);
    return (decoderLayers > 0 ? kDecoderBlock : kLayerBlock) + 1;
  }
  int64_t bridgeBlock() const { return layersUnlike ? encoderLayers() + 1 : kBridgeBlock; }
  bool isLayer(int64_t block) const {
    return block > 0 && block < headBlock() && (decoderLayers == 0 || block != bridgeBlock());
  }
  /// Blocks of the model that a block of a program stands for.
  int64_t timesOf(int64_t block) const {
    if (layersUnlike || !isLayer(block))
      return 1;
    return block == kLayerBlock                          ? encoderLayers()
           : block == kDecoderBlock && decoderLayers > 0 ? decoderLayers
                                                         : 0;
  }
  /// Tensors of the model that a state of a program stands for; all layers may share one.
  int64_t timesOf(const proto::StateWork &state) const;
};

/// Compiles each block once.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  /// The work of one device, valid as long as the source.
  virtual absl::StatusOr<const proto::ProgramWork *> get(const BlockKey &key) = 0;
};

} // namespace st

#endif // ST_PLANNER_BLOCKS_H
