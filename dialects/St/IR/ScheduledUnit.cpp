#include "dialects/St/IR/ScheduledUnit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::st;
using llvm::SmallVector;
using llvm::StringRef;

constexpr llvm::StringLiteral kLetters = "FBW";

std::optional<ScheduledUnit> mlir::st::parseUnit(StringRef text) {
  ScheduledUnit unit;
  size_t kind = text.empty() ? StringRef::npos : kLetters.find(text.front());
  if (kind == StringRef::npos)
    return std::nullopt;
  unit.kind = static_cast<ScheduledUnit::Kind>(kind);
  text = text.drop_front();
  if (text.contains('.')) {
    auto [chunk, rest] = text.split('.');
    if (!llvm::all_of(chunk, llvm::isDigit) || chunk.getAsInteger(10, unit.chunk))
      return std::nullopt;
    text = rest;
  }
  if (!llvm::all_of(text, llvm::isDigit) || text.getAsInteger(10, unit.microBatch))
    return std::nullopt;
  return unit;
}

std::string mlir::st::formatUnit(const ScheduledUnit &unit) {
  std::string chunk = unit.chunk == 0 ? "" : std::to_string(unit.chunk) + ".";
  return kLetters[unit.kind] + chunk + std::to_string(unit.microBatch);
}

std::optional<SmallVector<ScheduledUnit>> mlir::st::parseUnits(StringRef text) {
  SmallVector<ScheduledUnit> units;
  for (StringRef word : llvm::split(text, ' '))
    if (std::optional<ScheduledUnit> unit = parseUnit(word))
      units.push_back(*unit);
    else if (!word.empty())
      return std::nullopt;
  return units;
}

std::string mlir::st::findFault(llvm::ArrayRef<ScheduledUnit> order, int64_t chunks,
                                int64_t microBatches) {
  bool hasWeights = llvm::any_of(
      order, [](const ScheduledUnit &unit) { return unit.kind == ScheduledUnit::Weight; });
  int64_t kinds = hasWeights ? 3 : 2;
  int64_t all = kinds * chunks * microBatches;
  if (static_cast<int64_t>(order.size()) < all) {
    // If all of these units are present, another one is missing.
    llvm::SmallVector<bool> seen(order.size() + 1, false);
    for (const ScheduledUnit &unit : order) {
      auto place =
          static_cast<size_t>((unit.kind * chunks + unit.chunk) * microBatches + unit.microBatch);
      if (unit.chunk < chunks && unit.microBatch < microBatches && place < seen.size())
        seen[place] = true;
    }
    int64_t place = std::distance(seen.begin(), llvm::find(seen, false));
    auto kind = static_cast<ScheduledUnit::Kind>(place / (chunks * microBatches));
    return formatUnit({kind, place / microBatches % chunks, place % microBatches}) + " is missing";
  }
  llvm::SmallVector<int64_t> done(chunks * microBatches, 0);
  for (const ScheduledUnit &unit : order) {
    std::string name = formatUnit(unit);
    if (unit.chunk >= chunks || unit.microBatch >= microBatches)
      return name + " is out of range: expected virtual stages below " + std::to_string(chunks) +
             " and micro-batches below " + std::to_string(microBatches);
    int64_t &next = done[unit.chunk * microBatches + unit.microBatch];
    if (next > unit.kind)
      return name + " appears twice";
    if (next < unit.kind)
      return name + " is before " +
             formatUnit({static_cast<ScheduledUnit::Kind>(next), unit.chunk, unit.microBatch});
    ++next;
  }
  return "";
}
