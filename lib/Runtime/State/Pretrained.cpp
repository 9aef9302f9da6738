#include "lib/Runtime/State/Pretrained.h"
#include "lib/Runtime/State/ModelFolder.h"
#include "lib/Runtime/State/ShardIndex.h"
#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lib/Support/Files.h"
#include "lib/Support/Float16.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

namespace st {
namespace {

constexpr absl::string_view kBases[] = {"bert.", "transformer.", "model.",     "gpt_neox.",
                                        "vit.",  "roberta.",     "distilbert."};

// Beginnings of the names of a base model without a prefix, T5's.
constexpr absl::string_view kParts[] = {"shared.", "encoder.", "decoder."};

// Parts of a base model that only some tasks use, so folders of other tasks may lack them.
constexpr absl::string_view kOptionalParts[] = {"bert.pooler.", "roberta.pooler.", "vit.pooler."};

// Output embeddings, and the input embeddings that a folder may tie them to.
constexpr std::pair<absl::string_view, absl::string_view> kTied[] = {
    {"cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"},
    {"lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight"},
    {"vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight"},
    {"lm_head.weight", "transformer.wte.weight"},
    {"lm_head.weight", "model.embed_tokens.weight"},
    {"lm_head.weight", "model.decoder.embed_tokens.weight"},
    {"lm_head.weight", "shared.weight"},
    {"embed_out.weight", "gpt_neox.embed_in.weight"},
};

bool isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F16 || type == ElementType::BF16 ||
         type == ElementType::F64;
}

// Names that a folder may use for a tensor.
std::vector<std::string> spellings(absl::string_view name) {
  std::vector<std::string> all = {std::string(name)};
  for (absl::string_view base : kBases)
    if (absl::StartsWith(name, base))
      all.emplace_back(name.substr(base.size()));
  for (size_t i = 0, count = all.size(); i < count; ++i) {
    absl::string_view stem = all[i];
    if (absl::ConsumeSuffix(&stem, "LayerNorm.weight"))
      all.push_back(absl::StrCat(stem, "LayerNorm.gamma"));
    else if (absl::ConsumeSuffix(&stem, "LayerNorm.bias"))
      all.push_back(absl::StrCat(stem, "LayerNorm.beta"));
  }
  return all;
}

// Names of tensors with the same values, for a tensor that the folder omits.
std::vector<absl::string_view> standIns(absl::string_view name, bool ties) {
  std::vector<absl::string_view> names;
  for (const auto &[head, source] : kTied)
    if (ties && name == head)
      names.push_back(source);
  if (name == "cls.predictions.bias")
    names.push_back("cls.predictions.decoder.bias");
  // Older files keep one of the embeddings of both stacks.
  if (name == "shared.weight")
    names.push_back("encoder.embed_tokens.weight");
  if (name == "model.shared.weight")
    names.push_back("model.encoder.embed_tokens.weight");
  return names;
}

bool isBase(absl::string_view name) {
  for (absl::string_view part : kOptionalParts)
    if (absl::StartsWith(name, part))
      return false;
  auto begins = [&](absl::string_view start) { return absl::StartsWith(name, start); };
  return std::any_of(std::begin(kBases), std::end(kBases), begins) ||
         std::any_of(std::begin(kParts), std::end(kParts), begins);
}

// Returns true for a step that does not define initial values of its optimizer.
bool isPrintedStep(const proto::Executable &program) {
  return program.model().model_type().empty();
}

template <typename From, typename To>
void convertRun(const uint8_t *from, uint8_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    To result(static_cast<To>(value));
    std::memcpy(to + i * sizeof(To), &result, sizeof(To));
  }
}

using ConvertRun = void (*)(const uint8_t *, uint8_t *, int64_t);

template <typename From> ConvertRun converterFrom(ElementType to) {
  switch (to) {
  case ElementType::F32:
    return convertRun<From, float>;
  case ElementType::F64:
    return convertRun<From, double>;
  case ElementType::F16:
    return convertRun<From, Float16>;
  default:
    return convertRun<From, BFloat16>;
  }
}

