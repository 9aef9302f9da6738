#include "lib/Runtime/Data/Sources/ClassSource.h"

#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/TaskBatch.h"
#include "lib/Runtime/Json.h"
#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace st {
namespace {

using Tokens = std::vector<int32_t>;

constexpr uint64_t kLargestFile = uint64_t{1} << 30;

const BatchSpec::Input *findInput(const BatchSpec &spec, absl::string_view name) {
  auto it = std::find_if(spec.inputs.begin(), spec.inputs.end(),
                         [&](const BatchSpec::Input &input) { return input.name == name; });
  return it == spec.inputs.end() ? nullptr : &*it;
}

// A row, without padding.
struct Sample {
  Tokens tokens;
  size_t second = 0;         // where the second text begins; the number of tokens if there is none
  std::vector<float> labels; // of the row, or of each token
};

class ClassSource : public BatchSource {
public:
  using Draw = std::function<Sample(int64_t)>;

  // `draw` gives sample i in [0, count), or, if `count` is 0, any sample.
  ClassSource(const BatchSpec &spec, int32_t padding, int64_t count, Draw draw)
      : spec(spec), padding(padding), count(count), draw(std::move(draw)) {}

  int64_t numBatches() const override { return count ? batchesFor(count, spec.batch) : 0; }

  absl::StatusOr<Batch> batch(int64_t index) const override {
    Batch batch;
    for (const BatchSpec::Input &input : spec.inputs)
      batch.emplace_back(input.name, input.type, input.shape);
    for (int64_t row = 0; row < spec.batch; ++row) {
      const int64_t example = index * spec.batch + row;
      const Sample sample =
          draw(count ? permute(spec.seed, example % count, count, example / count) : example);
      for (HostTensor &tensor : batch)
        fill(tensor, row, sample);
    }
    return batch;
  }

private:
  void fill(HostTensor &tensor, int64_t row, const Sample &sample) const {
    if (tensor.name == "labels")
      return fillLabels(tensor, row, sample);
    int32_t *out = tensor.ints() + row * spec.sequence;
    for (size_t i = 0; i < static_cast<size_t>(spec.sequence); ++i) {
      const bool isText = i < sample.tokens.size();
      if (tensor.name == "input_ids")
        out[i] = isText ? sample.tokens[i] : padding;
      else if (tensor.name == "attention_mask")
        out[i] = isText;
      else if (tensor.name == "token_type_ids")
        out[i] = isText && i >= sample.second;
    }
  }

  void fillLabels(HostTensor &tensor, int64_t row, const Sample &sample) const {
    const auto width = static_cast<size_t>(tensor.shape.size() == 2 ? tensor.shape[1] : 1);
    for (size_t i = 0; i < width; ++i) {
      const float label =
          i < sample.labels.size() ? sample.labels[i] : static_cast<float>(kIgnoredLabel);
      if (tensor.type == ElementType::F32)
        reinterpret_cast<float *>(tensor.bytes.data())[row * width + i] = label;
      else
        tensor.ints()[row * width + i] = static_cast<int32_t>(label);
    }
  }

  BatchSpec spec;
  int32_t padding;
  int64_t count;
  Draw draw;
};

// Checks a program's inputs, and knows what a row needs.
struct Rows {
  bool isEncoder = false, hasTypes = false, ofTokens = false, areNumbers = false;
  int64_t classes = 0, sequence = 0;
  size_t numLabels = 1; // of a row

  static absl::StatusOr<Rows> of(const BatchSpec &spec) {
    const BatchSpec::Input *labels = findInput(spec, "labels");
    const std::vector<int64_t> shape = {spec.batch, spec.sequence};
    Rows rows;
    rows.isEncoder = findInput(spec, "attention_mask");
    rows.hasTypes = findInput(spec, "token_type_ids");
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
      return absl::InvalidArgumentError(absl::StrCat("invalid training program: task ", spec.task,
                                                     " reads no labels of its rows"));
    rows.areNumbers = labels->type == ElementType::F32;
    rows.numLabels = labels->shape.size() == 2 ? static_cast<size_t>(labels->shape[1]) : 1;
    rows.classes = rows.areNumbers ? static_cast<int64_t>(rows.numLabels) : labels->limit;
    return rows;
  }

