#include "backends/dtu/isa/Validator.h"

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Ranges.h"
#include "backends/dtu/isa/Text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>
#include <set>

namespace st::dtu {
namespace {

/// Checks one stream: walks its instructions in order with the known ranges of the registers.
class StreamValidator {
public:
  StreamValidator(const Program &program, const Stream &stream, const MachineLimits &limits,
                  std::map<int64_t, int64_t> &barriers)
      : program(program), stream(stream), limits(limits), barriers(barriers), ranges(stream.count) {
  }

  /// Returns the first error, or an empty string; `position` is then its instruction.
  std::string run() {
    for (position = 0; position < stream.instructions.size(); ++position) {
      std::visit([&](const auto &i) { check(i); }, stream.instructions[position]);
      if (!error.empty())
        return error;
    }
    if (!loops.empty()) {
      position = loops.back().at;
      fail("loop without an end");
    }
    return error;
  }

  size_t position = 0;

private:
  struct OpenLoop {
    size_t at;
    uint8_t reg;
    bool mayNotRun; ///< its value outside the loop
  };

  const Program &program;
  const Stream &stream;
  const MachineLimits &limits;
  std::map<int64_t, int64_t> &barriers;
  RegisterRanges ranges;
  std::vector<OpenLoop> loops;
  bool mayNotRun = false;   ///< inside a loop that is not known to run
  bool reachesHost = false; ///< the instruction may name the host's memory
  std::string error;

  template <typename... Args> void fail(const Args &...args) {
    if (error.empty())
      error = absl::StrCat(args...);
  }
  void require(bool condition, absl::string_view what) {
    if (!condition)
      fail(what);
  }

  // ---- pieces ----

  void checkAffine(const Affine &value) {
    require(value.terms.size() <= Affine::kMaxTerms, "more than 6 terms in an expression");
    for (const Affine::Term &term : value.terms)
      require(term.reg < kNumRegisters, "no such register");
  }
  void checkWritable(uint8_t reg) {
    if (reg < kFirstFree || reg >= kNumRegisters)
      fail("register r", static_cast<int>(reg), " cannot be written");
    for (const OpenLoop &loop : loops)
      if (loop.reg == reg)
        fail("register r", static_cast<int>(reg), " is the counter of an enclosing loop");
  }
  void checkExtent(const Extent &extent) {
    if (extent.tile < 0 || extent.tile > kMaxExtent)
      fail("extent ", extent.tile, " out of range");
    require(extent.reg < kNumRegisters, "no such register");
  }
  void checkStride(int64_t stride, unsigned alignment) {
    if (stride > kMaxStride || stride < -kMaxStride)
      fail("stride ", stride, " out of range");
    if (stride % static_cast<int64_t>(alignment))
      fail("stride ", stride, " is not a multiple of the element's ", alignment, " bytes");
  }
  int64_t spaceBytes(Space space) const {
    return space == Space::L1   ? program.l1Bytes
           : space == Space::L2 ? program.l2Bytes
           : space == Space::L3 ? program.l3Bytes
                                : program.hostBytes;
  }

