// Questions whose answers are spans of a text.
#ifndef ST_RUNTIME_DATA_QUESTIONS_H
#define ST_RUNTIME_DATA_QUESTIONS_H

#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/Tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// The questions of a file, and the windows of their texts that samples show.
struct Questions {
  struct Text {
    std::string text;
    std::vector<Token> tokens; ///< never empty
  };
  struct Question {
    std::string id;                   ///< the file's; without one, the question's place in the file
    size_t text = 0;                  ///< index of its text
    std::vector<int32_t> tokens;      ///< at most as many as a row has room for
    int64_t start = -1, end = -1;     ///< tokens of the first answer, inclusive; -1: no answer
    std::vector<std::string> answers; ///< all right answers
    int64_t numWindows = 0;
  };
  struct Window {
    size_t question = 0;
    int64_t begin = 0, end = 0; ///< tokens of the question's text
  };

  std::vector<Text> texts;
  std::vector<Question> questions;
  std::vector<Window> windows;
  uint32_t seed = 0;
  /// Each epoch draws another order of the windows. If false, samples follow the order of
  /// `windows`.
  bool isShuffled = true;

  const Text &textOf(const Window &window) const { return texts[questions[window.question].text]; }

  /// The index of the window that a sample shows.
  size_t windowOf(int64_t sample) const {
    const auto count = static_cast<int64_t>(windows.size());
    return static_cast<size_t>(isShuffled ? permute(seed, sample % count, count, sample / count)
                                          : sample % count);
  }

  /// Orders the windows for an evaluation: questions in an order drawn from the seed, and the
  /// windows of a question in succession, so that an evaluation of a part has all windows of its
  /// questions.
  void orderByQuestion();
};

} // namespace st

#endif // ST_RUNTIME_DATA_QUESTIONS_H