ConvertRun converter(ElementType from, ElementType to) {
  switch (from) {
  case ElementType::F32:
    return converterFrom<float>(to);
  case ElementType::F64:
    return converterFrom<double>(to);
  case ElementType::F16:
    return converterFrom<Float16>(to);
  default:
    return converterFrom<BFloat16>(to);
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

absl::Status PretrainedWeights::addFile(const std::string &file) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsReader> reader, SafetensorsReader::open(file));
  for (const SafetensorsTensor &tensor : reader->tensors()) {
    auto [it, isNew] = tensors.try_emplace(tensor.name, &tensor, &reader->path());
    if (!isNew)
      return inFile(file, absl::StrCat("tensor ", quoteForMessage(tensor.name), " is also in ",
                                       *it->second.second));
  }
  files.push_back(std::move(reader));
  return absl::OkStatus();
}

absl::Status PretrainedWeights::openSharded(const std::string &indexPath) {
  ST_ASSIGN_OR_RETURN(auto fileOf, readShardIndex(indexPath));
  std::set<std::string> names;
  for (auto &[tensor, name] : fileOf) {
    name = absl::StrCat(path, "/", name);
    names.insert(name);
  }
  for (const std::string &name : names)
    ST_RETURN_IF_ERROR(addFile(name));
  for (const auto &[tensor, file] : fileOf) {
    auto it = tensors.find(tensor);
    if (it == tensors.end() || *it->second.second != file)
      return inFile(file, absl::StrCat("tensor ", quoteForMessage(tensor),
                                       " is missing, although the index lists it here"));
  }
  return absl::OkStatus();
}