  /// An access of `dims` (extent and byte stride) with elements of `width` bytes.
  void checkAccess(absl::string_view what, const Address &address,
                   const std::vector<RangeDim> &dims, unsigned width, int64_t multicast = 1) {
    checkAffine(address.offset);
    checkAffine(address.core);
    for (const RangeDim &dim : dims) {
      checkExtent(*dim.extent);
      checkStride(dim.stride, width);
    }
    if (stream.engine == Engine::Core)
      require(address.space == Space::L1, "a core can access only its own L1");
    if (multicast > 1)
      require(address.space == Space::L1, "multicast is to L1 only");
    require(address.space != Space::Host || reachesHost,
            "only a copy can access the host's memory");
    if (!error.empty() || mayNotRun)
      return;
    if (std::optional<ByteRange> range = ranges.access(address.offset, dims, width)) {
      int64_t bytes = spaceBytes(address.space);
      if (range->low < 0 || range->high > bytes)
        fail(what, " covers bytes ", range->low, " to ", range->high, " of ", name(address.space),
             ", but the program has only ", bytes);
    }
    // Alignment of the base either holds for every register value or is checked by the simulator.
    bool constant = address.offset.terms.empty();
    if (constant && address.offset.constant % width)
      fail(what, " is not aligned to ", width, " bytes");
  }
  void checkView(absl::string_view what, const View &view, const std::vector<Extent> &sizes,
                 DType type, int64_t multicast = 1) {
    if (view.strides.size() != sizes.size()) {
      fail(what, " has ", view.strides.size(), " strides for ", sizes.size(), " dimensions");
      return;
    }
    require(sizes.size() <= kMaxCopyDims, "more than 6 dimensions");
    std::vector<RangeDim> dims;
    for (size_t i = 0; i < sizes.size(); ++i)
      dims.push_back({&sizes[i], view.strides[i]});
    checkAccess(what, view.address, dims, byteWidth(type), multicast);
  }
  void checkOperand(absl::string_view what, const TileOperand &operand, const Extent &rows,
                    const Extent &cols) {
    int64_t width = byteWidth(operand.type);
    if (std::max(std::abs(operand.rowStride), std::abs(operand.colStride)) > kMaxStride / 8) {
      fail(what, " has a stride out of range");
      return;
    }
    checkAccess(what, operand.address,
                {{&rows, operand.rowStride * width}, {&cols, operand.colStride * width}}, width);
  }
  void checkEngine(Engine engine) {
    if (stream.engine != engine)
      fail("is in a ", name(stream.engine), " stream, expected a ", name(engine), " stream");
  }
  void checkSemaphore(const Affine &semaphore, int64_t count) {
    checkAffine(semaphore);
    require(count >= 1, "count must be positive");
    if (!error.empty() || mayNotRun)
      return;
    std::optional<ByteRange> range = ranges.access(semaphore, {}, 1);
    if (range && (range->low < 0 || range->high > program.semaphores))
      fail("semaphores ", range->low, " to ", range->high - 1, ", but the program has only ",
           program.semaphores);
  }
  void checkMulticast(int64_t multicast) {
    require(multicast >= 1, "multicast must be positive");
    if (multicast > limits.cores)
      fail("multicast to ", multicast, " cores, but a cluster has only ", limits.cores);
  }

  // ---- control ----

  void check(const Loop &i) {
    checkAffine(i.start);
    checkAffine(i.limit);
    checkWritable(i.reg);
    require(i.step > 0, "step must be positive");
    require(loops.size() < kMaxLoopDepth, "loops nested too deep");
    if (!error.empty())
      return;
    loops.push_back({position, i.reg, mayNotRun});
    if (!ranges.enterLoop(i) || canBeLeft())
      mayNotRun = true;
  }
  /// Returns true if data may end the loop at `position` before its limit does.
  bool canBeLeft() const {
    int depth = 0;
    for (size_t at = position; at < stream.instructions.size(); ++at) {
      const Instruction &instruction = stream.instructions[at];
      depth += std::holds_alternative<Loop>(instruction);
      depth -= std::holds_alternative<EndLoop>(instruction);
      if (depth == 0)
        return false;
      if (depth == 1 && std::holds_alternative<Leave>(instruction))
        return true;
    }
    return false;
  }
  void check(const EndLoop &) {
    if (loops.empty()) {
      fail("end without a loop");
      return;
    }
    mayNotRun = loops.back().mayNotRun;
    ranges.forget(loops.back().reg);
    loops.pop_back();
  }
  void check(const Index &i) {
    checkAffine(i.value);
    checkWritable(i.dst);
    require(i.divide > 0, "divide must be positive");
    require(i.modulo >= 0, "modulo must not be negative");
    if (error.empty())
      ranges.forget(i.dst);
  }
  void check(const Table &i) {
    checkAffine(i.index);
    checkWritable(i.dst);
    if (!error.empty())
      return;
    std::optional<ByteRange> range = ranges.access(i.index, {}, 1);
    if (!mayNotRun && range && (range->low < 0 || range->high > program.tableSize))
      fail("table entries ", range->low, " to ", range->high - 1, ", but the table has only ",
           program.tableSize);
    ranges.forget(i.dst);
  }
  void check(const Wait &i) { checkSemaphore(i.semaphore, i.count); }
  void check(const Signal &i) { checkSemaphore(i.semaphore, i.count); }
  void check(const Barrier &i) {
    if (i.id < 0 || i.id >= program.barriers)
      fail("barrier ", i.id, ", but the program has only ", program.barriers);
    require(i.participants >= 1, "a barrier needs a participant");
    auto [it, isNew] = barriers.emplace(i.id, i.participants);
    if (!isNew && it->second != i.participants)
      fail("barrier ", i.id, " has ", it->second, " participants elsewhere");
  }

