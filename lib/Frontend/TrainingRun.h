//===- TrainingRun.h - A training run as other software describes it ------===//
//
// What a Megatron command line, a Megatron log or a DeepSpeed configuration says
// of a run: the model, how it is split, what a step does, and what a log measured.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_TRAININGRUN_H
#define ST_LIB_FRONTEND_TRAININGRUN_H

#include "mlir/Support/LLVM.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

enum class RunFamily {
  /// Layer normalisation before each block, and a binary head beside the masked tokens.
  MegatronBert,
  MegatronGpt
};
enum class RunPrecision { F32, F16, BF16 };
enum class RunRecomputation {
  None,
  /// The attention scores and what follows from them up to the context alone.
  Selective,
  /// Layers as a whole, from their inputs.
  Full
};
enum class RunPositions { Learned, Rotary, Relative, None };
/// How the gradients of replicas meet: by hand after the last micro-batch (Megatron's
/// "local"), or in buckets while the backward pass of the last one runs.
enum class RunGradientReduction { Local, Torch };
enum class RunOffload { None, Host, Disk };

StringRef stringify(RunFamily family);
StringRef stringify(RunPrecision precision);
StringRef stringify(RunRecomputation recomputation);
StringRef stringify(RunPositions positions);
StringRef stringify(RunGradientReduction reduction);
StringRef stringify(RunOffload offload);

/// What became of a key that somebody wrote. A key that is refused is an error, so a run
/// that was read has none.
struct KeyFate {
  enum Fate { Honoured, NoEffect } fate;
  std::string key;
  /// Why the key has no effect on the plan, or what it was taken for; empty where the value
  /// was taken as it is.
  std::string reason;
  /// Its line in the file; 0 where it has none.
  unsigned line = 0;
};

/// The reason of a key whose value is "auto" or null.
constexpr char kLeftToTheRun[] = "left to the arguments of the run";

/// What the log of a run measured. Times in milliseconds, memory in MiB of one device.
struct RunMeasurements {
  /// By the name that the log gives them: a mean over the iterations of a report, and of
  /// ranks the slowest.
  std::map<std::string, double> timers;
  std::optional<double> perIteration;
  std::optional<double> perSample;
  /// Of the devices that the log names, the least and the most.
  std::optional<double> memoryMin, memoryMax;
  std::optional<double> memoryCapacity;
};

/// A run. Sizes are positive, probabilities in [0, 1]; a size that nothing says is zero where
/// its comment says so.
struct TrainingRun {
  /// Where it was read, for messages.
  std::string path;

  // The model.
  RunFamily family = RunFamily::MegatronGpt;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  /// Of one head.
  int64_t headSize = 0;
  /// Heads of keys and values; `heads` unless queries share them.
  int64_t keyValueHeads = 0;
  int64_t ffnHidden = 0;
  int64_t sequence = 0;
  int64_t maxPositions = 0;
  /// Tokens before and after padding; both zero where nothing says.
  int64_t vocabulary = 0;
  int64_t paddedVocabulary = 0;
  int64_t vocabularyMultiple = 128;
  double attentionDropout = 0.1;
  double hiddenDropout = 0.1;
  bool binaryHead = true;
  /// Whether the inner layers are gated by a SiLU instead of a GELU between two products.
  bool swiglu = false;
  bool rmsNorm = false;
  bool linearBias = true;
  bool untiedEmbeddings = false;
  RunPositions positions = RunPositions::Learned;

  // Numbers.
  RunPrecision precision = RunPrecision::F32;
  /// In which replicas sum their gradients.
  RunPrecision reduceType = RunPrecision::F32;
  bool crossEntropyInF16 = false;
  std::string optimizer = "adam";
  /// The norm to which gradients are clipped; zero for none.
  double clip = 1.0;

  // The step.
  int64_t microBatch = 0;
  /// Samples of a step over all replicas; zero where nothing says.
  int64_t globalBatch = 0;
  /// Micro-batches of a step on one replica; zero where nothing says.
  int64_t accumulation = 0;

  // The layout.
  int64_t tensorParallel = 1;
  int64_t pipelineParallel = 1;
  /// Parts of the model on one pipeline stage; more than one is interleaving.
  int64_t virtualStages = 1;
  /// Both zero where nothing says.
  int64_t dataParallel = 0;
  int64_t worldSize = 0;
  int64_t zeroStage = 0;
  bool sequenceParallel = false;

  // How the step runs.
  RunRecomputation recomputation = RunRecomputation::None;
  /// Of full recomputation: layers between two saved inputs. With `recomputeBlocks`, instead,
  /// the layers of a stage that are recomputed one by one, the others being saved.
  int64_t layersPerCheckpoint = 1;
  bool recomputeBlocks = false;
  /// Whether saved inputs are split over the tensor-parallel devices.
  bool shardedCheckpoints = false;
  bool checkpointsOnHost = false;
  RunGradientReduction gradientReduction = RunGradientReduction::Local;
  bool contiguousGradients = false;
  bool overlapGradientReduction = false;
  /// Elements; zero where the software's own default holds.
  int64_t reduceBucket = 0;
  int64_t gatherBucket = 0;
  RunOffload optimizerOffload = RunOffload::None;
  RunOffload parameterOffload = RunOffload::None;
  /// Whether the software is to look for the micro-batch and the level of ZeRO itself.
  bool autotunes = false;
  /// Whether a tensor between stages is sent in parts, one by each tensor-parallel device.
  bool scatterGatherInPipeline = true;
  bool fusedSoftmax = true;
  bool fusedBiasGelu = true;
  bool fusedBiasDropout = true;
  bool flashAttention = false;

  // The whole of the training. Zero, or nothing, where it is not said.
  int64_t trainIterations = 0;
  int64_t trainSamples = 0;
  double learningRate = 0.0;
  double minLearningRate = 0.0;
  std::string decayStyle = "linear";
  int64_t decayIterations = 0;
  int64_t decaySamples = 0;
  std::optional<double> warmupFraction;
  int64_t warmupIterations = 0;
  int64_t warmupSamples = 0;

  std::optional<RunMeasurements> measured;

  /// Every key of the files, in their order.
  std::vector<KeyFate> fates;
};

/// The next multiple of `multiple * tensorParallel`, to which Megatron pads a vocabulary. Zero
/// for an unknown one.
int64_t padVocabulary(int64_t vocabulary, int64_t multiple, int64_t tensorParallel);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_TRAININGRUN_H
