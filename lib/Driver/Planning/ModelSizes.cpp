#include "lib/Driver/Planning/ModelSizes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::st;

constexpr int64_t kMaxLayers = 1024, kMaxHidden = 1 << 20, kHeadStep = 4, kMaxHeads = 512;

ModelScale mlir::st::scaleLayers(const PlanInput &input) {
  ModelScale scale{absl::StrCat("layers of hidden size ", input.model.hidden), {}};
  for (int64_t layers = 1; layers <= kMaxLayers; ++layers)
    scale.sizes.push_back({"", layers, input.model.hidden, input.model.heads, 0});
  return scale;
}

ModelScale mlir::st::scaleProportions(const PlanInput &input) {
  const int64_t headSize = input.model.hidden / input.model.heads;
  ModelScale scale{absl::StrCat("the same proportions: ", input.model.layers, " layers to ",
                                input.model.heads, " heads of ", headSize),
                   {}};
  for (int64_t heads = kHeadStep; heads <= kMaxHeads; heads += kHeadStep) {
    const auto layers = static_cast<int64_t>(std::llround(
        static_cast<double>(input.model.layers * heads) / static_cast<double>(input.model.heads)));
    if (layers >= 1 && layers <= kMaxLayers)
      scale.sizes.push_back({"", layers, heads * headSize, heads, 0});
  }
  return scale;
}

namespace {

struct SizeColumn {
  const char *name;
  int64_t ModelSize::*member;
  int64_t most;
};
constexpr SizeColumn kSizeColumns[] = {{"layers", &ModelSize::layers, kMaxLayers},
                                       {"hidden", &ModelSize::hidden, kMaxHidden},
                                       {"heads", &ModelSize::heads, kMaxHidden},
                                       {"ffn_hidden", &ModelSize::ffnHidden, kMaxHidden}};

} // namespace

absl::StatusOr<ModelScale> mlir::st::parseModelSizes(StringRef text, const std::string &path) {
  ModelScale scale{path, {}};
  int line = 0;
  auto error = [&](const std::string &what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", what));
  };
  std::vector<std::string> names;
  for (absl::string_view row : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++line;
    if (absl::StripAsciiWhitespace(row).empty() && line > 1)
      continue;
    ModelSize size;
    const std::vector<absl::string_view> fields = absl::StrSplit(row, ',');
    if (line > 1 && fields.size() != names.size())
      return error(absl::StrCat("expected ", names.size(), " columns, found ", fields.size()));
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string field(absl::StripAsciiWhitespace(fields[i]));
      const std::string &name = line == 1 ? field : names[i];
      const auto *column =
          llvm::find_if(kSizeColumns, [&](const SizeColumn &each) { return each.name == name; });
      const bool isKnown = column != std::end(kSizeColumns);
      if (line == 1) {
        if (!isKnown && name != "name")
          return error(absl::StrCat(
              "expected columns layers, hidden, heads, ffn_hidden and name, found \"", name, "\""));
        if (llvm::is_contained(names, name))
          return error(absl::StrCat("column ", name, " appears twice"));
        names.push_back(name);
        continue;
      }
      int64_t value = 0;
      if (!isKnown)
        size.name = field;
      else if (!absl::SimpleAtoi(field, &value) || value < 1 || value > column->most)
        return error(absl::StrCat("column ", name, ": expected an integer from 1 to ", column->most,
                                  ", found \"", field, "\""));
      else
        size.*column->member = value;
    }
    if (line == 1) {
      for (const char *needed : {"layers", "hidden", "heads"})
        if (!llvm::is_contained(names, needed))
          return error(absl::StrCat("expected a column ", needed, ", found none"));
      continue;
    }
    if (size.hidden % size.heads != 0)
      return error(absl::StrCat("column heads: expected a divisor of hidden ", size.hidden,
                                ", found ", size.heads));
    scale.sizes.push_back(std::move(size));
  }
  if (scale.sizes.empty())
    return error("expected sizes after the names of the columns, found none");
  llvm::stable_sort(scale.sizes, [](const ModelSize &a, const ModelSize &b) {
    return a.layers * a.hidden * a.hidden < b.layers * b.hidden * b.hidden;
  });
  return scale;
}

absl::StatusOr<PlanInput> mlir::st::resizeModel(const PlanInput &input, const ModelSize &size) {
  if (size.hidden % size.heads != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("hidden ", size.hidden, " is not a multiple of ", size.heads, " heads"));
  PlanInput resized = input;
  ModelConfig &config = resized.config;
  const bool sharesHeads = config.keyValueHeadCount != config.headCount;
  config.keyValueHeadCount =
      sharesHeads ? std::max<int64_t>(1, size.heads * config.keyValueHeadCount / config.headCount)
                  : size.heads;
  if (size.heads % config.keyValueHeadCount != 0)
    config.keyValueHeadCount = size.heads;
  config.intermediateSize = size.ffnHidden > 0
                                ? size.ffnHidden
                                : size.hidden * config.intermediateSize / config.hiddenSize;
  config.hiddenSize = size.hidden;
  config.headCount = size.heads;
  config.headSize = size.hidden / size.heads;
  config.layerCount = size.layers;
  resized.model.layers = size.layers;
  resized.model.hidden = size.hidden;
  resized.model.heads = size.heads;
  return resized;
}
