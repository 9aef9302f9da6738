#include "lib/Driver/Planning/TaskGroups.h"

#include "dialects/St/Utils/Collectives.h"
#include "lib/Driver/Planning/WorkValues.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::st;
namespace proto = ::st::proto;

NameScope TaskGroups::scopeOf(Operation *op) {
  NameScope scope;
  if (auto kernel = dyn_cast<KernelOp>(op))
    for (Operation &inner : kernel.getBody().front())
      if (!isFree(&inner)) {
        op = &inner;
        break;
      }
  op->getLoc()->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named)
      return WalkResult::advance();
    StringRef name = named.getName().getValue();
    if (name.consume_front("transpose")) {
      scope.isGradient = true;
      if (!name.consume_front("(") || !name.consume_back(")"))
        return WalkResult::advance();
    }
    scope.path = name.str();
    return WalkResult::interrupt();
  });
  return scope;
}

/// Groups an op with ops of the same layer whose values it uses, or that share an operand with it.
void TaskGroups::connect(Operation *op, llvm::MapVector<Value, SmallVector<Operation *>> &users) {
  groups.insert(op);
  if (isIndependent(op))
    return;
  const NameScope &own = scopes[op];
  auto joins = [&](Operation *other) {
    if (other == op || isIndependent(other))
      return;
    auto found = scopes.find(other);
    if (found != scopes.end() && found->second.path == own.path &&
        found->second.isGradient == own.isGradient && blocks.lookup(other) == blocks.lookup(op))
      groups.unionSets(op, other);
  };
  for (Value operand : op->getOperands()) {
    Value value = throughViews(operand);
    if (Operation *maker = value.getDefiningOp())
      joins(maker);
    if (elementsOf(value) <= kFewElements)
      continue;
    for (Operation *other : users[value])
      joins(other);
    users[value].push_back(op);
  }
}

void TaskGroups::group() {
  for (Operation &op : task.getBody().front())
    if (!isFree(&op)) {
      ops.push_back(&op);
      scopes[&op] = scopeOf(&op);
    }
  llvm::MapVector<Value, SmallVector<Operation *>> users;
  for (Operation *op : ops)
    connect(op, users);
}

/// Bytes of a value. If the program also has it in 16 bits, a framework holds only that copy.
double TaskGroups::bytesOf(Value value) const {
  int64_t width = widthOf(value.getType());
  for (Operation *user : value.getUsers())
    if (isa<stablehlo::ConvertOp>(user))
      width = std::min(width, widthOf(user->getResult(0).getType()));
  for (Operation *op = value.getDefiningOp(); isa_and_present<stablehlo::ConvertOp>(op);
       op = op->getOperand(0).getDefiningOp())
    width = std::min(width, widthOf(op->getOperand(0).getType()));
  return static_cast<double>(elementsOf(value) * width);
}

void TaskGroups::describeProduct(stablehlo::DotGeneralOp dot, proto::OpWork &work) const {
  work.set_kind(proto::OpWork::PRODUCT);
  auto numbers = dot.getDotDimensionNumbers();
  const double before = work.flops();
  auto left = cast<RankedTensorType>(dot.getLhs().getType()),
       right = cast<RankedTensorType>(dot.getRhs().getType());
  int64_t batch = 1, k = 1;
  for (int64_t dim : numbers.getLhsBatchingDimensions())
    batch *= left.getDimSize(dim);
  for (int64_t dim : numbers.getLhsContractingDimensions())
    k *= left.getDimSize(dim);
  int64_t m = left.getNumElements() / (batch * k), n = right.getNumElements() / (batch * k);
  work.set_flops(before + 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                              static_cast<double>(k) * static_cast<double>(batch));
  // If several products share a kernel, records the sizes of the first.
  if (before > 0)
    return;
  work.set_m(m);
  work.set_n(n);
  work.set_k(k);
  work.set_batch(batch);
  work.set_type(protoType(left.getElementType()));
}

void TaskGroups::describeCollective(Operation *op, proto::OpWork &work) const {
  work.set_kind(proto::OpWork::COLLECTIVE);
  work.set_collective(op->getName().stripDialect().str());
  for (Attribute axis : op->getAttrOfType<ArrayAttr>("axes"))
    work.add_axes(cast<StringAttr>(axis).getValue().str());
  double bytes = 0;
  const bool gathers = isa<AllGatherOp>(op);
  for (Value value : gathers ? ValueRange(op->getResults()) : ValueRange(op->getOperands())) {
    bytes += static_cast<double>(elementsOf(value) * widthOf(value.getType()));
    work.set_type(protoType(getElementTypeOrSelf(value.getType())));
  }
  work.set_bytes(bytes);
}

/// The type in which a framework holds these values: 16 bits if the program has one in 16 bits.
proto::ElementType TaskGroups::narrowestFloat(const llvm::SetVector<Value> &taken,
                                              const llvm::SetVector<Value> &left) const {
  auto type = proto::F32;
  auto look = [&](Value value) {
    const proto::ElementType own = protoType(getElementTypeOrSelf(value.getType()));
    if (own == proto::F16 || own == proto::BF16)
      type = own;
  };
  for (const auto &values : {taken, left})
    for (Value value : values) {
      look(value);
      for (Operation *user : value.getUsers())
        if (isa<stablehlo::ConvertOp>(user))
          look(user->getResult(0));
    }
  return type;
}

