// Options for drawing samples from a text.
#ifndef ST_RUNTIME_DATA_DATAOPTIONS_H
#define ST_RUNTIME_DATA_DATAOPTIONS_H

#include "lib/Runtime/Data/Split.h"

namespace st {

/// The origin of a second segment that does not follow the first one.
enum class OtherSegment {
  Elsewhere, ///< from another place in the text, as in BERT
  Swapped    ///< the two segments are exchanged, as in Megatron-LM
};

struct DataOptions {
  Split split; ///< by documents; by sentences if the text is a single document
  SplitPart part = SplitPart::Train;
  bool isEvaluation = false; ///< keeps the windows of a question together

  // For mlm only.
  double maskProbability = 0.15;         ///< of a token
  double shortSequenceProbability = 0.1; ///< that a sample aims at a random length
  OtherSegment otherSegment = OtherSegment::Elsewhere;

  // For clm. Documents end with the tokenizer's end-of-document token.
  bool masksEndOfDocument = false; ///< no loss where that token is the input
  bool resetsPositions = false;    ///< positions restart after it; the program reads position_ids
  bool resetsAttention = false;    ///< attention does not cross it; the program reads segment_ids
  bool hasPrefix = false; ///< the prefix of each sample attends in both directions and has no loss;
                          ///< the program reads prefix_length
};

/// The flag of an option that is set but has no effect on a source that is not text, or on this
/// task; empty if there is none.
absl::string_view optionWithoutEffect(const DataOptions &options, bool isText,
                                      absl::string_view task);

} // namespace st

#endif // ST_RUNTIME_DATA_DATAOPTIONS_H
