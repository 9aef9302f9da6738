// How samples are drawn from a text.
#ifndef ST_RUNTIME_DATA_DATAOPTIONS_H
#define ST_RUNTIME_DATA_DATAOPTIONS_H

#include "lib/Runtime/Data/Split.h"

namespace st {

/// Where the second segment of a pair comes from that does not follow the first one.
enum class OtherSegment {
  Elsewhere, ///< from another place of the text, as BERT's
  Swapped    ///< the two are exchanged, as Megatron-LM's
};

struct DataOptions {
  Split split; ///< by documents; of a text that is one document by sentences
  SplitPart part = SplitPart::Train;

  // Of mlm.
  double maskProbability = 0.15;         ///< of a token
  double shortSequenceProbability = 0.1; ///< that a sample aims at a random length
  OtherSegment otherSegment = OtherSegment::Elsewhere;

  // Of clm. A token that closes a document is the tokenizer's end of document.
  bool masksEndOfDocument = false; ///< no loss where such a token is the input
  bool resetsPositions = false; ///< positions count anew behind it; the program reads position_ids
  bool resetsAttention = false; ///< nothing is seen across it; the program reads segment_ids
  bool hasPrefix = false; ///< a prefix of each sample is seen in both directions and has no loss;
                          ///< the program reads prefix_length
};

/// The flag of an option that has another value than usual and no effect on a source that is no
/// text, or on this task; empty: none has.
absl::string_view optionWithoutEffect(const DataOptions &options, bool isText,
                                      absl::string_view task);

} // namespace st

#endif // ST_RUNTIME_DATA_DATAOPTIONS_H