std::optional<uint32_t> TensorIndex::find(Value value, double bytes) {
  Operation *maker = value.getDefiningOp();
  if (!maker || isa<ReadOp>(maker) || elementsOf(value) <= kFewElements ||
      !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return std::nullopt;
  auto [found, isNew] = indices.try_emplace(value, static_cast<uint32_t>(work.tensors_size()));
  if (isNew) {
    proto::TensorWork &tensor = *work.add_tensors();
    tensor.set_block(blocks.lookup_or(maker, -1));
    tensor.set_elements(static_cast<double>(elementsOf(value)));
    tensor.set_bytes(bytes);
  }
  proto::TensorWork &tensor = *work.mutable_tensors(static_cast<int>(found->second));
  tensor.set_bytes(std::min(tensor.bytes(), bytes));
  return found->second;
}

/// The step keeps only the shard of a gathered tensor, which the backward pass gathers again.
void TaskGroups::nameTensors(const llvm::SetVector<Value> &taken,
                             const llvm::SetVector<Value> &outputs, proto::OpWork &work) const {
  if (phase != "forward")
    return;
  for (Value value : taken) {
    while (auto gather = value.getDefiningOp<AllGatherOp>())
      value = throughViews(gather->getOperand(0));
    if (auto index = tensors.find(value, bytesOf(value)))
      work.add_reads(*index);
  }
  // A framework's op returns its results in the type in which it computes.
  const double width = work.type() == proto::F16 || work.type() == proto::BF16 ? 2 : 4;
  for (Value value : outputs) {
    const double bytes = std::min(bytesOf(value), static_cast<double>(elementsOf(value)) * width);
    if (auto index = tensors.find(value, bytes))
      work.add_writes(*index);
  }
}

proto::OpWork TaskGroups::sumUp(ArrayRef<Operation *> members) const {
  proto::OpWork work;
  const NameScope &scope = scopes.find(members.front())->second;
  work.set_region(scope.region().str());
  work.set_is_gradient(scope.isGradient);
  work.set_is_recomputed(!scope.isGradient && (phase == "backward" || phase == "weight"));
  work.set_ops(static_cast<double>(members.size()));
  llvm::SmallPtrSet<Operation *, 8> inside(members.begin(), members.end());
  // Values that only the backward pass uses are written, but not passed on to an op.
  llvm::SetVector<Value> taken, left, outputs;
  for (Operation *op : members) {
    for (Value operand : op->getOperands()) {
      Value value = throughViews(operand);
      Operation *maker = value.getDefiningOp();
      if (!maker || inside.contains(maker) || (isFree(maker) && !isa<ReadOp, RecvOp>(maker)))
        continue;
      taken.insert(value);
    }
    for (Value result : op->getResults()) {
      SmallVector<Value> shown = {result};
      while (!shown.empty()) {
        Value value = shown.pop_back_val();
        for (Operation *user : value.getUsers())
          if (isOperandView(user))
            shown.push_back(user->getResult(0));
          else if (!inside.contains(user)) {
            left.insert(result);
            if (!isa<WriteOp>(user))
              outputs.insert(result);
          }
      }
    }
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
      describeProduct(dot, work);
    else if (isa<KernelOp>(op))
      op->walk([&](stablehlo::DotGeneralOp dot) { describeProduct(dot, work); });
    else if (isCollective(op))
      describeCollective(op, work);
    else
      work.set_flops(work.flops() + static_cast<double>(elementsOf(op->getResult(0))));
  }
  double read = 0, written = 0, largest = 0;
  auto floats = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()))
               ? static_cast<double>(elementsOf(value))
               : 0.0;
  };
  for (Value value : taken) {
    read += bytesOf(value);
    work.set_read_elements(work.read_elements() + floats(value));
    work.set_largest_elements(std::max(work.largest_elements(), floats(value)));
  }
  for (Value value : left) {
    written += bytesOf(value);
    largest = std::max(largest, floats(value));
  }
  work.set_written_elements(largest);
  work.set_largest_elements(std::max(work.largest_elements(), largest));
  if (work.kind() == proto::OpWork::MEMORY)
    work.set_type(narrowestFloat(taken, left));
  work.set_read_bytes(read);
  work.set_written_bytes(written);
  nameTensors(taken, outputs, work);
  return work;
}

void TaskGroups::gather(llvm::MapVector<int64_t, proto::PhaseWork> &byBlock) {
  group();
  llvm::MapVector<Operation *, SmallVector<Operation *>> members;
  for (Operation *op : ops)
    members[groups.getLeaderValue(op)].push_back(op);
  // An accumulation reads the accumulator and the value, and writes the sum.
  for (auto write : task.getOps<WriteOp>()) {
    if (!write.getAccumulate() || elementsOf(write.getValue()) <= kFewElements)
      continue;
    proto::PhaseWork &phase = byBlock[blocks.lookup_or(write, -1)];
    phase.set_block(blocks.lookup_or(write, -1));
    phase.set_phase(this->phase.str());
    proto::OpWork &work = *phase.add_ops();
    const auto elements = static_cast<double>(elementsOf(write.getValue()));
    const Type type = write.getValue().getType();
    work.set_region("accumulate");
    work.set_is_gradient(true);
    work.set_ops(1);
    work.set_flops(elements);
    work.set_read_bytes(2 * elements * static_cast<double>(widthOf(type)));
    work.set_written_bytes(elements * static_cast<double>(widthOf(type)));
    work.set_read_elements(2 * elements);
    work.set_written_elements(elements);
    work.set_largest_elements(elements);
    work.set_type(protoType(getElementTypeOrSelf(type)));
  }
  for (auto &[leader, list] : members) {
    int64_t block = -1;
    for (Operation *op : list)
      block = std::max(block, blocks.lookup_or(op, -1));
    proto::PhaseWork &phase = byBlock[block];
    phase.set_block(block);
    phase.set_phase(task.getPhase().str());
    *phase.add_ops() = sumUp(list);
  }
}