  // ---- dte ----

  void check(const Copy &i) {
    checkEngine(Engine::Dte);
    checkMulticast(i.multicast);
    require(i.dst.address.space != Space::Host || i.src.address.space != Space::Host,
            "both sides are in the host's memory");
    reachesHost = true;
    checkView("destination", i.dst, i.sizes, i.dstType, i.multicast);
    checkView("source", i.src, i.sizes, i.srcType);
    reachesHost = false;
  }
  void check(const Fill &i) {
    checkEngine(Engine::Dte);
    checkMulticast(i.multicast);
    checkView("destination", i.dst, i.sizes, i.type, i.multicast);
  }
  void checkRows(DType type, DType indexType, const Affine &base, int64_t rows) {
    checkEngine(Engine::Dte);
    checkAffine(base);
    require(indexType == DType::I32 || indexType == DType::U32 || indexType == DType::I64,
            "an index is i32, ui32 or i64");
    require(rows >= 0 && rows <= kMaxExtent, "number of rows out of range");
  }
  void check(const Gather &i) {
    checkRows(i.type, i.indexType, i.base, i.rows);
    require(!i.clamp || i.rows > 0, "clamping needs a row");
    unsigned width = byteWidth(i.type), indexWidth = byteWidth(i.indexType);
    Extent rows{i.rows, kZero, 0};
    checkAccess("destination", i.dst, {{&i.count, i.dstStride}, {&i.rowElements, width}}, width);
    checkAccess("table", i.table, {{&rows, i.tableStride}, {&i.rowElements, width}}, width);
    checkAccess("index", i.index, {{&i.count, indexWidth}}, indexWidth);
  }
  void check(const Scatter &i) {
    checkRows(i.type, i.indexType, i.base, i.rows);
    unsigned width = byteWidth(i.type), indexWidth = byteWidth(i.indexType);
    Extent rows{i.rows, kZero, 0};
    checkAccess("source", i.src, {{&i.count, i.srcStride}, {&i.rowElements, width}}, width);
    checkAccess("table", i.table, {{&rows, i.tableStride}, {&i.rowElements, width}}, width);
    checkAccess("index", i.index, {{&i.count, indexWidth}}, indexWidth);
    checkReduce(i.combine, i.type);
  }
  void checkReduce(Reduce reduce, DType type) {
    bool logical = reduce == Reduce::And || reduce == Reduce::Or;
    require(!logical || !isFloat(type), "and/or reduce integers only");
    require(type != DType::I1 || reduce != Reduce::Sum, "cannot add i1");
  }
  void check(const Load &i) {
    require(stream.engine == Engine::Core || stream.engine == Engine::Dte,
            "is in a link stream, expected a core or dte stream");
    require(!isFloat(i.type), "a register takes integers only");
    checkWritable(i.dst);
    checkAccess("address", i.address, {}, byteWidth(i.type));
    if (error.empty())
      ranges.forget(i.dst);
  }
  void check(const Leave &i) {
    require(!loops.empty(), "leave without a loop");
    require(i.unless < kNumRegisters, "no such register");
  }

  // ---- cores ----