  // Text tokens that fit beside the special ones of an encoder.
  int64_t room(bool isPair) const { return isEncoder ? sequence - (isPair ? 3 : 2) : sequence; }
};

// The token behind the text of a decoder, which finds the last token by it.
absl::StatusOr<int32_t> paddingOf(const BatchSpec &spec, const Rows &rows, const TokenIds &ids) {
  if (rows.isEncoder)
    return ids.pad;
  ST_ASSIGN_OR_RETURN(nlohmann::json config,
                      parseJsonText(spec.configJson, "the model's config.json"));
  const auto found = config.find("pad_token_id");
  if (found == config.end() || !found->is_number_integer() || found->get<int64_t>() < 0 ||
      found->get<int64_t>() >= spec.vocabulary)
    return absl::InvalidArgumentError(absl::StrCat(
        "the task ", spec.task,
        " needs \"pad_token_id\" in the model's config.json, a token of the vocabulary: the last "
        "token before it has the class of a text"));
  return found->get<int32_t>();
}

// Reads the samples of a file.
class SampleReader {
public:
  SampleReader(const BatchSpec &spec, const Rows &rows, const Tokenizer &tokenizer)
      : rows(rows), tokenizer(tokenizer) {
    if (absl::StatusOr<nlohmann::json> config = parseJsonText(spec.configJson, "config");
        config.ok() && config->contains("label2id"))
      names = (*config)["label2id"];
  }

  absl::StatusOr<std::vector<Sample>> read(const std::string &path) const {
    ST_ASSIGN_OR_RETURN(const std::string file, readFile(path, kLargestFile));
    std::vector<Sample> samples;
    int64_t number = 0;
    for (absl::string_view line : absl::StrSplit(file, '\n')) {
      const std::string place = absl::StrCat(path, ":", ++number);
      if (absl::StripAsciiWhitespace(line).empty())
        continue;
      ST_ASSIGN_OR_RETURN(nlohmann::json entry, parseJsonText(line, place));
      const JsonNode node(entry, place);
      ST_ASSIGN_OR_RETURN(Sample sample, rows.ofTokens ? readWords(node) : readText(node));
      samples.push_back(std::move(sample));
    }
    if (samples.empty())
      return absl::InvalidArgumentError(absl::StrCat(path, ": no samples"));
    return samples;
  }

private:
  absl::StatusOr<Tokens> encode(const std::string &text) const {
    std::vector<Token> encoded;
    ST_RETURN_IF_ERROR(tokenizer.encode(text, encoded));
    Tokens tokens;
    for (const Token &token : encoded)
      tokens.push_back(token.id);
    return tokens;
  }

  // Puts special tokens around tokens, which are truncated to a row.
  Tokens around(Tokens text) const {
    const TokenIds &ids = tokenizer.ids();
    if (!rows.isEncoder) {
      const auto special = static_cast<int64_t>(tokenizer.addSpecial({}).size());
      text.resize(std::min<size_t>(text.size(), std::max<int64_t>(0, rows.sequence - special)));
      return tokenizer.addSpecial(text);
    }
    text.resize(std::min<size_t>(text.size(), rows.room(/*isPair=*/false)));
    text.insert(text.begin(), ids.cls);
    text.push_back(ids.sep);
    return text;
  }

