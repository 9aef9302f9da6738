#include "backends/common/RankTable.h"

using namespace mlir;
using namespace mlir::st;

static std::string keyOf(ArrayAttr axes, ArrayRef<int64_t> pairs = {}) {
  std::string key;
  for (Attribute axis : axes)
    key += (cast<StringAttr>(axis).getValue() + ";").str();
  for (int64_t position : pairs)
    key += ";" + std::to_string(position);
  return key;
}

int64_t
RankTable::addEntries(const std::string &key, size_t count,
                      llvm::function_ref<void(int64_t rank, MutableArrayRef<int64_t>)> fill) {
  auto [it, isNew] = known.try_emplace(key, entries.size());
  if (!isNew)
    return it->second;
  SmallVector<SmallVector<int64_t>> added(count);
  SmallVector<int64_t> values(count);
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    fill(rank, values);
    for (auto [entry, value] : llvm::zip_equal(added, values))
      entry.push_back(value);
  }
  entries.append(added);
  return it->second;
}

int64_t RankTable::getSize(ArrayAttr axes) {
  int64_t size = 1;
  for (Attribute axis : axes)
    size *= mesh.getAxisSize(cast<StringAttr>(axis).getValue()).value_or(1);
  return size;
}

int64_t RankTable::position(int64_t rank, ArrayAttr axes) {
  int64_t result = 0;
  for (Attribute axis : axes) {
    StringRef name = cast<StringAttr>(axis).getValue();
    result = result * mesh.getAxisSize(name).value_or(1) + mesh.getCoordinate(rank, name);
  }
  return result;
}

/// Ranks of the group that agree with `rank` on all other axes, by position.
SmallVector<int64_t> RankTable::members(int64_t rank, ArrayAttr axes) {
  SmallVector<int64_t> result(getSize(axes));
  for (int64_t other = 0; other < numRanks(); ++other) {
    bool isMember = llvm::all_of(mesh.getAxisNames(), [&](Attribute axis) {
      StringRef name = cast<StringAttr>(axis).getValue();
      return llvm::is_contained(axes, axis) ||
             mesh.getCoordinate(rank, name) == mesh.getCoordinate(other, name);
    });
    if (isMember)
      result[position(other, axes)] = other;
  }
  return result;
}

int64_t RankTable::addAxes(ArrayAttr axes) {
  return addEntries(keyOf(axes), 1 + getSize(axes),
                    [&](int64_t rank, MutableArrayRef<int64_t> values) {
                      values[0] = position(rank, axes);
                      for (auto [index, member] : llvm::enumerate(members(rank, axes)))
                        values[1 + index] = program.getFirstRank() + member;
                    });
}

int64_t RankTable::addShifted(StringAttr axis, int64_t shift) {
  auto axes = ArrayAttr::get(axis.getContext(), {axis});
  if (shift == 0)
    return addAxes(axes);
  return addEntries("shifted;" + keyOf(axes, shift), 1,
                    [&](int64_t rank, MutableArrayRef<int64_t> values) {
                      values[0] = (position(rank, axes) + shift) % getSize(axes);
                    });
}

std::vector<std::pair<int64_t, int64_t>> RankTable::getRing(ArrayAttr axes, int64_t stride,
                                                            int64_t size) {
  int64_t entry = addAxes(axes);
  std::vector<std::pair<int64_t, int64_t>> messages;
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    int64_t position = entries[entry][rank], number = position / stride % size;
    int64_t next = position + ((number + 1) % size - number) * stride;
    messages.push_back({rank, entries[entry + 1 + next][rank] - program.getFirstRank()});
  }
  return messages;
}

std::vector<std::pair<int64_t, int64_t>> RankTable::getExchange(ArrayAttr axes) {
  int64_t entry = addAxes(axes), size = getSize(axes);
  std::vector<std::pair<int64_t, int64_t>> messages;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    for (int64_t other = 0; other < size; ++other)
      if (other != entries[entry][rank])
        messages.push_back({rank, entries[entry + 1 + other][rank] - program.getFirstRank()});
  return messages;
}

int64_t RankTable::addPairs(ArrayAttr axes, ArrayRef<int64_t> pairs) {
  return addEntries("pairs;" + keyOf(axes, pairs), 5,
                    [&](int64_t rank, MutableArrayRef<int64_t> values) {
                      SmallVector<int64_t> others = members(rank, axes);
                      const int64_t mine = position(rank, axes);
                      llvm::fill(values, 0);
                      for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
                        if (pairs[i] == pairs[i + 1]) {
                          values[4] |= pairs[i] == mine;
                          continue;
                        }
                        if (pairs[i] == mine)
                          values[0] = 1, values[1] = program.getFirstRank() + others[pairs[i + 1]];
                        if (pairs[i + 1] == mine)
                          values[2] = 1, values[3] = program.getFirstRank() + others[pairs[i]];
                      }
                    });
}

int64_t RankTable::addNeighbours(ArrayAttr axes, ArrayRef<int64_t> pairs) {
  return addEntries("neighbours;" + keyOf(axes, pairs), 2,
                    [&](int64_t rank, MutableArrayRef<int64_t> values) {
                      SmallVector<int64_t> others = members(rank, axes);
                      const int64_t mine = position(rank, axes);
                      llvm::fill(values, -1);
                      for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
                        if (pairs[i] == mine)
                          values[0] = program.getFirstRank() + others[pairs[i + 1]];
                        if (pairs[i + 1] == mine)
                          values[1] = program.getFirstRank() + others[pairs[i]];
                      }
                    });
}

int64_t RankTable::addCounterpart(ProgramOp group) {
  return addEntries(("group;" + group.getSymName()).str(), 1,
                    [&](int64_t rank, MutableArrayRef<int64_t> values) {
                      values[0] = group.getFirstRank() + rank;
                    });
}

SmallVector<int64_t> RankTable::getTables() const {
  SmallVector<int64_t> tables;
  size_t ranks = entries.empty() ? 0 : entries.front().size();
  for (size_t rank = 0; rank < ranks; ++rank)
    for (const SmallVector<int64_t> &entry : entries)
      tables.push_back(entry[rank]);
  return tables;
}
