#include "backends/dtu/simulator/Decoded.h"

#include "backends/dtu/simulator/data/VectorRuns.h"

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Names.h"

#include <algorithm>
#include <numeric>

namespace st::dtu {

FlatAffine::FlatAffine(const Affine &affine) : constant(affine.constant) {
  for (const Affine::Term &term : affine.terms)
    if (term.reg != kZero && term.coefficient) {
      regs[count] = term.reg;
      coefficients[count++] = term.coefficient;
    }
}

FlatDims::FlatDims(const std::vector<Extent> &extents) {
  for (const Extent &extent : extents)
    sizes.emplace_back(extent);
}

int64_t DecodedProgram::numInstances() const {
  int64_t total = 0;
  for (const DecodedStream &stream : streams)
    total += stream.count;
  return total;
}

namespace {

/// The plan for full tiles; a partial tile is planned when it is copied.
CopyPlan fullPlan(const FlatDims &dims, const std::vector<int64_t> &dstStrides,
                  const std::vector<int64_t> &srcStrides, DType dstType, DType srcType) {
  std::vector<int64_t> sizes;
  for (const FlatExtent &size : dims.sizes)
    sizes.push_back(size.tile);
  return planCopy(sizes.size(), sizes.data(), dstStrides.data(), srcStrides.data(),
                  byteWidth(dstType), byteWidth(srcType));
}

StrideOrder orderOf(const std::vector<int64_t> &strides) {
  StrideOrder order(strides.size());
  std::iota(order.rbegin(), order.rend(), uint8_t(0));
  std::stable_sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) {
    return std::abs(strides[a]) < std::abs(strides[b]);
  });
  return order;
}

/// A reduction's destination does not advance along the reduced dimension.
BankSteps bankStepsOf(const VectorInst &vector) {
  BankSteps steps;
  const bool reducesColumns = isRowReduction(vector.op);
  const bool reducesRows = isReduction(vector.op) && !reducesColumns;
  steps.add(reducesRows ? 0 : vector.dst.rowBytes, reducesColumns ? 0 : vector.dst.colBytes);
  for (unsigned k = 0; k < vector.operands; ++k)
    steps.add(vector.src[k].rowBytes, vector.src[k].colBytes);
  return steps;
}

class ProgramDecoder {
public:
  ProgramDecoder(DecodedProgram &out, const HostKernels &kernels) : out(out), kernels(kernels) {}

  void decode(const Stream &stream) {
    DecodedStream &decoded = out.streams.emplace_back();
    decoded.engine = stream.engine;
    decoded.first = stream.first;
    decoded.count = stream.count;
    slots = &decoded.slots;
    int32_t labelBase = static_cast<int32_t>(out.labels.size());
    out.labels.insert(out.labels.end(), stream.labels.begin(), stream.labels.end());
    int32_t label = -1;
    auto start = stream.labelStarts.begin();
    for (size_t i = 0; i < stream.instructions.size(); ++i) {
      for (; start != stream.labelStarts.end() && start->first <= static_cast<int64_t>(i); ++start)
        label = labelBase + static_cast<int32_t>(start->second);
      decoded.labels.push_back(label);
      std::visit([&](const auto &instruction) { add(instruction); }, stream.instructions[i]);
    }
  }

private:
  DecodedProgram &out;
  const HostKernels &kernels;
  std::vector<Slot> *slots = nullptr;
  std::vector<uint32_t> openLoops;

  template <typename Inst> void push(Opcode opcode, std::vector<Inst> &table, Inst instruction) {
    slots->push_back({opcode, static_cast<uint32_t>(table.size())});
    table.push_back(std::move(instruction));
  }