  absl::StatusOr<Sample> readText(const JsonNode &node) const {
    ST_ASSIGN_OR_RETURN(const JsonNode field, node.at("text"));
    ST_ASSIGN_OR_RETURN(const std::string text, field.text());
    ST_ASSIGN_OR_RETURN(Tokens tokens, encode(text));
    Sample sample;
    if (node.has("text_pair")) {
      if (!rows.hasTypes)
        return node.error("\"text_pair\": this model has no types of tokens that tell two texts "
                          "apart");
      ST_ASSIGN_OR_RETURN(const std::string pair, node.text("text_pair", ""));
      ST_ASSIGN_OR_RETURN(Tokens second, encode(pair));
      while (static_cast<int64_t>(tokens.size() + second.size()) > rows.room(/*isPair=*/true))
        (tokens.size() > second.size() ? tokens : second).pop_back();
      sample.second = tokens.size() + 2;
      sample.tokens = around(std::move(tokens));
      sample.tokens.insert(sample.tokens.end(), second.begin(), second.end());
      sample.tokens.push_back(tokenizer.ids().sep);
    } else {
      sample.tokens = around(std::move(tokens));
      sample.second = sample.tokens.size();
    }
    ST_ASSIGN_OR_RETURN(const JsonNode label, node.at("label"));
    ST_ASSIGN_OR_RETURN(sample.labels, readLabels(label));
    return sample;
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

  absl::StatusOr<Sample> readWords(const JsonNode &node) const {
    ST_ASSIGN_OR_RETURN(const JsonNode words, node.at("words"));
    ST_ASSIGN_OR_RETURN(const JsonNode labels, node.at("labels"));
    ST_RETURN_IF_ERROR(words.expectArray());
    ST_RETURN_IF_ERROR(labels.expectArray());
    const size_t count = words.json().size();
    if (count != labels.json().size())
      return node.error(absl::StrCat(count, " words have ", labels.json().size(), " labels"));
    std::string text;
    std::vector<size_t> ends; // of the words in the text
    std::vector<float> classes;
    for (size_t i = 0; i < count; ++i) {
      ST_ASSIGN_OR_RETURN(const std::string word, words.element(i).text());
      absl::StrAppend(&text, i ? " " : "", word);
      ends.push_back(text.size());
      float number = static_cast<float>(kIgnoredLabel);
      if (!labels.element(i).isNull()) {
        ST_ASSIGN_OR_RETURN(number, readClass(labels.element(i)));
      }
      classes.push_back(number);
    }
    std::vector<Token> encoded;
    ST_RETURN_IF_ERROR(tokenizer.encode(text, encoded));
    return withLabels(encoded, ends, classes);
  }

  // A token belongs to the word that has its last byte: it may begin with the space before.
  Sample withLabels(const std::vector<Token> &encoded, const std::vector<size_t> &ends,
                    const std::vector<float> &classes) const {
    Tokens tokens;
    std::vector<float> labels;
    size_t previous = ends.size();
    for (const Token &token : encoded) {
      const size_t last = token.end > token.begin ? token.end - 1 : token.begin;
      const size_t word = std::upper_bound(ends.begin(), ends.end(), last) - ends.begin();
      tokens.push_back(token.id);
      labels.push_back(word < ends.size() && word != previous ? classes[word]
                                                              : static_cast<float>(kIgnoredLabel));
      previous = word;
    }
    Sample sample;
    sample.tokens = around(tokens);
    sample.second = sample.tokens.size();
    const int32_t mark = tokenizer.ids().textBegin;
    const Tokens special = around({mark});
    const size_t before = std::find(special.begin(), special.end(), mark) - special.begin();
    const size_t kept = sample.tokens.size() - (special.size() - 1);
    sample.labels.assign(before, static_cast<float>(kIgnoredLabel));
    sample.labels.insert(sample.labels.end(), labels.begin(),
                         labels.begin() + static_cast<int64_t>(kept));
    return sample;
  }

  const Rows &rows;
  const Tokenizer &tokenizer;
  nlohmann::json names; // of the classes: their numbers
};

absl::Status checkLength(const BatchSpec &spec, const Rows &rows) {
  const int64_t least = 1 + (rows.isEncoder ? 3 : 0);
  if (spec.sequence >= least)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a sequence of ", spec.sequence,
                                                 " tokens is too short for the task ", spec.task,
                                                 ", which needs at least ", least));
}

} // namespace

