#include "lib/Runtime/Data/Sources/SquadSource.h"
#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/TaskBatch.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace st {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;

// Parsed JSON takes about fifty times its size.
constexpr uint64_t kLargestFile = uint64_t{1} << 28;
constexpr int64_t kLongestQuestion = 64;
constexpr int64_t kStride = 128;

struct Question {
  size_t context = 0;
  std::vector<int32_t> tokens;
  int64_t start = -1, end = -1; // tokens of the context, inclusive; -1: no answer
};

struct Window {
  size_t question = 0;
  int64_t begin = 0, end = 0; // tokens of the context
};

class SquadSource : public BatchSource {
public:
  SquadSource(const std::string &path, const BatchSpec &spec, std::unique_ptr<Tokenizer> tokenizer)
      : path(path), spec(spec), tokenizer(std::move(tokenizer)) {}

  absl::Status read();
  absl::StatusOr<Batch> batch(int64_t index) const override;

private:
  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", place, what));
  }
  absl::StatusOr<const Value *> field(const Struct &object, const std::string &name,
                                      Value::KindCase kind) const;
  absl::StatusOr<const ListValue *> list(const Struct &object, const std::string &name) const;
  absl::StatusOr<const std::string *> string(const Struct &object, const std::string &name) const;
  absl::Status readParagraph(const Struct &paragraph);
  absl::Status readQuestion(const Struct &entry, const std::string &context,
                            const std::vector<Token> &tokens);
  absl::Status readAnswer(const Struct &answer, const std::string &context,
                          const std::vector<Token> &tokens, Question &question) const;
  void addWindows(size_t question);
  void fillRow(TaskBatch &batch, int64_t row, const Window &window) const;

  std::string path;
  std::string place; ///< the current place in the file, for errors
  BatchSpec spec;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::vector<int32_t>> contexts;
  std::vector<Question> questions;
  std::vector<Window> windows;
};

absl::StatusOr<const Value *> SquadSource::field(const Struct &object, const std::string &name,
                                                 Value::KindCase kind) const {
  const Value *value = findField(object, name);
  if (!value || value->kind_case() != kind)
    return error(absl::StrCat("not SQuAD 1.1: ", value ? "a wrong" : "no", " \"", name, "\""));
  return value;
}

absl::StatusOr<const ListValue *> SquadSource::list(const Struct &object,
                                                    const std::string &name) const {
  ST_ASSIGN_OR_RETURN(const Value *value, field(object, name, Value::kListValue));
  for (const Value &element : value->list_value().values())
    if (!element.has_struct_value())
      return error(absl::StrCat("not SQuAD 1.1: an entry of \"", name, "\" is not an object"));
  return &value->list_value();
}

absl::StatusOr<const std::string *> SquadSource::string(const Struct &object,
                                                        const std::string &name) const {
  ST_ASSIGN_OR_RETURN(const Value *value, field(object, name, Value::kStringValue));
  return &value->string_value();
}

absl::Status SquadSource::read() {
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestFile));
  ST_ASSIGN_OR_RETURN(Struct root, parseJsonObject(text, path));
  ST_ASSIGN_OR_RETURN(const ListValue *articles, list(root, "data"));
  for (int i = 0; i < articles->values_size(); ++i) {
    place = absl::StrCat("data[", i, "]: ");
    ST_ASSIGN_OR_RETURN(const ListValue *paragraphs,
                        list(articles->values(i).struct_value(), "paragraphs"));
    for (int k = 0; k < paragraphs->values_size(); ++k) {
      place = absl::StrCat("data[", i, "].paragraphs[", k, "]: ");
      ST_RETURN_IF_ERROR(readParagraph(paragraphs->values(k).struct_value()));
    }
  }
  place.clear();
  if (windows.empty())
    return error("no questions");
  return absl::OkStatus();
}

absl::Status SquadSource::readParagraph(const Struct &paragraph) {
  ST_ASSIGN_OR_RETURN(const std::string *context, string(paragraph, "context"));
  ST_ASSIGN_OR_RETURN(const ListValue *entries, list(paragraph, "qas"));
  std::vector<Token> tokens;
  ST_RETURN_IF_ERROR(tokenizer->encode(*context, tokens));
  if (tokens.empty())
    return entries->values().empty() ? absl::OkStatus() : error("an empty context");
  contexts.emplace_back();
  for (const Token &token : tokens)
    contexts.back().push_back(token.id);
  const std::string inParagraph(absl::StripSuffix(place, ": "));
  for (int i = 0; i < entries->values_size(); ++i) {
    place = absl::StrCat(inParagraph, ".qas[", i, "]: ");
    ST_RETURN_IF_ERROR(readQuestion(entries->values(i).struct_value(), *context, tokens));
  }
  return absl::OkStatus();
}

