#include "tools/st-runner/FlagFile.h"

#include "lib/Runtime/Training/Trainer.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <utility>

namespace st {
namespace {

constexpr size_t kMaxFlagBytes = size_t(1) << 20;
constexpr size_t kMaxLogBytes = size_t(1) << 30;

absl::StatusOr<std::string> readFile(const std::string &path, size_t limit) {
  absl::StatusOr<std::string> text = readInputFile(path, limit);
  if (!text.ok())
    return absl::Status(text.status().code(),
                        absl::StrCat(path, ": cannot read: ", text.status().message()));
  return text;
}

class FlagSplitter {
public:
  FlagSplitter(absl::string_view text, const std::string &path) : text(text), path(path) {}

  absl::StatusOr<std::vector<FlagWord>> run() {
    while (at < text.size()) {
      const char c = text[at];
      if (quote != 0 || !(absl::ascii_isspace(c) || (c == '#' && !isInWord))) {
        take(c);
        continue;
      }
      endWord();
      if (c == '#')
        at = std::min(text.find('\n', at), text.size());
      else
        advance();
    }
    if (quote != 0)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", words.back().line, ": a quote is not closed"));
    return std::move(words);
  }

private:
  void advance() {
    if (text[at] == '\n')
      ++line;
    ++at;
  }
  void endWord() { isInWord = false; }
  void take(char c) {
    // As in shells.
    if (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n') {
      advance();
      advance();
      return;
    }
    if (!isInWord)
      words.push_back({"", line});
    isInWord = true;
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else
      words.back().text += c;
    advance();
  }

  absl::string_view text;
  const std::string &path;
  std::vector<FlagWord> words;
  size_t at = 0;
  int line = 1;
  bool isInWord = false;
  char quote = 0;
};

// "--name=value  # source"
absl::Status readFlag(absl::string_view line, int number, const std::string &path,
                      LoggedConfiguration &logged) {
  ST_ASSIGN_OR_RETURN(const std::vector<FlagWord> words, splitFlags(line, path));
  absl::string_view word = words.empty() ? "" : absl::string_view(words[0].text);
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(word, absl::MaxSplits('=', 1));
  const size_t comment = line.rfind("# ");
  if (words.size() != 1 || !absl::StrContains(word, '=') || comment == absl::string_view::npos)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", number, ": expected --NAME=VALUE # SOURCE, found \"", line, "\""));
  logged.flags.push_back({std::string(absl::StripPrefix(parts.first, "--")),
                          std::string(parts.second), std::string(line.substr(comment + 2)),
                          number});
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::vector<FlagWord>> splitFlags(absl::string_view text, const std::string &path) {
  return FlagSplitter(text, path).run();
}

absl::StatusOr<std::vector<FlagWord>> readFlagFile(const std::string &path) {
  ST_ASSIGN_OR_RETURN(const std::string text, readFile(path, kMaxFlagBytes));
  return splitFlags(text, path);
}

absl::StatusOr<LoggedConfiguration> readLoggedConfiguration(const std::string &path) {
  ST_ASSIGN_OR_RETURN(const std::string text, readFile(path, kMaxLogBytes));
  LoggedConfiguration logged;
  bool isInside = false, isThere = false;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line == kConfigurationBegin) {
      logged = LoggedConfiguration();
      isInside = isThere = true;
    } else if (line == kConfigurationEnd) {
      isInside = false;
    } else if (isInside && absl::StartsWith(line, "--")) {
      ST_RETURN_IF_ERROR(readFlag(line, number, path, logged));
    } else if (isInside && absl::ConsumePrefix(&line, "# resumed ")) {
      logged.resumed = std::string(line);
    } else if (isInside && absl::ConsumePrefix(&line, "# seed ")) {
      logged.seed = std::string(line.substr(0, line.find(',')));
    } else if (isInside && absl::ConsumePrefix(&line, "# ")) {
      logged.facts.emplace_back(line);
    }
  }
  if (!isThere || isInside)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has no ", isThere ? "complete " : "",
                     "run configuration; expected the progress (standard error) of a run, which "
                     "begins with it"));
  return logged;
}

} // namespace st
