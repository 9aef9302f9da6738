#include "lib/Planner/Search/LayoutFilter.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <array>

namespace st {
namespace {

struct Key {
  const char *name;
  /// The value in a layout.
  std::string (*of)(const Layout &layout);
  /// The value in the form of `of`, or std::nullopt for an invalid word.
  std::optional<std::string> (*read)(absl::string_view word);
  const char *expected;
};

std::optional<std::string> readNumber(absl::string_view word) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(word, &value) || value < 0)
    return std::nullopt;
  return absl::StrCat(value);
}

std::optional<std::string> readSwitch(absl::string_view word) {
  if (word == "1" || word == "true")
    return "true";
  if (word == "0" || word == "false")
    return "false";
  return std::nullopt;
}

std::string printSwitch(bool value) { return value ? "true" : "false"; }

constexpr const char *kNumber = "an integer", *kSwitch = "true or false";

const std::array<Key, 17> kKeys = {{
    {"tp", [](const Layout &l) { return absl::StrCat(l.tensor); }, readNumber, kNumber},
    {"pp", [](const Layout &l) { return absl::StrCat(l.stages); }, readNumber, kNumber},
    {"dp", [](const Layout &l) { return absl::StrCat(l.replicas); }, readNumber, kNumber},
    {"context", [](const Layout &l) { return absl::StrCat(l.context); }, readNumber, kNumber},
    {"context-attention",
     [](const Layout &l) {
       return l.contextAttention == ContextAttention::Unset
                  ? "unset"
                  : std::string(contextAttentionName(l.contextAttention));
     },
     [](absl::string_view word) {
       return parseContextAttention(word) ? std::optional<std::string>(word) : std::nullopt;
     },
     kContextAttentionNames},
    {"expert", [](const Layout &l) { return absl::StrCat(l.expert); }, readNumber, kNumber},
    {"vpp", [](const Layout &l) { return absl::StrCat(l.virtualStages); }, readNumber, kNumber},
    {"mb", [](const Layout &l) { return absl::StrCat(l.microBatch); }, readNumber, kNumber},
    {"accum", [](const Layout &l) { return absl::StrCat(l.microBatches); }, readNumber, kNumber},
    {"zero", [](const Layout &l) { return absl::StrCat(l.zero); }, readNumber, kNumber},
    {"recompute", [](const Layout &l) { return std::string(recomputeName(l.recompute)); },
     [](absl::string_view word) {
       return parseRecompute(word) ? std::optional<std::string>(word) : std::nullopt;
     },
     "none, selective or full"},
    {"schedule", [](const Layout &l) { return std::string(scheduleName(l.schedule)); },
     [](absl::string_view word) {
       return parseSchedule(word) ? std::optional<std::string>(word) : std::nullopt;
     },
     kScheduleNames},
    {"sp", [](const Layout &l) { return printSwitch(l.sequenceParallel); }, readSwitch, kSwitch},
    {"offload", [](const Layout &l) { return printSwitch(l.offloadOptimizer); }, readSwitch,
     kSwitch},
    {"placement", [](const Layout &l) { return std::string(rankOrderName(l.placement)); },
     [](absl::string_view word) {
       return parseRankOrder(word) ? std::optional<std::string>(word) : std::nullopt;
     },
     "cluster, or an order of axes as tensor-data-pipeline"},
    {"batch", [](const Layout &l) { return absl::StrCat(l.globalBatch()); }, readNumber, kNumber},
    {"devices", [](const Layout &l) { return absl::StrCat(l.devices()); }, readNumber, kNumber},
}};

const Key *findKey(absl::string_view name) {
  auto found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key &key) { return name == key.name; });
  return found == kKeys.end() ? nullptr : &*found;
}

} // namespace

absl::StatusOr<LayoutFilter> LayoutFilter::parse(absl::string_view text) {
  LayoutFilter filter;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const Key *key = findKey(pair.first);
    if (!key) {
      const std::string names = absl::StrJoin(
          kKeys, ", ", [](std::string *out, const Key &each) { out->append(each.name); });
      return absl::InvalidArgumentError(
          absl::StrCat("expected pairs such as tp=1,pp=32 of ", names, "; found \"", part, "\""));
    }
    // "sp" and "offload" need no value, as in printed layouts.
    const bool isSwitchAlone =
        key->expected == kSwitch && part.find('=') == absl::string_view::npos;
    std::optional<std::string> value = key->read(isSwitchAlone ? "true" : pair.second);
    if (!value)
      return absl::InvalidArgumentError(
          absl::StrCat(key->name, ": expected ", key->expected, ", found \"", pair.second, "\""));
    filter.terms.push_back({key->name, *std::move(value)});
  }
  return filter;
}

bool LayoutFilter::matches(const Layout &layout) const {
  return std::all_of(terms.begin(), terms.end(),
                     [&](const Term &term) { return findKey(term.key)->of(layout) == term.value; });
}

std::string LayoutFilter::explainNone(const std::vector<Layout> &layouts) const {
  for (const Term &term : terms) {
    std::vector<std::string> values;
    for (const Layout &layout : layouts) {
      std::string value = findKey(term.key)->of(layout);
      if (std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(std::move(value));
    }
    if (std::find(values.begin(), values.end(), term.value) == values.end())
      return absl::StrCat("no layout of the space has ", term.key, "=", term.value, ", only ",
                          absl::StrJoin(values, ", "));
  }
  return "no layout in the search space has all of these values: they do not fill the devices with "
         "the "
         "batch";
}

} // namespace st
