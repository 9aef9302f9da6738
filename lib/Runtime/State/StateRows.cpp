#include "lib/Runtime/State/StateRows.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <utility>

namespace st {
namespace {

// The name of a row: the first "*" of the name is its number.
std::string nameOfRow(std::string name, int64_t row) {
  const size_t star = name.find('*');
  return star == std::string::npos ? absl::StrCat(name, ".", row)
                                   : name.replace(star, 1, absl::StrCat(row));
}

// A part of a block's row: without the first dimension.
TensorBlock withoutRows(const TensorBlock &block) {
  TensorBlock row = block;
  for (std::vector<int64_t> *sizes :
       {&row.globalShape, &row.view, &row.viewRanks, &row.shape, &row.start})
    sizes->erase(sizes->begin());
  return row;
}

// The rows of one state.
class RowSplit {
public:
  explicit RowSplit(const StateTensor &tensor) : tensor(tensor), rows(tensor.shape[0]) {
    for (size_t i = 0; i < rows.size(); ++i)
      describe(static_cast<int64_t>(i));
    for (const StateBlock &block : tensor.blocks)
      split(block);
  }

  std::vector<StateTensor> take() { return std::move(rows); }

private:
  void describe(int64_t number) {
    auto state = std::make_shared<proto::State>(*tensor.state);
    state->set_name(nameOfRow(state->name(), number));
    if (!state->parameter().empty())
      state->set_parameter(nameOfRow(state->parameter(), number));
    state->set_has_named_rows(false);
    StateTensor &row = rows[number];
    row.state = state.get();
    row.row = std::move(state);
    row.type = tensor.type;
    row.shape.assign(tensor.shape.begin() + 1, tensor.shape.end());
    row.firstElement = number;
    for (int64_t size : row.shape)
      row.firstElement *= size;
  }

  void split(const StateBlock &of) {
    const TensorBlock part = withoutRows(of.block);
    for (int64_t i = 0; i < of.block.shape[0]; ++i) {
      const int64_t number = of.block.start[0] + i;
      if (number >= tensor.shape[0])
        return; // padding
      std::vector<StateBlock> &blocks = rows[number].blocks;
      auto [it, isNew] = index.emplace(
          std::make_pair(number, std::make_pair(part.start, part.shape)), blocks.size());
      if (isNew)
        blocks.push_back({part, {}});
      for (StateReplica replica : of.replicas) {
        replica.offset += i * part.numBytes();
        blocks[it->second].replicas.push_back(replica);
      }
    }
  }

  const StateTensor &tensor;
  std::vector<StateTensor> rows;
  std::map<std::pair<int64_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>>, size_t> index;
};

// Returns true if the blocks' first dimension is that of the tensor, not several finer ones.
bool hasRows(const StateTensor &tensor) {
  for (const StateBlock &block : tensor.blocks)
    if (block.block.viewRanks.empty() || block.block.viewRanks[0] != 1)
      return false;
  return true;
}

} // namespace

std::vector<StateTensor> splitNamedRows(std::vector<StateTensor> states) {
  std::map<std::string, int64_t> rowsOf;
  for (const StateTensor &tensor : states)
    if (tensor.state->has_named_rows() && !tensor.shape.empty())
      rowsOf[tensor.state->name()] = tensor.shape[0];
  if (rowsOf.empty())
    return states;
  std::map<std::string, StateTensor> split;
  for (StateTensor &tensor : states) {
    const bool isParameter = tensor.state->role() == "parameter";
    const auto rows = rowsOf.find(isParameter ? tensor.state->name() : tensor.state->parameter());
    const bool isSplit = rows != rowsOf.end() && !tensor.shape.empty() &&
                         tensor.shape[0] == rows->second && hasRows(tensor);
    if (!isSplit) {
      split[tensor.state->name()] = std::move(tensor);
      continue;
    }
    for (StateTensor &row : RowSplit(tensor).take())
      split[row.state->name()] = std::move(row);
  }
  std::vector<StateTensor> all;
  for (auto &[name, tensor] : split)
    all.push_back(std::move(tensor));
  return all;
}

} // namespace st
