#include "passes/Memory/Arena.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;

AddressAttr StorageLayout::append(Type type, int64_t copies, int64_t &arenaEnd) {
  int64_t stride = llvm::alignTo(getNumBytes(type), alignment);
  int64_t offset = arenaEnd;
  arenaEnd += stride * copies;
  return AddressAttr::get(context, offset, copies > 1 ? stride : 0, copies);
}

template <typename OpType>
int64_t StorageLayout::place(OpType op, Type type, int64_t copies, int64_t &arenaEnd) {
  int64_t before = arenaEnd;
  AddressAttr address = append(type, copies, arenaEnd);
  op.setAddressAttr(address);
  addresses[op.getSymName()] = address;
  return arenaEnd - before;
}

/// Data of other programs in the arena counts in the classes that those programs use: parameters
/// that this program reads, and the rest.
void StorageLayout::placeResident(ProgramOp program, DictionaryAttr resident) {
  for (auto state : program.getOps<StateOp>()) {
    auto offset = resident.getAs<IntegerAttr>(state.getName());
    if (!offset)
      continue;
    state.setAddressAttr(AddressAttr::get(context, offset.getInt(), 0, 1));
    addresses[state.getSymName()] = state.getAddressAttr();
    if (state.getRole() == "parameter")
      classes.parameters += llvm::alignTo(getNumBytes(state.getLocalType()), alignment);
  }
  if (auto residentEnd = program->getAttrOfType<IntegerAttr>(kResidentEndAttr))
    end = llvm::alignTo(residentEnd.getInt(), alignment);
  classes.optimizer += end - classes.parameters;
}

StorageLayout::StorageLayout(ProgramOp program, int64_t alignment, int64_t microBatches)
    : context(program.getContext()), alignment(alignment) {
  if (auto resident = program->getAttrOfType<DictionaryAttr>(kResidentAttr))
    placeResident(program, resident);
  for (auto state : program.getOps<StateOp>())
    if (!addresses.contains(state.getSymName()))
      (state.getRole() == "parameter" ? classes.parameters : classes.optimizer) +=
          place(state, state.getLocalType(), 1, end);
  for (auto input : program.getOps<InputOp>())
    classes.inputs +=
        place(input, input.getLocalType(), input.isPerMicroBatch() ? microBatches : 1, end);
  for (auto output : program.getOps<OutputOp>())
    classes.workspace +=
        place(output, output.getLocalType(), output.isPerMicroBatch() ? microBatches : 1, end);
  for (auto buffer : program.getOps<BufferOp>()) {
    if (buffer.isOnHost()) {
      onHost.insert(buffer.getSymName());
      classes.host += place(buffer, buffer.getType(), buffer.getSlots(), hostEnd);
      continue;
    }
    (buffer.getKind() == "accumulator" ? classes.gradients : classes.activations) +=
        place(buffer, buffer.getType(), buffer.getSlots(), end);
  }
}

AddressAttr StorageLayout::getConstant(Attribute data, Type type) {
  AddressAttr &address = constants[data];
  if (!address) {
    address = append(type, 1, end);
    classes.workspace += llvm::alignTo(getNumBytes(type), alignment);
  }
  return address;
}

int64_t mlir::st::placeIntervals(MutableArrayRef<Interval> intervals, int64_t alignment) {
  SmallVector<Interval *> order;
  for (Interval &interval : intervals)
    order.push_back(&interval);
  // Equal sizes keep their order in the task, which is the order of the array.
  llvm::sort(order, [](const Interval *a, const Interval *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });

  int64_t areaEnd = 0;
  SmallVector<const Interval *> placed; // by offset
  for (Interval *interval : order) {
    int64_t size = llvm::alignTo(interval->bytes, alignment);
    int64_t bestGap = std::numeric_limits<int64_t>::max(), best = -1, cursor = 0;
    for (const Interval *other : placed) {
      if (other->stop < interval->start || interval->stop < other->start)
        continue;
      if (int64_t gap = other->offset - cursor; gap >= size && gap < bestGap) {
        bestGap = gap;
        best = cursor;
      }
      cursor = std::max<int64_t>(cursor, other->offset + llvm::alignTo(other->bytes, alignment));
    }
    interval->offset = best >= 0 ? best : cursor;
    areaEnd = std::max(areaEnd, interval->offset + size);
    placed.insert(llvm::upper_bound(
                      placed, interval,
                      [](const Interval *a, const Interval *b) { return a->offset < b->offset; }),
                  interval);
  }
  return areaEnd;
}
