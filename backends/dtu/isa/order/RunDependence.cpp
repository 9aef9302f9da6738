#include "backends/dtu/isa/order/RunDependence.h"

#include "backends/dtu/isa/Registers.h"

#include "absl/strings/str_cat.h"

namespace st::dtu {
RunView runViewOf(const proto::Group &group, int64_t rank, int64_t microBatch) {
  RunView view{rank, microBatch, {}};
  auto first = group.rank_tables().begin() + static_cast<ptrdiff_t>(rank * group.table_size());
  view.table.assign(first, first + static_cast<ptrdiff_t>(group.table_size()));
  return view;
}

std::string RunDependence::keyOf(const RunView &view) const {
  std::string key =
      absl::StrCat(onRank ? view.rankInGroup : -1, "/", onMicroBatch ? view.microBatch : -1);
  for (size_t i = 0; i < view.table.size(); ++i)
    if (onWholeTable || entries.count(static_cast<int64_t>(i)))
      absl::StrAppend(&key, "/", view.table[i]);
  return key;
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
        found.onWholeTable = true;
    }
  }
  return found;
}

} // namespace st::dtu
