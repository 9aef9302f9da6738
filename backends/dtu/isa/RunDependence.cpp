#include "backends/dtu/isa/RunDependence.h"

#include "backends/dtu/isa/Fields.h"

#include "absl/strings/str_cat.h"

namespace st::dtu {
namespace {

/// Registers that an instruction reads; names of peers only if asked for.
class Reads {
public:
  Reads(std::set<uint8_t> &registers, bool peers) : registers(registers), peers(peers) {}

  template <typename I> void operator()(const I &instruction) {
    isLink = std::is_same_v<I, Send> || std::is_same_v<I, Recv>;
    Fields<I>::visit(*this, instruction);
  }

  void reg(const char *name, uint8_t value) {
    if (peers || !isLink || absl::string_view(name) != "peer")
      registers.insert(value);
  }
  void affine(const char *, const Affine &value) {
    for (const Affine::Term &term : value.terms)
      registers.insert(term.reg);
  }
  void address(const char *name, const Address &value) {
    affine(name, value.offset);
    affine(name, value.core);
  }
  void view(const char *name, const View &value) { address(name, value.address); }
  void extent(const char *, const Extent &value) { registers.insert(value.reg); }
  void sizes(const char *name, const std::vector<Extent> &values) {
    for (const Extent &value : values)
      extent(name, value);
  }
  void operand(const char *name, const TileOperand &value) { address(name, value.address); }
  void operands(const std::array<TileOperand, 3> &values) {
    for (const TileOperand &value : values)
      operand("", value);
  }
  template <typename... Rest> void integer(const char *, Rest &&...) {}
  template <typename... Rest> void bits(const char *, Rest &&...) {}
  template <typename... Rest> void flag(const char *, Rest &&...) {}
  template <typename... Rest> void enumeration(const char *, Rest &&...) {}

private:
  std::set<uint8_t> &registers;
  const bool peers;
  bool isLink = false;
};

} // namespace

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
    std::set<uint8_t> read;
    for (const Instruction &instruction : stream.instructions)
      // A table's and an index's own result is no read of theirs.
      if (auto *table = std::get_if<Table>(&instruction))
        Reads(read, peers).affine("", table->index);
      else if (auto *index = std::get_if<Index>(&instruction))
        Reads(read, peers).affine("", index->value);
      else
        std::visit(Reads(read, peers), instruction);
    found.onRank |= read.count(kRank) != 0;
    found.onMicroBatch |= read.count(kMicroBatch) != 0;
    for (const Instruction &instruction : stream.instructions) {
      auto *table = std::get_if<Table>(&instruction);
      if (!table || !read.count(table->dst))
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
