#include "lib/Runtime/Data/Sources/ClassSource.h"

#include "lib/Runtime/Data/Corpus.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/Data/Sources/ClassLines.h"
#include "lib/Runtime/Json.h"
#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace st {
namespace {

using Tokens = std::vector<int32_t>;

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
      const float label = i < sample.labels.size() ? sample.labels[i] : kNoLabel;
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

// The padding token, by which a decoder finds the last token of a text.
absl::StatusOr<int32_t> paddingOf(const BatchSpec &spec, const ClassRows &rows,
                                  const TokenIds &ids) {
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
  SampleReader(const BatchSpec &spec, const ClassRows &rows, const Tokenizer &tokenizer)
      : spec(spec), rows(rows), tokenizer(tokenizer) {}

  absl::StatusOr<std::vector<Sample>> read(const std::string &path) const {
    ST_ASSIGN_OR_RETURN(const std::vector<ClassLine> lines, readClassLines(path, spec, rows));
    std::vector<absl::string_view> texts;
    for (const ClassLine &line : lines)
      for (const std::string *text : {&line.text, &line.pair})
        texts.push_back(*text);
    std::vector<Sample> samples(lines.size());
    std::vector<Token> first;
    const auto add = [&](size_t text, const std::vector<Token> &tokens) {
      if (text % 2 == 0)
        first = tokens;
      else
        samples[text / 2] = sampleOf(lines[text / 2], first, tokens);
    };
    ST_RETURN_IF_ERROR(encodeAll(tokenizer, texts, add));
    return samples;
  }

private:
  Sample sampleOf(const ClassLine &line, const std::vector<Token> &encoded,
                  const std::vector<Token> &encodedPair) const {
    Tokens first = idsOf(encoded), second = idsOf(encodedPair);
    Sample sample;
    if (!line.hasPair) {
      sample.tokens = around(std::move(first));
      sample.second = sample.tokens.size();
      sample.labels =
          rows.ofTokens ? labelsOfTokens(line, encoded, sample.tokens.size()) : line.labels;
      return sample;
    }
    while (static_cast<int64_t>(first.size() + second.size()) > rows.room(/*isPair=*/true))
      (first.size() > second.size() ? first : second).pop_back();
    sample.second = first.size() + 2;
    sample.tokens = around(std::move(first));
    sample.tokens.insert(sample.tokens.end(), second.begin(), second.end());
    sample.tokens.push_back(tokenizer.ids().sep);
    sample.labels = line.labels;
    return sample;
  }

  Tokens specialAround(Tokens text) const {
    if (!rows.isEncoder)
      return tokenizer.addSpecial(text);
    text.insert(text.begin(), tokenizer.ids().cls);
    text.push_back(tokenizer.ids().sep);
    return text;
  }

  // Puts special tokens around tokens, which are truncated to a row.
  Tokens around(Tokens text) const {
    const auto special = static_cast<int64_t>(specialAround({}).size());
    text.resize(std::min<size_t>(text.size(), std::max<int64_t>(0, rows.sequence - special)));
    return specialAround(std::move(text));
  }

  // The labels of a row of `length` tokens, without those of the tokens after the text. A token
  // belongs to the word that has its last byte: it may begin with the space before.
  std::vector<float> labelsOfTokens(const ClassLine &line, const std::vector<Token> &encoded,
                                    size_t length) const {
    const Tokens special = specialAround({}), one = specialAround({tokenizer.ids().textBegin});
    const size_t before =
        std::mismatch(special.begin(), special.end(), one.begin()).first - special.begin();
    const size_t kept = length - std::min(length, special.size());
    std::vector<float> labels(before, kNoLabel);
    size_t previous = line.ends.size();
    for (size_t i = 0; i < kept; ++i) {
      const Token &token = encoded[i];
      const size_t last = token.end > token.begin ? token.end - 1 : token.begin;
      const size_t word =
          std::upper_bound(line.ends.begin(), line.ends.end(), last) - line.ends.begin();
      labels.push_back(word < line.ends.size() && word != previous ? line.labels[word] : kNoLabel);
      previous = word;
    }
    return labels;
  }

  const BatchSpec &spec;
  const ClassRows &rows;
  const Tokenizer &tokenizer;
};

absl::Status checkLength(const BatchSpec &spec, const ClassRows &rows) {
  const int64_t minimum = rows.isEncoder ? 1 + kPairOverhead : 1;
  if (spec.sequence >= minimum)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a sequence of ", spec.sequence,
                                                 " tokens is too short for the task ", spec.task,
                                                 ", which needs at least ", minimum));
}

} // namespace

bool classifiesText(const BatchSpec &spec) {
  return spec.task == "classify-tokens" || (spec.task == "classify" && spec.findInput("input_ids"));
}

absl::StatusOr<std::unique_ptr<BatchSource>> createJsonLinesClasses(const std::string &path,
                                                                    const BatchSpec &spec) {
  ST_ASSIGN_OR_RETURN(const ClassRows rows, ClassRows::of(spec));
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
  ST_ASSIGN_OR_RETURN(const ClassRows rows, ClassRows::of(spec));
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
        sample.labels.insert(sample.labels.begin(), kNoLabel);
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
