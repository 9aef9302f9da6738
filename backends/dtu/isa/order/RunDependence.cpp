#include "backends/dtu/isa/order/RunDependence.h"

#include "backends/dtu/isa/Registers.h"

#include "absl/strings/str_join.h"

#include <algorithm>

namespace st::dtu {
RunView runViewOf(const proto::Group &group, int64_t rank, int64_t microBatch) {
  RunView view{rank, microBatch, {}};
  auto first = group.rank_tables().begin() + static_cast<ptrdiff_t>(rank * group.table_size());
  view.table.assign(first, first + static_cast<ptrdiff_t>(group.table_size()));
  return view;
}

std::vector<int64_t> RunDependence::valuesOf(const RunView &view) const {
  std::vector<int64_t> values = {onRank ? view.rankInGroup : -1,
                                 onMicroBatch ? view.microBatch : -1};
  for (size_t i = 0; i < view.table.size(); ++i)
    if (onFullTable || entries.count(static_cast<int64_t>(i)))
      values.push_back(view.table[i]);
  return values;
}

std::string RunDependence::keyOf(const RunView &view) const {
  return absl::StrJoin(valuesOf(view), "/");
}

bool RunDependence::hasValues(const RunView &view, const std::vector<int64_t> &values) const {
  if (values[0] != (onRank ? view.rankInGroup : -1) ||
      values[1] != (onMicroBatch ? view.microBatch : -1))
    return false;
  if (onFullTable)
    return std::equal(values.begin() + 2, values.end(), view.table.begin(), view.table.end());
  size_t next = 2;
  for (int64_t entry : entries) {
    if (entry < 0 || entry >= static_cast<int64_t>(view.table.size()))
      continue;
    if (next == values.size() || values[next++] != view.table[static_cast<size_t>(entry)])
      return false;
  }
  return next == values.size();
}

RunDependence dependenceOf(const Program &program, bool peers) {
  RunDependence found;
  for (const Stream &stream : program.streams) {
    const StreamRegisters registers(stream, peers);
    found.onRank |= registers.live[0].test(kRank);
    found.onMicroBatch |= registers.live[0].test(kMicroBatch);
    for (size_t i = 0; i < stream.instructions.size(); ++i) {
      auto *table = std::get_if<Table>(&stream.instructions[i]);
      if (!table || !registers.live[i + 1].test(table->dst))
        continue;
      if (table->index.terms.empty())
        found.entries.insert(table->index.constant);
      else
        found.onFullTable = true;
    }
  }
  return found;
}

} // namespace st::dtu
