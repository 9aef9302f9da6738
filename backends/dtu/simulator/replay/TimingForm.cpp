#include "backends/dtu/simulator/replay/TimingForm.h"

#include "backends/dtu/simulator/time/TimeDecisions.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <vector>

namespace st::dtu {
namespace {

bool meets(const RegisterSet &set, const FlatAffine &affine) {
  RegisterSet used;
  addRegisters(used, affine);
  return (set & used).any();
}

/// Builds the form of one stream. Walks it until the set of registers known to vary from run to run
/// at each slot stops growing.
class StreamForm {
public:
  StreamForm(const DecodedProgram &program, const DecodedStream &stream, bool withPeers)
      : program(program), stream(stream), withPeers(withPeers),
        live(liveRegisters(program, stream, withPeers)) {}

  void write(TimingForm &out);
  std::vector<std::string> slots();

private:
  void use(const FlatAffine &affine) {
    varies |= meets(varying, affine);
    print(affine);
  }
  void use(const FlatExtent &extent) {
    if (extent.reg == kZero) {
      absl::StrAppend(text, extent.tile, ",");
      return;
    }
    varies |= varying.test(extent.reg);
    absl::StrAppend(text, extent.tile, "^", extent.reg, "^", extent.limit, ",");
  }
  /// An address that an instruction touches: its memory and, for L1, its core.
  void use(const FlatAddress &address) {
    absl::StrAppend(text, "@", static_cast<int>(address.space));
    if (address.space == Space::L1)
      use(address.core);
  }
  /// Strides in L3 determine which elements share a burst; strides elsewhere only which elements
  /// are read again.
  void use(const FlatDims &dims, const std::vector<int64_t> &strides, bool isSource, Space space) {
    for (size_t i = 0; i < dims.sizes.size(); ++i) {
      use(dims.sizes[i]);
      if (space == Space::L3)
        absl::StrAppend(text, "*", strides[i]);
      else if (isSource && strides[i] == 0)
        text->push_back('0');
    }
  }
  void print(const FlatAffine &affine) {
    absl::StrAppend(text, affine.constant);
    for (uint32_t i = 0; i < affine.count; ++i)
      absl::StrAppend(text, "+", affine.coefficients[i], "r", affine.regs[i]);
    text->push_back(',');
  }
  void visit(size_t at);
  void visitControl(size_t at);
  void visitTransfer(Slot slot);
  void visitTile(Slot slot);
  void enter(const LoopInst &loop);
  void leave(const LoopInst &loop);
  bool walk();

