#include "backends/dtu/isa/order/messages/SyncSkeleton.h"

#include "backends/dtu/isa/order/StreamWalker.h"

#include <bitset>
#include <vector>

namespace st::dtu {
namespace {

using Registers = std::bitset<kNumRegisters>;

void read(const Affine &affine, Registers &live) {
  for (const Affine::Term &term : affine.terms)
    live.set(term.reg);
}

void read(const std::vector<Extent> &sizes, Registers &live) {
  for (const Extent &size : sizes)
    live.set(size.reg);
}

/// Selects the instructions of a stream to keep: synchronising instructions, and all that compute
/// registers which kept instructions read.
class Kept {
public:
  explicit Kept(const Stream &stream)
      : instructions(stream.instructions), kept(instructions.size()), matches(matchLoops(stream)) {
    Registers live;
    walk(0, instructions.size(), live, live);
  }

  bool operator[](size_t i) const { return kept[i]; }

private:
  /// Computes the live registers before [begin, end) from those after it; `left` is live after the
  /// enclosing loop.
  void walk(size_t begin, size_t end, Registers &live, const Registers &left);
  void walkLoop(size_t begin, size_t end, Registers &live);
  void visit(size_t i, Registers &live, const Registers &left);

  const std::vector<Instruction> &instructions;
  std::vector<bool> kept;
  std::vector<uint32_t> matches; ///< the other end of each loop
};

void Kept::walk(size_t begin, size_t end, Registers &live, const Registers &left) {
  for (size_t i = end; i-- > begin;) {
    if (!std::holds_alternative<EndLoop>(instructions[i])) {
      visit(i, live, left);
      continue;
    }
    walkLoop(matches[i], i, live);
    i = matches[i];
  }
}

void Kept::walkLoop(size_t begin, size_t end, Registers &live) {
  const auto &loop = std::get<Loop>(instructions[begin]);
  const Registers left = live;
  // Registers that a trip needs from the trip before it.
  Registers before;
  do {
    before = live;
    Registers body = live;
    walk(begin + 1, end, body, left);
    body.reset(loop.reg);
    live |= body;
  } while (before != live);
  bool isKept = left[loop.reg];
  for (size_t i = begin + 1; i < end && !isKept; ++i)
    isKept = kept[i];
  if (!isKept)
    return;
  kept[begin] = kept[end] = true;
  live.reset(loop.reg);
  read(loop.start, live);
  read(loop.limit, live);
}

void Kept::visit(size_t i, Registers &live, const Registers &left) {
  const Instruction &instruction = instructions[i];
  auto define = [&](uint8_t reg) -> bool {
    if (!live[reg])
      return false;
    live.reset(reg);
    return kept[i] = true;
  };
  if (auto *wait = std::get_if<Wait>(&instruction)) {
    kept[i] = true;
    read(wait->semaphore, live);
  } else if (auto *signal = std::get_if<Signal>(&instruction)) {
    kept[i] = true;
    read(signal->semaphore, live);
  } else if (std::holds_alternative<Barrier>(instruction)) {
    kept[i] = true;
  } else if (auto *send = std::get_if<Send>(&instruction)) {
    kept[i] = true;
    live.set(send->peer);
    read(send->sizes, live);
  } else if (auto *recv = std::get_if<Recv>(&instruction)) {
    kept[i] = true;
    live.set(recv->peer);
    read(recv->sizes, live);
  } else if (auto *leave = std::get_if<Leave>(&instruction)) {
    kept[i] = true;
    live |= left;
    live.set(leave->unless);
  } else if (auto *index = std::get_if<Index>(&instruction)) {
    if (define(index->dst))
      read(index->value, live);
  } else if (auto *table = std::get_if<Table>(&instruction)) {
    if (define(table->dst))
      read(table->index, live);
  } else if (auto *load = std::get_if<Load>(&instruction)) {
    if (define(load->dst)) {
      read(load->address.offset, live);
      read(load->address.core, live);
    }
  }
}

} // namespace

/// The order of messages does not depend on the bytes they carry.
static Instruction withoutAddress(Instruction instruction) {
  View *view = nullptr;
  if (auto *send = std::get_if<Send>(&instruction))
    view = &send->src;
  else if (auto *recv = std::get_if<Recv>(&instruction))
    view = &recv->dst;
  if (view)
    *view = View{Address{}, std::vector<int64_t>(view->strides.size(), 0)};
  return instruction;
}

Program skeletonOf(const Program &program) {
  Program skeleton = {program.name,    program.semaphores, program.barriers,  program.l1Bytes,
                      program.l2Bytes, program.l3Bytes,    program.hostBytes, program.tableSize,
                      {}};
  for (const Stream &from : program.streams) {
    const std::vector<Instruction> &all = from.instructions;
    Stream &stream = skeleton.streams.emplace_back();
    stream.engine = from.engine;
    stream.first = from.first;
    stream.count = from.count;
    Kept kept(from);
    for (size_t i = 0; i < all.size(); ++i)
      if (kept[i])
        stream.instructions.push_back(withoutAddress(all[i]));
  }
  return skeleton;
}

} // namespace st::dtu
