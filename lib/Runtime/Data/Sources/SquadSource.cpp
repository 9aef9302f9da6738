#include "lib/Runtime/Data/Sources/SquadSource.h"
#include "lib/Runtime/Data/Corpus.h"
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

class SquadSource : public BatchSource {
public:
  SquadSource(const std::string &path, const BatchSpec &spec, std::unique_ptr<Tokenizer> tokenizer)
      : path(path), spec(spec), tokenizer(std::move(tokenizer)) {
    asked.seed = spec.seed;
  }

  absl::Status read();
  absl::StatusOr<Batch> batch(int64_t index) const override;
  int64_t numBatches() const override {
    return batchesFor(static_cast<int64_t>(asked.windows.size()), spec.batch);
  }
  const Questions *questions() const override { return &asked; }

private:
  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", place, what));
  }
  absl::StatusOr<const Value *> field(const Struct &object, const std::string &name,
                                      Value::KindCase kind) const;
  absl::StatusOr<const ListValue *> list(const Struct &object, const std::string &name) const;
  absl::StatusOr<const std::string *> string(const Struct &object, const std::string &name) const;
  absl::Status readParagraph(const Struct &paragraph);
  absl::Status readQuestion(const Struct &entry);
  absl::Status readAnswers(const ListValue &answers, Questions::Question &question) const;
  absl::Status locateAnswer(const Struct &answer, const Questions::Text &context,
                            Questions::Question &question) const;
  void addWindows(size_t index);
  void fillRow(TaskBatch &batch, int64_t row, const Questions::Window &window) const;

  std::string path;
  std::string place; ///< the current place in the file, for errors
  BatchSpec spec;
  std::unique_ptr<Tokenizer> tokenizer;
  Questions asked;
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
  if (asked.windows.empty())
    return error("no questions");
  if (spec.options.isEvaluation)
    asked.orderByQuestion();
  return absl::OkStatus();
}

absl::Status SquadSource::readParagraph(const Struct &paragraph) {
  ST_ASSIGN_OR_RETURN(const std::string *context, string(paragraph, "context"));
  ST_ASSIGN_OR_RETURN(const ListValue *entries, list(paragraph, "qas"));
  std::vector<Token> tokens;
  ST_RETURN_IF_ERROR(tokenizer->encode(*context, tokens));
  if (tokens.empty())
    return entries->values().empty() ? absl::OkStatus() : error("an empty context");
  asked.texts.push_back({*context, std::move(tokens)});
  const std::string inParagraph(absl::StripSuffix(place, ": "));
  for (int i = 0; i < entries->values_size(); ++i) {
    place = absl::StrCat(inParagraph, ".qas[", i, "]: ");
    ST_RETURN_IF_ERROR(readQuestion(entries->values(i).struct_value()));
  }
  return absl::OkStatus();
}

absl::Status SquadSource::readQuestion(const Struct &entry) {
  ST_ASSIGN_OR_RETURN(const std::string *text, string(entry, "question"));
  ST_ASSIGN_OR_RETURN(const ListValue *answers, list(entry, "answers"));
  Questions::Question question;
  const Value *id = findField(entry, "id");
  question.id = id && id->kind_case() == Value::kStringValue
                    ? id->string_value()
                    : std::string(absl::StripSuffix(place, ": "));
  question.text = asked.texts.size() - 1;
  std::vector<Token> encoded;
  ST_RETURN_IF_ERROR(tokenizer->encode(*text, encoded));
  const int64_t maximum = std::min(kLongestQuestion, (spec.sequence - kPairOverhead) / 2);
  encoded.resize(std::min(encoded.size(), static_cast<size_t>(maximum)));
  question.tokens = idsOf(encoded);
  ST_RETURN_IF_ERROR(readAnswers(*answers, question));
  asked.questions.push_back(std::move(question));
  addWindows(asked.questions.size() - 1);
  return absl::OkStatus();
}

absl::Status SquadSource::readAnswers(const ListValue &answers,
                                      Questions::Question &question) const {
  for (const Value &answer : answers.values()) {
    ST_ASSIGN_OR_RETURN(const std::string *text, string(answer.struct_value(), "text"));
    question.answers.push_back(*text);
  }
  if (answers.values().empty())
    return absl::OkStatus();
  return locateAnswer(answers.values(0).struct_value(), asked.texts.back(), question);
}

// Finds the tokens that overlap the answer, whose position the file gives in characters.
absl::Status SquadSource::locateAnswer(const Struct &answer, const Questions::Text &context,
                                       Questions::Question &question) const {
  const std::string &text = question.answers.front();
  ST_ASSIGN_OR_RETURN(const Value *place, field(answer, "answer_start", Value::kNumberValue));
  size_t begin = 0;
  for (double i = 0; i < place->number_value() && begin < context.text.size(); ++i)
    decodeUtf8(context.text, begin);
  const size_t end = begin + text.size();
  if (text.empty() || std::trunc(place->number_value()) != place->number_value() ||
      place->number_value() < 0 || context.text.compare(begin, text.size(), text) != 0)
    return error(absl::StrCat("the answer at character ", place->number_value(),
                              " differs from the context there"));
  for (int64_t i = 0; i < static_cast<int64_t>(context.tokens.size()); ++i) {
    if (context.tokens[i].end <= begin || context.tokens[i].begin >= end)
      continue;
    question.start = question.start < 0 ? i : question.start;
    question.end = i;
  }
  return absl::OkStatus();
}

void SquadSource::addWindows(size_t index) {
  Questions::Question &question = asked.questions[index];
  const int64_t length = static_cast<int64_t>(asked.texts[question.text].tokens.size());
  const int64_t room = spec.sequence - kPairOverhead - static_cast<int64_t>(question.tokens.size());
  const int64_t stride = std::min(kStride, std::max<int64_t>(1, room / 2));
  for (int64_t begin = 0;; begin += stride) {
    asked.windows.push_back({index, begin, std::min(begin + room, length)});
    ++question.numWindows;
    if (begin + room >= length)
      return;
  }
}

void SquadSource::fillRow(TaskBatch &batch, int64_t row, const Questions::Window &window) const {
  const Questions::Question &question = asked.questions[window.question];
  const absl::Span<const Token> context = asked.textOf(window).tokens;
  batch.setPair(row, question.tokens,
                idsOf(context.subspan(window.begin, window.end - window.begin)));
  if (question.start < window.begin || question.end >= window.end)
    return;
  const int64_t shift = positionOfSecond(question.tokens.size()) - window.begin;
  batch.row("start_positions", row)[0] = static_cast<int32_t>(question.start + shift);
  batch.row("end_positions", row)[0] = static_cast<int32_t>(question.end + shift);
}

absl::StatusOr<Batch> SquadSource::batch(int64_t index) const {
  TaskBatch batch(spec, tokenizer->ids());
  for (int64_t row = 0; row < spec.batch; ++row)
    fillRow(batch, row, asked.windows[asked.windowOf(index * spec.batch + row)]);
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
