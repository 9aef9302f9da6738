#include "backends/dtu/isa/order/StreamWalker.h"

#include "absl/strings/str_cat.h"

namespace st::dtu {

/// For each instruction that begins or ends a loop, the other end; for a leave, the end of its
/// loop.
std::vector<uint32_t> matchLoops(const Stream &stream) {
  std::vector<uint32_t> matches(stream.instructions.size()), open;
  std::vector<std::vector<uint32_t>> leaves;
  for (uint32_t i = 0; i < stream.instructions.size(); ++i) {
    const Instruction &instruction = stream.instructions[i];
    if (std::holds_alternative<Loop>(instruction)) {
      open.push_back(i);
      leaves.emplace_back();
    } else if (std::holds_alternative<Leave>(instruction) && !open.empty()) {
      leaves.back().push_back(i);
    } else if (std::holds_alternative<EndLoop>(instruction) && !open.empty()) {
      matches[i] = open.back();
      matches[open.back()] = i;
      for (uint32_t leave : leaves.back())
        matches[leave] = i;
      open.pop_back();
      leaves.pop_back();
    }
  }
  return matches;
}

void StreamWalker::enter(const Loop &loop) {
  int64_t start = value(loop.start), limit = value(loop.limit);
  registers[loop.reg] = start;
  if (start >= limit) {
    pc = (*matches)[pc] + 1;
    return;
  }
  limits[openLoops++] = limit;
  ++pc;
}

void StreamWalker::repeat(const Loop &loop) {
  if (limits[openLoops - 1] - registers[loop.reg] > loop.step) {
    registers[loop.reg] += loop.step;
    pc = (*matches)[pc] + 1;
    return;
  }
  --openLoops;
  ++pc;
}

bool StreamWalker::runControl(std::string &fault) {
  const Instruction &instruction = next();
  if (auto *loop = std::get_if<Loop>(&instruction)) {
    enter(*loop);
  } else if (std::holds_alternative<EndLoop>(instruction)) {
    repeat(std::get<Loop>(stream->instructions[(*matches)[pc]]));
  } else if (auto *index = std::get_if<Index>(&instruction)) {
    int64_t result = value(index->value);
    if (result < 0)
      fault = absl::StrCat("index of the negative value ", result);
    result /= index->divide;
    registers[index->dst] = (index->modulo ? result % index->modulo : result) * index->multiply;
    ++pc;
  } else if (auto *table = std::get_if<Table>(&instruction)) {
    int64_t at = value(table->index);
    if (at < 0 || at >= static_cast<int64_t>(view->table.size()))
      fault = absl::StrCat("entry ", at, " of a rank table with ", view->table.size(), " entries");
    else
      registers[table->dst] = view->table[static_cast<size_t>(at)];
    ++pc;
  } else if (auto *load = std::get_if<Load>(&instruction)) {
    // Loaded values that decide trips and branches are true twice, then false once.
    registers[load->dst] = loads[pc]++ % 3 < 2;
    ++pc;
  } else if (auto *leave = std::get_if<Leave>(&instruction)) {
    if (registers[leave->unless] == 0) {
      --openLoops;
      pc = (*matches)[pc];
    }
    ++pc;
  } else {
    return false;
  }
  return true;
}

int64_t StreamWalker::bytesOf(const std::vector<Extent> &sizes, DType type) const {
  int64_t bytes = byteWidth(type);
  for (const Extent &size : sizes)
    bytes *= value(size);
  return bytes;
}

} // namespace st::dtu
