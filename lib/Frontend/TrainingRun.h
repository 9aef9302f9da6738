//===- TrainingRun.h - A training run as other software describes it ------===//
//
// A run described by a Megatron command line, a Megatron log or a DeepSpeed configuration: the
// model, its layout, its step, and the measurements of a log.
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
  /// Layer normalisation before each block, and a binary head besides that of the masked tokens.
  MegatronBert,
  MegatronGpt
};
enum class RunPrecision { F32, F16, BF16 };
enum class RunRecomputation {
  None,
  /// Only the attention scores and the ops after them up to the context.
  Selective,
  /// Full layers, from their inputs.
  Full
};
enum class RunPositions { Learned, Rotary, Relative, None };
/// The reduction of replicas' gradients: after the last micro-batch (Megatron's "local"), or in
/// buckets during its backward pass.
enum class RunGradientReduction { Local, Torch };
enum class RunOffload { None, Host, Disk };

StringRef stringify(RunFamily family);
StringRef stringify(RunPrecision precision);
StringRef stringify(RunRecomputation recomputation);
StringRef stringify(RunPositions positions);
StringRef stringify(RunGradientReduction reduction);
StringRef stringify(RunOffload offload);

/// The tokens over which a mixture of experts is balanced.
enum class RunBalance { None, MicroBatch, Sequence };

/// A mixture of experts instead of MLPs, as in Megatron-LM.
struct RunExperts {
  /// The number of experts of a layer; zero if there are none.
  int64_t count = 0;
  int64_t perToken = 2;
  int64_t ffnHidden = 0;
  /// The hidden size of the expert for all tokens; zero if there is none.
  int64_t sharedFfnHidden = 0;
  /// Layers 0, n, 2n, ... have experts.
  int64_t layerStep = 1;
  /// True if the weights of a token's experts are probabilities among all experts, so that they do
  /// not add up to 1.
  bool softmaxBeforeChoice = false;
  RunBalance balance = RunBalance::None;
  double balanceCoefficient = 0.0;
  double zCoefficient = 0.0;
};

/// The treatment of a given key. A rejected key is an error, so a run that was read has none.
struct KeyStatus {
  enum Status { Honoured, NoEffect } status;
  std::string key;
  /// The reason why the key has no effect on the plan, or its interpretation; empty if the value
  /// was taken literally.
  std::string reason;
  /// Its line in the file; 0 if none.
  unsigned line = 0;
};

/// The reason for a key whose value is "auto" or null.
constexpr char kLeftToTheRun[] = "left to the arguments of the run";

/// Measurements in the log of a run. Times in milliseconds, memory in MiB per device.
struct RunMeasurements {
  /// By the log's names: means over the iterations of a report, for the slowest rank.
  std::map<std::string, double> timers;
  std::optional<double> perIteration;
  std::optional<double> perSample;
  /// Minimum and maximum over the devices in the log.
  std::optional<double> memoryMin, memoryMax;
  std::optional<double> memoryCapacity;
};

/// A run. Sizes are positive, probabilities in [0, 1]; an unknown size is zero if its comment says
/// so.
struct TrainingRun {
  /// The source, for messages.
  std::string path;

  // The model.
  RunFamily family = RunFamily::MegatronGpt;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  /// Per head.
  int64_t headSize = 0;
  /// Heads of keys and values; `heads` unless queries share them.
  int64_t keyValueHeads = 0;
  int64_t ffnHidden = 0;
  int64_t sequence = 0;
  int64_t maxPositions = 0;
  /// Tokens before and after padding; both zero if unknown.
  int64_t vocabulary = 0;
  int64_t paddedVocabulary = 0;
  int64_t vocabularyMultiple = 128;
  double attentionDropout = 0.1;
  double hiddenDropout = 0.1;
  bool binaryHead = true;
  /// True if the inner layers are gated by a SiLU (or, with `quickGeglu`, a sigmoid GELU) instead
  /// of a GELU between two products.
  bool swiglu = false;
  bool quickGeglu = false;
  bool squaredRelu = false;
  /// The GELU with a hyperbolic tangent, whether fused or not.
  bool openaiGelu = false;
  bool rmsNorm = false;
  /// Weights of norms are stored minus one.
  bool normsLessOne = false;
  bool linearBias = true;
  /// Queries, keys and values have a bias; `linearBias` includes it.
  bool qkvBias = false;
  /// Heads of queries and keys have norms.
  bool headNorms = false;
  bool untiedEmbeddings = false;
  RunPositions positions = RunPositions::Learned;
  double rotaryBase = 10000.0;
  double rotaryPart = 1.0;
  /// The factor by which positions are divided; zero: none.
  double rotaryInterpolation = 0.0;
  /// The factor of Llama 3.1's longer waves; zero if they have the same length as other sequences.
  double rotaryScaling = 0.0;
  RunExperts experts;