bool classifiesText(const BatchSpec &spec) {
  return spec.task == "classify-tokens" ||
         (spec.task == "classify" && findInput(spec, "input_ids"));
}

absl::StatusOr<std::unique_ptr<BatchSource>> createJsonLinesClasses(const std::string &path,
                                                                    const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(const Rows rows, Rows::of(spec));
  ST_RETURN_IF_ERROR(checkLength(spec, rows));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, createTokenizer(spec));
  ST_ASSIGN_OR_RETURN(const int32_t padding, paddingOf(spec, rows, tokenizer->ids()));
  ST_ASSIGN_OR_RETURN(std::vector<Sample> samples, SampleReader(spec, rows, *tokenizer).read(path));
  const auto count = static_cast<int64_t>(samples.size());
  const Split::Range part = spec.options.split.range(spec.options.part, count);
  if (part.empty())
    return absl::NotFoundError(absl::StrCat(path, ": --split assigns none of its ", count,
                                            " samples to the ", nameOf(spec.options.part),
                                            " part"));
  const auto drawn = [samples = std::move(samples), begin = part.begin](int64_t i) {
    return samples[static_cast<size_t>(begin + i)];
  };
  return std::make_unique<ClassSource>(spec, padding, part.end - part.begin, drawn);
}

absl::StatusOr<std::unique_ptr<BatchSource>> createSyntheticClasses(const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(const Rows rows, Rows::of(spec));
  ST_RETURN_IF_ERROR(checkLength(spec, rows));
  ST_ASSIGN_OR_RETURN(const Corpus corpus, createSyntheticCorpus(spec));
  const TokenIds ids = corpus.ids;
  // A decoder without a padding token has full rows.
  const absl::StatusOr<int32_t> padding = paddingOf(spec, rows, ids);
  const auto drawn = [rows, ids, seed = spec.seed, isFull = !padding.ok()](int64_t i) {
    CounterRandom random(seed, CounterRandom::Examples, static_cast<uint64_t>(i));
    const int64_t classes = std::max<int64_t>(rows.classes, rows.areNumbers ? 2 : 1);
    const int64_t label = random.below(classes), words = ids.textEnd - ids.textBegin;
    const int64_t room = rows.room(/*isPair=*/false);
    const int64_t length = isFull || !random.chance(10) ? room : 1 + random.below(room);
    Sample sample;
    for (int64_t k = 0; k < length; ++k) {
      int64_t word = random.below(words);
      if (random.chance(50))
        word = std::min(word - word % classes + label, words - 1);
      sample.tokens.push_back(ids.textBegin + static_cast<int32_t>(word));
      if (rows.ofTokens)
        sample.labels.push_back(static_cast<float>(word % classes));
    }
    if (rows.isEncoder) {
      sample.tokens.insert(sample.tokens.begin(), ids.cls);
      sample.tokens.push_back(ids.sep);
      if (rows.ofTokens)
        sample.labels.insert(sample.labels.begin(), static_cast<float>(kIgnoredLabel));
    }
    sample.second = sample.tokens.size();
    if (rows.ofTokens)
      return sample;
    // An output of numbers is 1 for the class, or the number of the class if it is a single one.
    sample.labels.assign(rows.numLabels, 0.0f);
    if (rows.areNumbers && rows.numLabels > 1)
      sample.labels[static_cast<size_t>(label)] = 1.0f;
    else
      sample.labels[0] = static_cast<float>(label);
    return sample;
  };
  return std::make_unique<ClassSource>(spec, padding.value_or(0), /*count=*/0, drawn);
}

} // namespace st