  void add(const Loop &i) {
    uint32_t index = static_cast<uint32_t>(out.loops.size());
    LoopInst loop = {i.reg,
                     static_cast<uint8_t>(openLoops.size()),
                     FlatAffine(i.start),
                     FlatAffine(i.limit),
                     i.step,
                     static_cast<uint32_t>(slots->size()),
                     0};
    push(Opcode::Loop, out.loops, loop);
    openLoops.push_back(index);
  }
  void add(const EndLoop &) {
    uint32_t index = openLoops.back();
    openLoops.pop_back();
    out.loops[index].end = static_cast<uint32_t>(slots->size());
    slots->push_back({Opcode::EndLoop, index});
  }
  void add(const Index &i) {
    push(Opcode::Index, out.indices,
         IndexInst{i.dst, FlatAffine(i.value), i.divide, i.modulo, i.multiply});
  }
  void add(const Table &i) {
    push(Opcode::Table, out.tables, TableInst{i.dst, FlatAffine(i.index)});
  }
  void add(const Wait &i) {
    push(Opcode::Wait, out.semaphores, SemaphoreInst{FlatAffine(i.semaphore), i.count});
  }
  void add(const Signal &i) {
    push(Opcode::Signal, out.semaphores, SemaphoreInst{FlatAffine(i.semaphore), i.count});
  }
  void add(const Barrier &i) {
    push(Opcode::Barrier, out.barriers, BarrierInst{i.id, i.participants});
  }
  void add(const Copy &i) {
    CopyInst copy;
    copy.dst = FlatAddress(i.dst.address, byteWidth(i.dstType));
    copy.src = FlatAddress(i.src.address, byteWidth(i.srcType));
    copy.dims = FlatDims(i.sizes);
    copy.dstStrides = i.dst.strides;
    copy.srcStrides = i.src.strides;
    copy.dstOrder = orderOf(copy.dstStrides);
    copy.srcOrder = orderOf(copy.srcStrides);
    copy.dstType = i.dstType;
    copy.srcType = i.srcType;
    copy.multicast = i.multicast;
    if (i.dstType != i.srcType)
      copy.convert = findConvertKernel(kernels, i.dstType, i.srcType);
    copy.plan = fullPlan(copy.dims, copy.dstStrides, copy.srcStrides, i.dstType, i.srcType);
    push(Opcode::Copy, out.copies, std::move(copy));
  }
  void add(const Fill &i) {
    FillInst fill;
    fill.dst = FlatAddress(i.dst.address, byteWidth(i.type));
    fill.dims = FlatDims(i.sizes);
    fill.strides = i.dst.strides;
    fill.order = orderOf(fill.strides);
    fill.type = i.type;
    fill.value = i.value;
    fill.multicast = i.multicast;
    fill.plan = fullPlan(fill.dims, fill.strides, fill.strides, i.type, i.type);
    push(Opcode::Fill, out.fills, std::move(fill));
  }
  void add(const Gather &i) {
    unsigned width = byteWidth(i.type);
    push(Opcode::Gather, out.rows,
         RowsInst{FlatAddress(i.table, width), FlatAddress(i.dst, width),
                  FlatAddress(i.index, byteWidth(i.indexType)), i.tableStride, i.dstStride,
                  FlatExtent(i.count), FlatExtent(i.rowElements), i.type, i.indexType,
                  FlatAffine(i.base), i.rows, i.clamp});
  }
  void add(const Scatter &i) {
    unsigned width = byteWidth(i.type);
    DType computeType = is16Bit(i.type) ? DType::F32 : i.type;
    push(Opcode::Scatter, out.rows,
         RowsInst{FlatAddress(i.table, width), FlatAddress(i.src, width),
                  FlatAddress(i.index, byteWidth(i.indexType)), i.tableStride, i.srcStride,
                  FlatExtent(i.count), FlatExtent(i.rowElements), i.type, i.indexType,
                  FlatAffine(i.base), i.rows, false, i.combine,
                  combineKernel(i.combine, computeType)});
  }
  void add(const Matmul &i) {
    unsigned width = byteWidth(i.type);
    push(Opcode::Matmul, out.matmuls,
         MatmulInst{FlatAddress(i.c, 4), FlatAddress(i.a, width), FlatAddress(i.b, width),
                    FlatExtent(i.m), FlatExtent(i.n), FlatExtent(i.k), i.ldc, i.lda, i.ldb, i.type,
                    i.transposeA, i.transposeB, i.accumulate, i.accumulateReg});
  }
  static FlatOperand operand(const TileOperand &o) {
    int64_t width = byteWidth(o.type);
    return {FlatAddress(o.address, static_cast<unsigned>(width)), o.rowStride * width,
            o.colStride * width, o.type, static_cast<uint8_t>(width)};
  }
  void add(const Vector &i) {
    VectorInst vector;
    vector.op = i.op;
    vector.dst = operand(i.dst);
    for (unsigned k = 0; k < 3; ++k)
      vector.src[k] = operand(i.src[k]);
    vector.operands = static_cast<uint8_t>(operandCount(i.op));
    vector.width = vector.dst.width;
    for (unsigned k = 0; k < vector.operands; ++k)
      vector.width = std::max(vector.width, vector.src[k].width);
    vector.bankSteps = bankStepsOf(vector);
    vector.rows = FlatExtent(i.rows);
    vector.cols = FlatExtent(i.cols);
    vector.accumulate = i.accumulate;
    vector.start = FlatAffine(i.start);
    vector.rowStep = i.rowStep;
    vector.colStep = i.colStep;
    vector.value = i.value;
    DType type = i.op == VectorOp::Select ? i.src[1].type : i.src[0].type;
    vector.computeType = is16Bit(type) ? DType::F32 : type;
    bool converts = i.op == VectorOp::Copy && i.dst.type != type;
    if (vector.operands && !converts)
      vector.kernel = findVectorKernel(kernels, i.op, vector.computeType);
    push(Opcode::Vector, out.vectors, std::move(vector));
  }
  LinkInst link(uint8_t peer, const View &view, const std::vector<Extent> &sizes, DType type,
                int64_t channel, Reduce reduce) {
    LinkInst link;
    link.peer = peer;
    link.address = FlatAddress(view.address, byteWidth(type));
    link.dims = FlatDims(sizes);
    link.strides = view.strides;
    link.order = orderOf(link.strides);
    link.type = type;
    link.channel = channel;
    link.reduce = reduce;
    link.combine = combineKernel(reduce, is16Bit(type) ? DType::F32 : type);
    return link;
  }
  TileKernel combineKernel(Reduce reduce, DType type) const {
    constexpr VectorOp ops[] = {VectorOp::Copy, VectorOp::Add, VectorOp::Max, VectorOp::Min,
                                VectorOp::And,  VectorOp::Or,  VectorOp::Mul};
    return reduce == Reduce::None
               ? nullptr
               : findVectorKernel(kernels, ops[static_cast<unsigned>(reduce)], type);
  }
  void add(const Load &i) {
    push(Opcode::Load, out.loads,
         LoadInst{i.dst, FlatAddress(i.address, byteWidth(i.type)), i.type});
  }
  void add(const Leave &i) {
    push(Opcode::Leave, out.leaves, LeaveInst{i.unless, openLoops.back()});
  }
  void add(const Send &i) {
    push(Opcode::Send, out.links, link(i.peer, i.src, i.sizes, i.type, i.channel, Reduce::None));
  }
  void add(const Recv &i) {
    push(Opcode::Recv, out.links, link(i.peer, i.dst, i.sizes, i.type, i.channel, i.reduce));
  }
};

} // namespace

std::unique_ptr<DecodedProgram> decodeProgram(const Program &program, const HostKernels &kernels) {
  auto decoded = std::make_unique<DecodedProgram>();
  decoded->source = {program.name,      program.semaphores, program.barriers,
                     program.l1Bytes,   program.l2Bytes,    program.l3Bytes,
                     program.hostBytes, program.tableSize,  {}};
  decoded->encoded = encode(program);
  ProgramDecoder decoder(*decoded, kernels);
  for (const Stream &stream : program.streams)
    decoder.decode(stream);
  for (DecodedStream &stream : decoded->streams)
    stream.runs = findVectorRuns(*decoded, stream);
  return decoded;
}

std::string describePlace(const DecodedProgram &program, size_t stream, size_t instruction) {
  const absl::StatusOr<Program> source = decode(program.encoded);
  return source.ok() ? describePlace(*source, stream, instruction)
                     : std::string(source.status().message());
}

} // namespace st::dtu
