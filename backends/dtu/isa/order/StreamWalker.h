// Walks stream instances through their control flow, without data.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace st::dtu {

/// The inputs of one run of a program.
struct RunView {
  int64_t rankInGroup = 0, microBatch = 0;
  std::vector<int64_t> table;
};

/// For each instruction that begins or ends a loop, the other end; for a leave, the end of its
/// loop.
std::vector<uint32_t> matchLoops(const Stream &stream);

/// The position of a stream instance in its instructions.
class StreamWalker {
public:
  StreamWalker(const Stream &stream, const std::vector<uint32_t> &matches, int64_t instance,
               const RunView &view)
      : stream(&stream), matches(&matches), view(&view), number(stream.first + instance) {
    registers[kInstance] = instance;
    registers[kMicroBatch] = view.microBatch;
    registers[kRank] = view.rankInGroup;
  }

  const Stream *stream;
  const std::vector<uint32_t> *matches;
  const RunView *view;
  int64_t number;         ///< number of the engine
  uint32_t pc = 0;        ///< the next instruction
  uint32_t openLoops = 0; ///< number of enclosing loops
  int64_t registers[kNumRegisters] = {};
  int64_t limits[kMaxLoopDepth] = {}; ///< of the open loops, outermost first

  bool isDone() const { return pc >= stream->instructions.size(); }
  const Instruction &next() const { return stream->instructions[pc]; }
  int64_t value(const Affine &affine) const {
    auto sum = static_cast<uint64_t>(affine.constant);
    for (const Affine::Term &term : affine.terms)
      sum += static_cast<uint64_t>(term.coefficient) * static_cast<uint64_t>(registers[term.reg]);
    return static_cast<int64_t>(sum);
  }
  int64_t value(const Extent &extent) const {
    if (extent.reg == kZero)
      return extent.tile;
    return std::clamp<int64_t>(extent.limit - registers[extent.reg], 0, extent.tile);
  }
  int64_t value(uint8_t reg) const { return registers[reg]; }

  /// The bytes of a view of these sizes.
  int64_t bytesOf(const std::vector<Extent> &sizes, DType type) const;
  /// Runs the next instruction if it is control flow that involves no other instance. Runs two
  /// trips of each loop whose end depends on loaded values.
  bool runControl(std::string &fault);

private:
  std::map<uint32_t, int64_t> loads;

  void enter(const Loop &loop);
  void repeat(const Loop &loop);
};

} // namespace st::dtu