absl::Status SquadSource::readQuestion(const Struct &entry, const std::string &context,
                                       const std::vector<Token> &tokens) {
  ST_ASSIGN_OR_RETURN(const std::string *text, string(entry, "question"));
  ST_ASSIGN_OR_RETURN(const ListValue *answers, list(entry, "answers"));
  Question question;
  question.context = contexts.size() - 1;
  std::vector<Token> encoded;
  ST_RETURN_IF_ERROR(tokenizer->encode(*text, encoded));
  const int64_t most = std::min(kLongestQuestion, (spec.sequence - kPairOverhead) / 2);
  encoded.resize(std::min(encoded.size(), static_cast<size_t>(most)));
  for (const Token &token : encoded)
    question.tokens.push_back(token.id);
  if (!answers->values().empty())
    ST_RETURN_IF_ERROR(readAnswer(answers->values(0).struct_value(), context, tokens, question));
  questions.push_back(std::move(question));
  addWindows(questions.size() - 1);
  return absl::OkStatus();
}

// Finds the tokens that overlap the answer, whose position the file gives in characters.
absl::Status SquadSource::readAnswer(const Struct &answer, const std::string &context,
                                     const std::vector<Token> &tokens, Question &question) const {
  ST_ASSIGN_OR_RETURN(const std::string *text, string(answer, "text"));
  ST_ASSIGN_OR_RETURN(const Value *place, field(answer, "answer_start", Value::kNumberValue));
  size_t begin = 0;
  for (double i = 0; i < place->number_value() && begin < context.size(); ++i)
    decodeUtf8(context, begin);
  const size_t end = begin + text->size();
  if (text->empty() || std::trunc(place->number_value()) != place->number_value() ||
      place->number_value() < 0 || context.compare(begin, text->size(), *text) != 0)
    return error(absl::StrCat("the answer at character ", place->number_value(),
                              " differs from the context there"));
  for (int64_t i = 0; i < static_cast<int64_t>(tokens.size()); ++i) {
    if (tokens[i].end <= begin || tokens[i].begin >= end)
      continue;
    question.start = question.start < 0 ? i : question.start;
    question.end = i;
  }
  return absl::OkStatus();
}

void SquadSource::addWindows(size_t index) {
  const Question &question = questions[index];
  const int64_t length = static_cast<int64_t>(contexts[question.context].size());
  const int64_t room = spec.sequence - kPairOverhead - static_cast<int64_t>(question.tokens.size());
  const int64_t stride = std::min(kStride, std::max<int64_t>(1, room / 2));
  for (int64_t begin = 0;; begin += stride) {
    windows.push_back({index, begin, std::min(begin + room, length)});
    if (begin + room >= length)
      return;
  }
}

void SquadSource::fillRow(TaskBatch &batch, int64_t row, const Window &window) const {
  const Question &question = questions[window.question];
  absl::Span<const int32_t> context = contexts[question.context];
  batch.setPair(row, question.tokens, context.subspan(window.begin, window.end - window.begin));
  if (question.start < window.begin || question.end >= window.end)
    return;
  // After [CLS], the question and [SEP].
  const int64_t shift = 2 + static_cast<int64_t>(question.tokens.size()) - window.begin;
  batch.row("start_positions", row)[0] = static_cast<int32_t>(question.start + shift);
  batch.row("end_positions", row)[0] = static_cast<int32_t>(question.end + shift);
}

absl::StatusOr<Batch> SquadSource::batch(int64_t index) const {
  TaskBatch batch(spec, tokenizer->ids());
  const int64_t count = static_cast<int64_t>(windows.size());
  for (int64_t row = 0; row < spec.batch; ++row) {
    const int64_t example = index * spec.batch + row;
    fillRow(batch, row, windows[permute(spec.seed, example % count, count, example / count)]);
  }
  return batch.take();
}

} // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> createSquadSource(const std::string &path,
                                                               const BatchSpec &spec) {
  if (spec.task != "span")
    return absl::InvalidArgumentError(
        absl::StrCat("--data=squad:", path,
                     ": supports only the task span; this program's task is ", spec.task));
  ST_RETURN_IF_ERROR(checkSequenceLength(spec));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
  auto source = std::make_unique<SquadSource>(path, spec, std::move(tokenizer));
  ST_RETURN_IF_ERROR(source->read());
  return source;
}

} // namespace st