absl::Status PretrainedWeights::openFiles(const proto::Executable &program) {
  const bool isPrinted = isPrintedStep(program);
  const std::string optimizer = absl::StrCat(path, "/optimizer.safetensors");
  const std::string optimizerIndex = absl::StrCat(optimizer, ".index.json");
  if (isPrinted && exists(optimizer))
    ST_RETURN_IF_ERROR(addFile(optimizer));
  else if (isPrinted && exists(optimizerIndex))
    ST_RETURN_IF_ERROR(openSharded(optimizerIndex));
  const std::string adapters = absl::StrCat(path, "/adapter_model.safetensors");
  if (!program.model().adapter_config_json().empty() && exists(adapters))
    ST_RETURN_IF_ERROR(addFile(adapters));
  const std::string single = absl::StrCat(path, "/model.safetensors");
  const std::string index = absl::StrCat(path, "/model.safetensors.index.json");
  if (!exists(single) && exists(index))
    return openSharded(index);
  if (!exists(single) && exists(absl::StrCat(path, "/pytorch_model.bin")))
    return inFile(path, "has pytorch_model.bin, which is not read; model.safetensors is");
  return addFile(single);
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

absl::StatusOr<PretrainedWeights::Match> PretrainedWeights::find(const StateTensor &parameter,
                                                                 bool ties) const {
  const std::string &name = parameter.state->name();
  Match found = {&parameter, nullptr, nullptr};
  auto look = [&](absl::string_view wanted) -> absl::Status {
    for (const std::string &spelling : spellings(wanted)) {
      auto it = tensors.find(spelling);
      if (it == tensors.end())
        continue;
      if (found.source)
        return inFile(*it->second.second,
                      absl::StrCat("tensors ", quoteForMessage(found.source->name), " and ",
                                   quoteForMessage(spelling), " both are \"", name, "\""));
      found.source = it->second.first;
      found.file = it->second.second;
    }
    return absl::OkStatus();
  };
  ST_RETURN_IF_ERROR(look(name));
  for (absl::string_view other : standIns(name, ties))
    if (!found.source)
      ST_RETURN_IF_ERROR(look(other));
  return found;
}

absl::Status PretrainedWeights::match(const proto::Executable &program,
                                      const std::vector<StateTensor> &states) {
  ST_ASSIGN_OR_RETURN(std::optional<ModelConfig> config,
                      readModelConfig(absl::StrCat(path, "/config.json"), program));
  ST_RETURN_IF_ERROR(checkTokenizer(path, program, /*needsAll=*/false));
  const bool ties = config && tiesEmbeddings(*config);
  std::set<const SafetensorsTensor *> used;
  for (const StateTensor &state : states) {
    const bool isParameter = state.state->role() == "parameter";
    if (!isParameter && !isPrintedStep(program))
      continue;
    ST_ASSIGN_OR_RETURN(Match found, find(state, ties));
    if (!found.source) {
      if (isParameter)
        fresh.push_back(state.state->name());
      continue;
    }
    used.insert(found.source);
    matches.push_back(found);
  }
  if (matches.empty())
    return inFile(path, "holds none of the program's parameters");
  for (const std::string &name : fresh)
    if (isBase(name))
      return inFile(path, absl::StrCat("tensor \"", name, "\" is missing"));
  ignored = tensors.size() - used.size();
  return checkMatches();
}

bool PretrainedWeights::isParameter(const Match &match) {
  return match.parameter->state->role() == "parameter";
}

absl::Status PretrainedWeights::checkMatches() const {
  for (const Match &match : matches) {
    auto error = [&](absl::string_view what) {
      return inFile(*match.file,
                    absl::StrCat("tensor ", quoteForMessage(match.source->name), " is ",
                                 describeType(match.source->type, match.source->shape), what));
    };
    if (match.source->shape != match.parameter->shape)
      return error(absl::StrCat(isParameter(match) ? ", parameter \"" : ", state \"",
                                match.parameter->state->name(), "\" is ",
                                describeType(match.parameter->type, match.parameter->shape)));
    if (match.source->type != match.parameter->type &&
        (!isFloat(match.source->type) || !isFloat(match.parameter->type)))
      return error(absl::StrCat(", which cannot become ",
                                describeType(match.parameter->type, match.parameter->shape)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PretrainedWeights>>
PretrainedWeights::open(const std::string &path, const proto::Executable &program,
                        const std::vector<StateTensor> &states) {
  std::unique_ptr<PretrainedWeights> weights(new PretrainedWeights(path));
  ST_RETURN_IF_ERROR(weights->openFiles(program));
  ST_RETURN_IF_ERROR(weights->match(program, states));
  return weights;
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

std::string PretrainedWeights::note() const {
  const std::string folder = escapeControls(path);
  const size_t parameters = std::count_if(matches.begin(), matches.end(), isParameter);
  std::string text = absl::StrCat("initialised ", parameters, " parameters");
  if (size_t others = matches.size() - parameters)
    absl::StrAppend(&text, " and ", others, " states of the optimizer");
  absl::StrAppend(&text, " from ", folder);
  if (ignored > 0)
    absl::StrAppend(&text, "; ", ignored, " tensors of other heads or buffers ignored");
  if (!fresh.empty())
    absl::StrAppend(&text, "\nnot in ", folder, ", so initialised: ", absl::StrJoin(fresh, ", "));
  return text + "\n";
}

absl::Status PretrainedWeights::apply(Executable &executable) const {
  std::vector<uint8_t> local;
  for (const Match &match : matches) {
    const ElementType from = match.source->type, to = match.parameter->type;
    const ConvertRun convert = from == to ? nullptr : converter(from, to);
    const int64_t fromWidth = static_cast<int64_t>(byteWidth(from));
    const int64_t toWidth = static_cast<int64_t>(byteWidth(to));
    for (const StateBlock &block : match.parameter->blocks) {
      local.assign(block.block.numBytes(), 0);
      forEachRun(block.block, [&](int64_t global, int64_t offset, int64_t count) {
        const uint8_t *source = match.source->data.data() + global * fromWidth;
        uint8_t *target = local.data() + offset * toWidth;
        if (convert)
          convert(source, target, count);
        else
          std::memcpy(target, source, count * toWidth);
      });
      for (const StateReplica &replica : block.replicas)
        ST_RETURN_IF_ERROR(executable.arena(replica.rank)->write(replica.offset, local));
    }
  }
  return absl::OkStatus();
}

} // namespace st