  const DecodedProgram &program;
  const DecodedStream &stream;
  const bool withPeers;
  std::string *text = nullptr;
  const std::vector<RegisterSet> live;
  RegisterSet varying;
  bool varies = false;
  /// Varying registers at the head of each loop's next trip, and where a Leave exits the loop.
  std::map<uint32_t, RegisterSet> atHead, atExit;
  std::vector<RegisterSet> before; ///< for each enclosing loop
};

void StreamForm::enter(const LoopInst &loop) {
  before.push_back(varying);
  varying.set(loop.reg, meets(varying, loop.start) || meets(varying, loop.limit));
  varying |= atHead[loop.begin];
}

/// After a loop, registers have the values of its last trip, or their earlier values if it had no
/// trip.
void StreamForm::leave(const LoopInst &loop) {
  atHead[loop.begin] |= varying;
  varying |= before.back() | atExit[loop.begin];
  before.pop_back();
}

void StreamForm::visitControl(size_t at) {
  const Slot slot = stream.slots[at];
  switch (slot.opcode) {
  case Opcode::Loop: {
    const LoopInst &loop = program.loops[slot.index];
    absl::StrAppend(text, "r", loop.reg, ",", loop.step, ",");
    use(loop.start);
    use(loop.limit);
    enter(loop);
    break;
  }
  case Opcode::EndLoop:
    leave(program.loops[slot.index]);
    break;
  case Opcode::Leave: {
    const LeaveInst &leaves = program.leaves[slot.index];
    varies |= varying.test(leaves.unless);
    atExit[program.loops[leaves.loop].begin] |= varying;
    absl::StrAppend(text, "r", leaves.unless);
    break;
  }
  // Of an index that only computes addresses, only the slot is part of the form.
  case Opcode::Index: {
    const IndexInst &inst = program.indices[slot.index];
    varying.set(inst.dst, meets(varying, inst.value));
    if (!live[at + 1].test(inst.dst))
      break;
    absl::StrAppend(text, "r", inst.dst);
    print(inst.value);
    absl::StrAppend(text, inst.divide, ",", inst.modulo, ",", inst.multiply);
    break;
  }
  case Opcode::Table: {
    const TableInst &inst = program.tables[slot.index];
    varying.set(inst.dst);
    if (!live[at + 1].test(inst.dst))
      break;
    absl::StrAppend(text, "r", inst.dst);
    print(inst.index);
    break;
  }
  default:
    break;
  }
}

void StreamForm::visitTransfer(Slot slot) {
  switch (slot.opcode) {
  case Opcode::Copy: {
    const CopyInst &copy = program.copies[slot.index];
    use(copy.dst);
    use(copy.src);
    use(copy.dims, copy.srcStrides, /*isSource=*/true, copy.src.space);
    if (copy.dst.space == Space::L3)
      use(copy.dims, copy.dstStrides, /*isSource=*/false, copy.dst.space);
    absl::StrAppend(text, byteWidth(copy.dstType), ",", byteWidth(copy.srcType), ",",
                    copy.multicast);
    break;
  }
  case Opcode::Fill: {
    const FillInst &fill = program.fills[slot.index];
    use(fill.dst);
    use(fill.dims, fill.strides, /*isSource=*/false, fill.dst.space);
    absl::StrAppend(text, byteWidth(fill.type), ",", fill.multicast);
    break;
  }
  case Opcode::Gather:
  case Opcode::Scatter: {
    const RowsInst &rows = program.rows[slot.index];
    use(rows.table);
    use(rows.other);
    use(rows.index);
    use(rows.count);
    use(rows.rowElements);
    absl::StrAppend(text, byteWidth(rows.type), ",", byteWidth(rows.indexType), ",",
                    rows.combine != Reduce::None);
    if (rows.other.space == Space::L3)
      absl::StrAppend(text, "*", rows.otherStride);
    break;
  }
  default: {
    const LinkInst &link = program.links[slot.index];
    use(link.address);
    use(link.dims, link.strides, /*isSource=*/false, link.address.space);
    absl::StrAppend(text, byteWidth(link.type), ",", link.reduce != Reduce::None);
    if (withPeers)
      absl::StrAppend(text, ",r", link.peer, ",", link.channel);
    break;
  }
  }
}

void StreamForm::visitTile(Slot slot) {
  if (slot.opcode == Opcode::Matmul) {
    const MatmulInst &matmul = program.matmuls[slot.index];
    use(matmul.m);
    use(matmul.n);
    use(matmul.k);
    absl::StrAppend(text, matmul.type != DType::F32);
    return;
  }
  const VectorInst &vector = program.vectors[slot.index];
  absl::StrAppend(text, static_cast<int>(vector.op), ",", vector.width, ",",
                  vector.bankSteps.alongRows, ",", vector.bankSteps.alongCols, ",");
  use(vector.rows);
  use(vector.cols);
}

void StreamForm::visit(size_t at) {
  const Slot slot = stream.slots[at];
  absl::StrAppend(text, static_cast<int>(slot.opcode), ":");
  switch (slot.opcode) {
  case Opcode::Wait:
  case Opcode::Signal:
    use(program.semaphores[slot.index].semaphore);
    absl::StrAppend(text, program.semaphores[slot.index].count);
    break;
  case Opcode::Barrier:
    absl::StrAppend(text, program.barriers[slot.index].id, ",",
                    program.barriers[slot.index].participants);
    break;
  case Opcode::Matmul:
  case Opcode::Vector:
    visitTile(slot);
    break;
  case Opcode::Copy:
  case Opcode::Fill:
  case Opcode::Gather:
  case Opcode::Scatter:
  case Opcode::Send:
  case Opcode::Recv:
    visitTransfer(slot);
    break;
  default:
    visitControl(at);
    break;
  }
  text->push_back(';');
}

/// Returns true if the walk found new varying registers.
bool StreamForm::walk() {
  const std::map<uint32_t, RegisterSet> head = atHead, exit = atExit;
  text->clear();
  absl::StrAppend(text, "e", static_cast<int>(stream.engine), ",", stream.first, ",", stream.count,
                  "\n");
  varying.reset().set(kMicroBatch).set(kRank);
  for (size_t at = 0; at < stream.slots.size(); ++at)
    visit(at);
  return atHead != head || atExit != exit;
}

void StreamForm::write(TimingForm &out) {
  std::string written;
  text = &written;
  while (walk()) {
  }
  // TaskMessages describes the tx and rx streams message by message.
  const bool isLink = stream.engine == Engine::Tx || stream.engine == Engine::Rx;
  out.variesByRun |= varies && !isLink;
  out.text += written;
}

/// A loop also records where it ends.
std::vector<std::string> StreamForm::slots() {
  std::vector<std::string> result;
  for (size_t at = 0; at < stream.slots.size(); ++at) {
    const Slot slot = stream.slots[at];
    text = &result.emplace_back();
    visit(at);
    if (slot.opcode == Opcode::Loop)
      absl::StrAppend(text, program.loops[slot.index].end - at);
    else if (slot.opcode == Opcode::EndLoop)
      absl::StrAppend(text, at - program.loops[slot.index].begin);
    else if (slot.opcode == Opcode::Leave)
      absl::StrAppend(text, program.loops[program.leaves[slot.index].loop].end - at);
  }
  return result;
}

} // namespace

TimingForm timingFormOf(const DecodedProgram &program) {
  TimingForm form;
  form.text = absl::StrCat(program.source.semaphores, ",", program.source.barriers, "\n");
  for (const DecodedStream &stream : program.streams)
    StreamForm(program, stream, /*withPeers=*/false).write(form);
  form.readsData = !program.loads.empty();
  return form;
}

std::vector<std::string> slotFormsOf(const DecodedProgram &program, const DecodedStream &stream) {
  return StreamForm(program, stream, /*withPeers=*/true).slots();
}

} // namespace st::dtu
