// Reads lines with texts and their classes, and describes the rows to build from them.
#ifndef ST_RUNTIME_DATA_SOURCES_CLASSLINES_H
#define ST_RUNTIME_DATA_SOURCES_CLASSLINES_H

#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/TaskBatch.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

constexpr auto kNoLabel = static_cast<float>(kIgnoredLabel);

/// The inputs of a program that classifies texts or tokens.
struct ClassRows {
  bool isEncoder = false;  ///< it reads an attention mask
  bool hasTypes = false;   ///< it reads types of tokens
  bool ofTokens = false;   ///< each token has a label
  bool areNumbers = false; ///< labels are numbers instead of classes
  int64_t classes = 0, sequence = 0;
  size_t numLabels = 1; ///< of a row

  /// An error if the program's inputs are none of these.
  static absl::StatusOr<ClassRows> of(const BatchSpec &spec);

  /// Number of text tokens that fit together with the special tokens of an encoder.
  int64_t room(bool isPair) const {
    return isEncoder ? sequence - (isPair ? kPairOverhead : kPairOverhead - 1) : sequence;
  }
};

/// A line of a file.
struct ClassLine {
  std::string text, pair; ///< words are joined by spaces
  bool hasPair = false;
  std::vector<size_t> ends;  ///< of the words in the text
  std::vector<float> labels; ///< of the row, or of each word: kNoLabel or a class
};

/// Reads a file of JSON lines as createJsonLinesClasses describes them.
absl::StatusOr<std::vector<ClassLine>> readClassLines(const std::string &path,
                                                      const BatchSpec &spec, const ClassRows &rows);

} // namespace st

#endif // ST_RUNTIME_DATA_SOURCES_CLASSLINES_H
