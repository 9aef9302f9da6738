// The source of a training run's batches.
#ifndef ST_RUNTIME_DATA_BATCHSOURCE_H
#define ST_RUNTIME_DATA_BATCHSOURCE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/Runtime/Data/DataOptions.h"
#include "lib/Runtime/Data/Questions.h"
#include "lib/Runtime/Tokenizers/TokenizerFiles.h"
#include "lib/Support/ElementType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace st {

/// A tensor in host memory, dense and row-major.
struct HostTensor {
  std::string name;
  ElementType type = ElementType::I32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  /// Zeros.
  HostTensor(std::string name, ElementType type, std::vector<int64_t> shape);

  int32_t *ints() { return reinterpret_cast<int32_t *>(bytes.data()); }
  const int32_t *ints() const { return reinterpret_cast<const int32_t *>(bytes.data()); }
};

/// The batch inputs of a step by name: i32, except pixels, which are f32. B is the batch, S the
/// sequence:
///
///   mlm   input_ids, token_type_ids, attention_mask, labels [B,S]; next_sentence_label [B]
///   span  input_ids, token_type_ids, attention_mask [B,S]; start_positions, end_positions [B]
///   clm   input_ids, labels [B,S]
///   seq2seq   input_ids, attention_mask [B,S], labels [B,T]
///   classify  pixel_values [B,channels,height,width], labels [B]; for texts the inputs of an
///             encoder (as mlm) or a decoder (input_ids), labels [B], or f32 [B,labels]
///   classify-tokens  the inputs of an encoder or a decoder, labels [B,S]
///
/// Optional for clm, if the program reads them: position_ids [B,S], segment_ids [B,S] (a position
/// attends only to positions with the same number) and prefix_length [B] (the first prefix_length
/// positions attend to each other in both directions). A label of -100 is ignored. The label of
/// position i in clm is token i + 1, and -100 for the last position; labels of seq2seq are the
/// target's tokens. next_sentence_label is 0 if
/// the second segment follows the first in the text. Sequences are padded on the right, where the
/// attention mask is 0.
using Batch = std::vector<HostTensor>;

/// The batches that a program expects.
struct BatchSpec {
  struct Input {
    std::string name;
    ElementType type = ElementType::I32;
    std::vector<int64_t> shape;
    int64_t limit = 0; ///< values are in [0, limit), a label may also be -100; 0: unknown
  };
  std::string task; ///< "mlm", "span", "clm", "seq2seq", "classify" or "classify-tokens"; for other
                    ///< tasks, batches can only come from a file
  int64_t batch = 0, sequence = 0;
  int64_t vocabulary = 0; ///< number of token ids, or of classes
  std::string configJson;
  TokenizerFiles tokenizerFiles; ///< of the model folder
  uint32_t seed = 0;
  DataOptions options;
  std::vector<Input> inputs;

  /// The input with this name, or null.
  const Input *findInput(absl::string_view name) const;
};

/// The number of batches that `samples` fill; the last batch may repeat samples.
inline int64_t batchesFor(int64_t samples, int64_t batch) { return (samples + batch - 1) / batch; }

class BatchSource {
public:
  virtual ~BatchSource() = default;

  /// Batch `index`, counted from 0: a pure function of the source's files, its seed and the index,
  /// so that a resumed run sees the same batches.
  virtual absl::StatusOr<Batch> batch(int64_t index) const = 0;

  /// The number n of batches for which batches 0 to n - 1 contain every sample of the data; 0 if
  /// samples are drawn independently.
  virtual int64_t numBatches() const { return 0; }

  /// The questions of the samples, or null. Row r of batch i is sample i * B + r.
  virtual const Questions *questions() const { return nullptr; }
};

/// Opens the value of --data: "synthetic", "text:FILE", "jsonl:FILE", "squad:FILE",
/// "megatron:PREFIX" or the path of a safetensors file. Errors are one line.
absl::StatusOr<std::unique_ptr<BatchSource>> createBatchSource(const std::string &data,
                                                               const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_BATCHSOURCE_H