  void check(const Matmul &i) {
    checkEngine(Engine::Core);
    require(i.type == DType::F32 || i.type == DType::BF16 || i.type == DType::F16,
            "the matrix engine takes f32, bf16 or f16");
    require(i.accumulateReg < kNumRegisters, "no such register");
    const Extent &aRows = i.transposeA ? i.k : i.m, &aCols = i.transposeA ? i.m : i.k;
    const Extent &bRows = i.transposeB ? i.n : i.k, &bCols = i.transposeB ? i.k : i.n;
    for (auto [stride, extent] : {std::pair{i.lda, &aCols}, {i.ldb, &bCols}, {i.ldc, &i.n}})
      if (stride < extent->tile || stride > kMaxExtent)
        fail("leading dimension ", stride, ", expected at least the ", extent->tile,
             " elements of a row");
    if (!error.empty())
      return;
    int64_t width = byteWidth(i.type);
    checkAccess("C", i.c, {{&i.m, i.ldc * 4}, {&i.n, 4}}, 4);
    checkAccess("A", i.a, {{&aRows, i.lda * width}, {&aCols, width}}, width);
    checkAccess("B", i.b, {{&bRows, i.ldb * width}, {&bCols, width}}, width);
  }
  void check(const Vector &i) {
    checkEngine(Engine::Core);
    checkVectorTypes(i);
    require(!i.accumulate || isReduction(i.op), "only a reduction accumulates");
    checkAffine(i.start);
    Extent one;
    bool reduction = isReduction(i.op), rowReduction = isRowReduction(i.op);
    checkOperand("destination", i.dst, reduction && !rowReduction ? one : i.rows,
                 rowReduction ? one : i.cols);
    constexpr absl::string_view names[] = {"operand a", "operand b", "operand c"};
    for (unsigned k = 0; k < operandCount(i.op); ++k)
      checkOperand(names[k], i.src[k], i.rows, i.cols);
  }
  void checkVectorTypes(const Vector &i) {
    unsigned operands = operandCount(i.op);
    DType type = i.op == VectorOp::Select ? i.src[1].type : i.src[0].type;
    if (i.op == VectorOp::Select)
      require(i.src[0].type == DType::I1, "select's operand a must be i1");
    for (unsigned k = i.op == VectorOp::Select ? 1 : 0; k < operands; ++k)
      if (i.src[k].type != type)
        fail("operands have different types, ", name(type), " and ", name(i.src[k].type));
    if (isCompare(i.op) || i.op == VectorOp::IsFinite)
      require(i.dst.type == DType::I1, "the destination of a comparison must be i1");
    else if (operands && !isReduction(i.op) && i.op != VectorOp::Copy && i.dst.type != type)
      fail("destination has type ", name(i.dst.type), ", expected the operands' type ", name(type));
    if (isReduction(i.op) && i.dst.type != type && !(isFloat(i.dst.type) && isFloat(type)))
      fail("reduction has operands of type ", name(type), " but destination type ",
           name(i.dst.type));
    if (!operandTypeAllowed(i.op, type))
      fail("'", name(i.op), "' does not take ", name(type));
  }
  static bool operandTypeAllowed(VectorOp op, DType type) {
    if (operandCount(op) == 0)
      return true;
    if ((op >= VectorOp::Exp && op <= VectorOp::RoundEven) || op == VectorOp::IsFinite)
      return isFloat(type);
    if (op == VectorOp::Not || (op >= VectorOp::And && op <= VectorOp::Xor))
      return !isFloat(type);
    if (op >= VectorOp::Shl && op <= VectorOp::RotateLeft)
      return !isFloat(type) && type != DType::I1;
    if (op == VectorOp::MulHigh)
      return type == DType::U8 || type == DType::U16 || type == DType::U32;
    if (type == DType::I1)
      return op != VectorOp::Neg && op != VectorOp::Abs && op != VectorOp::Sign &&
             op != VectorOp::Sub && op != VectorOp::Div && op != VectorOp::Rem &&
             op != VectorOp::Pow && op != VectorOp::MulAdd;
    return true;
  }

  // ---- links ----

