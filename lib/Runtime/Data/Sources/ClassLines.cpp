#include "lib/Runtime/Data/Sources/ClassLines.h"

#include "lib/Runtime/Json.h"
#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <utility>

namespace st {
namespace {

constexpr uint64_t kLargestFile = uint64_t{1} << 30;

class LineReader {
public:
  LineReader(const BatchSpec &spec, const ClassRows &rows) : rows(rows) {
    if (absl::StatusOr<nlohmann::json> config = parseJsonText(spec.configJson, "config");
        config.ok() && config->contains("label2id"))
      names = (*config)["label2id"];
  }

  absl::StatusOr<std::vector<ClassLine>> read(const std::string &path) const {
    ST_ASSIGN_OR_RETURN(const std::string file, readFile(path, kLargestFile));
    std::vector<ClassLine> lines;
    int64_t number = 0;
    for (absl::string_view text : absl::StrSplit(file, '\n')) {
      const std::string place = absl::StrCat(path, ":", ++number);
      if (absl::StripAsciiWhitespace(text).empty())
        continue;
      ST_ASSIGN_OR_RETURN(nlohmann::json entry, parseJsonText(text, place));
      const JsonNode node(entry, place);
      ST_ASSIGN_OR_RETURN(ClassLine line, rows.ofTokens ? readWords(node) : readText(node));
      lines.push_back(std::move(line));
    }
    if (lines.empty())
      return absl::InvalidArgumentError(absl::StrCat(path, ": no samples"));
    return lines;
  }

private:
  absl::StatusOr<ClassLine> readText(const JsonNode &node) const {
    ClassLine line;
    ST_ASSIGN_OR_RETURN(const JsonNode text, node.at("text"));
    ST_ASSIGN_OR_RETURN(line.text, text.text());
    line.hasPair = node.has("text_pair");
    if (line.hasPair && !rows.hasTypes)
      return node.error("\"text_pair\": this model has no token types to distinguish two texts");
    ST_ASSIGN_OR_RETURN(line.pair, node.text("text_pair", ""));
    ST_ASSIGN_OR_RETURN(const JsonNode label, node.at("label"));
    ST_ASSIGN_OR_RETURN(line.labels, readLabels(label));
    return line;
  }

  absl::StatusOr<ClassLine> readWords(const JsonNode &node) const {
    ST_ASSIGN_OR_RETURN(const JsonNode words, node.at("words"));
    ST_ASSIGN_OR_RETURN(const JsonNode labels, node.at("labels"));
    ST_RETURN_IF_ERROR(words.expectArray());
    ST_RETURN_IF_ERROR(labels.expectArray());
    const size_t count = words.json().size();
    if (count != labels.json().size())
      return node.error(absl::StrCat(count, " words have ", labels.json().size(), " labels"));
    ClassLine line;
    for (size_t i = 0; i < count; ++i) {
      ST_ASSIGN_OR_RETURN(const std::string word, words.element(i).text());
      absl::StrAppend(&line.text, i ? " " : "", word);
      line.ends.push_back(line.text.size());
      line.labels.push_back(kNoLabel);
      if (labels.element(i).isNull())
        continue;
      ST_ASSIGN_OR_RETURN(line.labels.back(), readClass(labels.element(i)));
    }
    return line;
  }

  absl::StatusOr<std::vector<float>> readLabels(const JsonNode &label) const {
    if (!rows.areNumbers) {
      ST_ASSIGN_OR_RETURN(const float number, readClass(label));
      return std::vector<float>{number};
    }
    std::vector<float> labels;
    const bool isOne = rows.numLabels == 1 && !label.json().is_array();
    if (!isOne)
      ST_RETURN_IF_ERROR(label.expectArray());
    for (size_t i = 0; i < (isOne ? 1 : label.json().size()); ++i) {
      ST_ASSIGN_OR_RETURN(const double number, isOne ? label.number() : label.element(i).number());
      labels.push_back(static_cast<float>(number));
    }
    if (labels.size() != rows.numLabels)
      return label.error(
          absl::StrCat("expected ", rows.numLabels, " numbers, found ", labels.size()));
    return labels;
  }

  absl::StatusOr<float> readClass(const JsonNode &label) const {
    const nlohmann::json *value = &label.json();
    if (value->is_string()) {
      const auto found = names.find(value->get<std::string>());
      if (!names.is_object() || found == names.end())
        return label.error(absl::StrCat("\"label2id\" of the model's config.json has no label ",
                                        quoteForMessage(value->get<std::string>())));
      value = &*found;
    }
    if (!value->is_number_integer() || value->get<double>() < 0 ||
        value->get<double>() >= static_cast<double>(rows.classes))
      return label.error(
          absl::StrCat("expected the name of a label, or a number from 0 to ", rows.classes - 1));
    return static_cast<float>(value->get<int64_t>());
  }

  const ClassRows &rows;
  nlohmann::json names; // of the classes: their numbers
};

} // namespace

absl::StatusOr<ClassRows> ClassRows::of(const BatchSpec &spec) {
  const BatchSpec::Input *labels = spec.findInput("labels");
  const std::vector<int64_t> shape = {spec.batch, spec.sequence};
  ClassRows rows;
  rows.isEncoder = spec.findInput("attention_mask");
  rows.hasTypes = spec.findInput("token_type_ids");
  rows.ofTokens = spec.task == "classify-tokens";
  rows.sequence = spec.sequence;
  for (const BatchSpec::Input &input : spec.inputs)
    if (&input != labels && (input.type != ElementType::I32 || input.shape != shape))
      return absl::InvalidArgumentError(absl::StrCat("invalid training program: the input \"",
                                                     input.name, "\" is not i32 [B,S]"));
  const bool isKnown = labels && !labels->shape.empty() && labels->shape[0] == spec.batch &&
                       (rows.ofTokens ? labels->shape == shape : labels->shape.size() <= 2) &&
                       (labels->type == ElementType::F32 || labels->limit > 0);
  if (!isKnown)
    return absl::InvalidArgumentError(
        absl::StrCat("invalid training program: task ", spec.task, " reads no labels of its rows"));
  rows.areNumbers = labels->type == ElementType::F32;
  rows.numLabels = labels->shape.size() == 2 ? static_cast<size_t>(labels->shape[1]) : 1;
  rows.classes = rows.areNumbers ? static_cast<int64_t>(rows.numLabels) : labels->limit;
  return rows;
}

absl::StatusOr<std::vector<ClassLine>>
readClassLines(const std::string &path, const BatchSpec &spec, const ClassRows &rows) {
  return LineReader(spec, rows).read(path);
}

} // namespace st
