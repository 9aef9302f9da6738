#include "lib/Runtime/Data/Questions.h"

#include <utility>

namespace st {

void Questions::orderByQuestion() {
  // The windows of a question are in succession.
  std::vector<size_t> first(questions.size());
  for (size_t i = windows.size(); i-- > 0;)
    first[windows[i].question] = i;
  std::vector<Window> ordered;
  ordered.reserve(windows.size());
  const auto count = static_cast<int64_t>(questions.size());
  for (int64_t i = 0; i < count; ++i) {
    const auto question = static_cast<size_t>(permute(seed, i, count, /*pass=*/0));
    const auto begin = windows.begin() + static_cast<int64_t>(first[question]);
    ordered.insert(ordered.end(), begin, begin + questions[question].numWindows);
  }
  windows = std::move(ordered);
  isShuffled = false;
}

} // namespace st