  // Numbers.
  RunPrecision precision = RunPrecision::F32;
  /// The type in which replicas sum their gradients.
  RunPrecision reduceType = RunPrecision::F32;
  bool crossEntropyInF16 = false;
  std::string optimizer = "adam";
  /// The maximum norm of gradients; zero for no clipping.
  double clip = 1.0;

  // The step.
  int64_t microBatch = 0;
  /// Samples per step over all replicas; zero if unknown.
  int64_t globalBatch = 0;
  /// Micro-batches per step and replica; zero if unknown.
  int64_t accumulation = 0;

  // The layout.
  int64_t tensorParallel = 1;
  int64_t pipelineParallel = 1;
  /// Parts of the model per pipeline stage; above one: interleaved.
  int64_t virtualStages = 1;
  /// Both zero if unknown.
  int64_t dataParallel = 0;
  int64_t worldSize = 0;
  int64_t zeroStage = 0;
  /// Devices that share a sequence, and replicas that share experts.
  int64_t contextParallel = 1;
  int64_t expertParallel = 1;
  bool sequenceParallel = false;

  // The execution of the step.
  RunRecomputation recomputation = RunRecomputation::None;
  /// For full recomputation: layers between two saved inputs. With `recomputeBlocks`, instead, the
  /// layers per stage that are recomputed one by one; the others are saved.
  int64_t layersPerCheckpoint = 1;
  bool recomputeBlocks = false;
  /// True if saved inputs are sharded over the tensor-parallel devices.
  bool shardedCheckpoints = false;
  bool checkpointsOnHost = false;
  RunGradientReduction gradientReduction = RunGradientReduction::Local;
  bool contiguousGradients = false;
  bool overlapGradientReduction = false;
  /// Elements; zero for the software's default.
  int64_t reduceBucket = 0;
  int64_t gatherBucket = 0;
  RunOffload optimizerOffload = RunOffload::None;
  RunOffload parameterOffload = RunOffload::None;
  /// True if the software chooses the micro-batch and the ZeRO level.
  bool autotunes = false;
  /// True if each tensor-parallel device sends a part of a tensor between stages.
  bool scatterGatherInPipeline = true;
  bool fusedSoftmax = true;
  bool fusedBiasGelu = true;
  bool fusedBiasDropout = true;
  bool flashAttention = false;

  // The full training. Zero or absent if unknown.
  int64_t trainIterations = 0;
  int64_t trainSamples = 0;
  double learningRate = 0.0;
  double minLearningRate = 0.0;
  std::string decayStyle = "linear";
  int64_t decayIterations = 0;
  int64_t decaySamples = 0;
  /// With the decay style WSD: the decay at its end, and its length in iterations or samples.
  std::string stableDecayStyle = "exponential";
  int64_t stableDecayIterations = 0;
  int64_t stableDecaySamples = 0;
  std::optional<double> warmupFraction;
  int64_t warmupIterations = 0;
  int64_t warmupSamples = 0;

  std::optional<RunMeasurements> measured;

  /// Every key of the files, in order.
  std::vector<KeyStatus> keys;
};

/// The next multiple of `multiple * tensorParallel`, to which Megatron pads a vocabulary. Zero
/// for an unknown one.
int64_t padVocabulary(int64_t vocabulary, int64_t multiple, int64_t tensorParallel);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_TRAININGRUN_H