  void check(const Send &i) {
    checkEngine(Engine::Tx);
    require(i.peer < kNumRegisters, "no such register");
    require(i.channel >= 0, "channel must not be negative");
    checkView("source", i.src, i.sizes, i.type);
  }
  void check(const Recv &i) {
    checkEngine(Engine::Rx);
    require(i.peer < kNumRegisters, "no such register");
    require(i.channel >= 0, "channel must not be negative");
    checkView("destination", i.dst, i.sizes, i.type);
    checkReduce(i.reduce, i.type);
  }
};

std::string checkProgram(const Program &program, const MachineLimits &limits) {
  auto within = [](int64_t value, int64_t limit, absl::string_view what) {
    return value >= 0 && value <= limit
               ? std::string()
               : absl::StrCat(what, " ", value, " where there are ", limit);
  };
  for (std::string error : {within(program.l1Bytes, limits.l1Bytes, "L1 bytes"),
                            within(program.l2Bytes, limits.l2Bytes, "L2 bytes"),
                            within(program.l3Bytes, limits.l3Bytes, "L3 bytes"),
                            within(program.hostBytes, limits.hostBytes, "host bytes"),
                            within(program.semaphores, kMaxSemaphores, "semaphores"),
                            within(program.barriers, kMaxBarriers, "barriers"),
                            within(program.tableSize, kMaxTableSize, "table entries")})
    if (!error.empty())
      return error;
  return "";
}

/// Instances must exist in the machine, and each may be used once.
std::string checkInstances(const Stream &stream, const MachineLimits &limits,
                           std::set<std::pair<Engine, int64_t>> &claimed) {
  int64_t available = stream.engine == Engine::Core  ? limits.cores
                      : stream.engine == Engine::Dte ? limits.dteQueues
                                                     : kLinkQueues;
  if (stream.first < 0 || stream.count < 1 || stream.first > available ||
      stream.count > available - stream.first)
    return absl::StrCat(stream.count, " instances from ", stream.first, ", but there are only ",
                        available);
  for (int64_t i = stream.first; i < stream.first + stream.count; ++i)
    if (!claimed.emplace(stream.engine, i).second)
      return absl::StrCat("another stream runs on ", name(stream.engine), " ", i, " already");
  return "";
}

std::string checkLabels(const Stream &stream) {
  int64_t previous = 0;
  for (auto [instruction, label] : stream.labelStarts) {
    if (instruction < previous || instruction > static_cast<int64_t>(stream.instructions.size()) ||
        label < 0 || label >= static_cast<int64_t>(stream.labels.size()))
      return "labels out of order or range";
    previous = instruction;
  }
  return "";
}

} // namespace

MachineLimits machineLimits(const proto::DtuDescription &description) {
  int64_t clusters = std::max<int64_t>(1, description.clusters_per_chip());
  MachineLimits limits;
  limits.cores = description.cores_per_cluster();
  limits.dteQueues = static_cast<int64_t>(description.dte_per_chip().value()) / clusters;
  limits.l1Bytes = static_cast<int64_t>(description.l1_bytes_per_core().value());
  limits.l2Bytes = static_cast<int64_t>(description.l2_bytes_per_cluster().value());
  limits.l3Bytes = static_cast<int64_t>(description.l3_bytes_per_chip().value()) / clusters;
  if (description.has_host_gbytes_per_second())
    limits.hostBytes =
        description.has_host_bytes_per_chip()
            ? static_cast<int64_t>(description.host_bytes_per_chip().value()) / clusters
            : kNoHostLimit;
  return limits;
}

std::string describePlace(const Program &program, size_t stream, size_t instruction) {
  const Stream &s = program.streams[stream];
  std::string place =
      absl::StrCat("program '", program.name, "', stream ", stream, " (", name(s.engine), ")");
  if (instruction >= s.instructions.size())
    return place;
  return absl::StrCat(place, ", instruction ", instruction, " (",
                      printInstruction(s.instructions[instruction]), ")");
}

absl::Status validate(const Program &program, const MachineLimits &limits) {
  if (std::string error = checkProgram(program, limits); !error.empty())
    return absl::InvalidArgumentError(absl::StrCat("program '", program.name, "': ", error));
  std::set<std::pair<Engine, int64_t>> claimed;
  std::map<int64_t, int64_t> barriers;
  for (size_t s = 0; s < program.streams.size(); ++s) {
    const Stream &stream = program.streams[s];
    size_t at = stream.instructions.size();
    std::string error = checkInstances(stream, limits, claimed);
    if (error.empty())
      error = checkLabels(stream);
    if (error.empty()) {
      StreamValidator validator(program, stream, limits, barriers);
      error = validator.run();
      at = validator.position;
    }
    if (!error.empty())
      return absl::InvalidArgumentError(absl::StrCat(describePlace(program, s, at), ": ", error));
  }
  for (auto [id, participants] : barriers)
    if (participants > static_cast<int64_t>(claimed.size()))
      return absl::InvalidArgumentError(
          absl::StrCat("program '", program.name, "': barrier ", id, " has ", participants,
                       " participants, but there are only ", claimed.size(), " instances"));
  return absl::OkStatus();
}

} // namespace st::dtu
