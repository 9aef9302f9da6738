#include "lib/Runtime/Program/ValidateCuda.h"

#include "lib/Runtime/State/TensorLayout.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <google/protobuf/stubs/logging.h>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace st {
namespace {

constexpr int64_t kLargestMemory = int64_t{1} << 46;
constexpr int64_t kMaxAlignment = 16;
constexpr int64_t kMaxBlocks = INT_MAX, kMaxThreads = 1024;
constexpr int64_t kMaxSharedBytes = 227 << 10;
constexpr int64_t kMaxMatrix = INT_MAX;

absl::Status invalid(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("invalid training program: ", message));
}

// Multiplies and adds, and records whether a number exceeded any memory.
class Bytes {
public:
  void add(int64_t count, int64_t each) {
    int64_t product;
    if (count < 0 || each < 0 || __builtin_mul_overflow(count, each, &product) ||
        product > kLargestMemory)
      isPossible = false;
    else
      sum = std::min(sum + product, kLargestMemory + 1);
  }
  bool fits(int64_t memory) const { return isPossible && sum <= memory; }

private:
  int64_t sum = 0;
  bool isPossible = true;
};

class TaskValidator {
public:
  TaskValidator(const proto::Executable &program, const proto::Group &group, int64_t ranks,
                const proto::Task &task)
      : program(program), group(group), ranks(ranks), task(task) {}

  absl::Status run();

private:
  using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

  const proto::Executable &program;
  const proto::Group &group;
  int64_t ranks; // in all groups
  const proto::Task &task;
  int64_t number = 0; // index of the command

  absl::Status error(absl::string_view message) const {
    return invalid(absl::StrCat("task \"", task.name(), "\", command ", number, ": ", message));
  }
  absl::Status checkEntry(int64_t entry, int64_t minimum, int64_t end) const;
  /// Checks a message to or from the rank of an entry; the rank may be -1.
  absl::Status checkChannel(int64_t entry, int64_t channel) const;
  absl::Status checkPlace(absl::string_view what, const proto::CudaPlace &place,
                          const Bytes &bytes) const;
  absl::Status checkPlace(absl::string_view what, const proto::CudaPlace &place,
                          int64_t bytes) const;
  absl::Status checkAlignment(absl::string_view what, const proto::CudaPlace &place,
                              int64_t alignment) const;
  absl::Status checkCommands(const Commands &commands);
  absl::Status check(const proto::CudaCommand &command);
  absl::Status check(const proto::CudaLaunch &launch) const;
  absl::Status check(const proto::CudaCopy &copy) const;
  absl::Status check(const proto::CudaProduct &product);
  /// Checks the body of a command: commands that compute the same.
  absl::Status checkBody(absl::string_view what, const Commands &body);
  absl::Status checkEpilogue(const proto::CudaProduct &product, int64_t dWidth) const;
  absl::Status check(const proto::CudaExchange &exchange) const;
  absl::Status check(const proto::CudaAttention &attention);
  absl::Status checkHeads(absl::string_view what, const proto::CudaAttention &attention,
                          const proto::CudaHeads &heads, int64_t rows, int64_t columns,
                          int64_t width) const;
  absl::Status checkMatrix(absl::string_view what, const proto::CudaProduct &product,
                           const proto::CudaPlace &place, const proto::CudaMatrix &matrix,
                           int64_t rows, int64_t columns, int64_t width) const;
  int64_t tableEntry(int rank, int64_t entry) const {
    return group.rank_tables(static_cast<int>(rank * group.table_size() + entry));
  }
};

/// Checks that the entry of each rank's table is at least `minimum` and below `end`.
absl::Status TaskValidator::checkEntry(int64_t entry, int64_t minimum, int64_t end) const {
  if (entry < 0 || entry >= group.table_size())
    return error(
        absl::StrCat("entry ", entry, " of a rank table with ", group.table_size(), " entries"));
  for (int rank = 0; rank < group.device_ids_size(); ++rank)
    if (int64_t value = tableEntry(rank, entry); value < minimum || value >= end)
      return error(absl::StrCat("entry ", entry, " of the rank table is ", value));
  return absl::OkStatus();
}

absl::Status TaskValidator::checkChannel(int64_t entry, int64_t channel) const {
  if (channel < 0)
    return error(absl::StrCat("a message on channel ", channel));
  return checkEntry(entry, -1, ranks);
}

/// Checks `bytes` at a place.
absl::Status TaskValidator::checkPlace(absl::string_view what, const proto::CudaPlace &place,
                                       const Bytes &bytes) const {
  Bytes end = bytes;
  if (place.slots() < 1)
    return error(absl::StrCat(what, " has ", place.slots(), " slots"));
  end.add(1, place.offset());
  end.add(std::min(place.slots(), program.micro_batches()) - 1, place.stride());
  if (place.has_position())
    ST_RETURN_IF_ERROR(checkEntry(place.position(), 0, ranks));
  const int64_t memory = place.scratch() ? program.cuda().scratch_bytes() : group.arena_bytes();
  for (int rank = 0; rank < group.device_ids_size(); ++rank) {
    Bytes last = end;
    if (place.has_position())
      last.add(tableEntry(rank, place.position()), place.position_stride());
    if (!last.fits(memory))
      return error(absl::StrCat(what, " at offset ", place.offset(), " ends after the ",
                                place.scratch() ? "scratch memory" : "arena", " of ", memory,
                                " bytes of rank ", group.first_rank() + rank));
  }
  return absl::OkStatus();
}

absl::Status TaskValidator::checkPlace(absl::string_view what, const proto::CudaPlace &place,
                                       int64_t bytes) const {
  Bytes size;
  size.add(1, bytes);
  return checkPlace(what, place, size);
}

absl::Status TaskValidator::checkAlignment(absl::string_view what, const proto::CudaPlace &place,
                                           int64_t alignment) const {
  for (int64_t distance : {place.offset(), place.slots() > 1 ? place.stride() : 0,
                           place.has_position() ? place.position_stride() : 0})
    if (distance % alignment != 0)
      return error(absl::StrCat(what, " is not aligned to ", alignment, " bytes"));
  return absl::OkStatus();
}

absl::Status TaskValidator::check(const proto::CudaLaunch &launch) const {
  if (launch.kernel() < 0 || launch.kernel() >= program.cuda().kernels_size())
    return error(absl::StrCat("kernel ", launch.kernel(), " of ", program.cuda().kernels_size()));
  const proto::CudaKernel &kernel = program.cuda().kernels(static_cast<int>(launch.kernel()));
  if (kernel.argument_bytes_size() != launch.arguments_size())
    return error(absl::StrCat("kernel ", kernel.name(), " takes ", kernel.argument_bytes_size(),
                              " buffers, but the launch passes ", launch.arguments_size()));
  for (int i = 0; i < launch.arguments_size(); ++i) {
    const std::string what = absl::StrCat("buffer ", i, " of ", kernel.name());
    ST_RETURN_IF_ERROR(checkPlace(what, launch.arguments(i), kernel.argument_bytes(i)));
    ST_RETURN_IF_ERROR(checkAlignment(what, launch.arguments(i), kernel.argument_alignments(i)));
  }
  return absl::OkStatus();
}

absl::Status TaskValidator::check(const proto::CudaCopy &copy) const {
  if (copy.rows() < 1 || copy.row_bytes() < 0)
    return error(absl::StrCat("a copy of ", copy.rows(), " rows of ", copy.row_bytes(), " bytes"));
  for (int64_t pitch : {copy.from_pitch(), copy.to_pitch()})
    if (copy.rows() > 1 && pitch < std::max<int64_t>(copy.row_bytes(), 1))
      return error(
          absl::StrCat("a copy of rows of ", copy.row_bytes(), " bytes, ", pitch, " bytes apart"));
  Bytes from, to;
  for (auto [bytes, pitch] : {std::pair(&from, copy.from_pitch()), {&to, copy.to_pitch()}}) {
    bytes->add(1, copy.row_bytes());
    bytes->add(copy.rows() - 1, copy.rows() > 1 ? pitch : 0);
  }
  ST_RETURN_IF_ERROR(checkPlace("the source of a copy", copy.from(), from));
  return checkPlace("the copy", copy.to(), to);
}

/// Checks that matrices of the batch have a contiguous side, as cuBLASLt requires.
absl::Status TaskValidator::checkMatrix(absl::string_view what, const proto::CudaProduct &product,
                                        const proto::CudaPlace &place,
                                        const proto::CudaMatrix &matrix, int64_t rows,
                                        int64_t columns, int64_t width) const {
  const bool isRows = matrix.column() == 1 && matrix.row() >= columns;
  const bool isColumns = matrix.row() == 1 && matrix.column() >= rows;
  if (!isRows && !isColumns)
    return error(absl::StrCat(what, " of ", rows, " x ", columns, " has strides of ", matrix.row(),
                              " and ", matrix.column()));
  if (matrix.batch_size() != product.batch_size())
    return error(absl::StrCat(what, " has ", matrix.batch_size(), " strides of a batch of ",
                              product.batch_size(), " dimensions"));
  Bytes elements;
  elements.add(1, width);
  for (auto [count, stride] : {std::pair(rows, matrix.row()), {columns, matrix.column()}}) {
    Bytes check;
    check.add(count - 1, stride);
    if (!check.fits(kLargestMemory / width))
      return error(absl::StrCat(what, " exceeds the largest supported memory"));
    elements.add((count - 1) * stride, width);
  }
  for (int dim = 0; dim < product.batch_size(); ++dim) {
    Bytes check;
    check.add(product.batch(dim) - 1, matrix.batch(dim));
    if (!check.fits(kLargestMemory / width))
      return error(absl::StrCat(what, " exceeds the largest supported memory"));
    elements.add((product.batch(dim) - 1) * matrix.batch(dim), width);
  }
  ST_RETURN_IF_ERROR(checkAlignment(what, place, width));
  return checkPlace(what, place, elements);
}

absl::Status TaskValidator::check(const proto::CudaProduct &product) {
  for (int64_t size : {product.m(), product.n(), product.k()})
    if (size < 1 || size > kMaxMatrix)
      return error(absl::StrCat("a product with a dimension of ", size));
  const proto::ElementType type = product.type(), dType = product.d_type();
  const bool isHalf = type == proto::F16 || type == proto::BF16;
  if (!isHalf && type != proto::F32 && type != proto::F64)
    return error("a product of a type that is not floating-point");
  if (product.tf32() && type != proto::F32)
    return error("a product in tf32 of a type other than f32");
  if (dType != type && !(isHalf && dType == proto::F32))
    return error("a product of a type other than its operands'");
  for (int dim = 0; dim < product.batch_size(); ++dim)
    if (product.batch(dim) < 1 || product.batch(dim) > kMaxMatrix ||
        (product.batch(dim) > 1 && dim < product.d_matrix().batch_size() &&
         product.d_matrix().batch(dim) < 1))
      return error(absl::StrCat("a batch of ", product.batch(dim), " products"));
  const auto width = static_cast<int64_t>(byteWidth(*elementTypeOf(type)));
  const auto dWidth = static_cast<int64_t>(byteWidth(*elementTypeOf(dType)));
  ST_RETURN_IF_ERROR(
      checkMatrix("a", product, product.a(), product.a_matrix(), product.m(), product.k(), width));
  ST_RETURN_IF_ERROR(
      checkMatrix("b", product, product.b(), product.b_matrix(), product.k(), product.n(), width));
  ST_RETURN_IF_ERROR(
      checkMatrix("d", product, product.d(), product.d_matrix(), product.m(), product.n(), dWidth));
  if (product.has_addend())
    ST_RETURN_IF_ERROR(checkMatrix("the addend", product, product.addend(), product.d_matrix(),
                                   product.m(), product.n(), dWidth));
  if (product.has_bias()) {
    ST_RETURN_IF_ERROR(checkAlignment("the bias", product.bias(), dWidth));
    ST_RETURN_IF_ERROR(checkPlace("the bias", product.bias(), product.n() * dWidth));
  }
  ST_RETURN_IF_ERROR(checkEpilogue(product, dWidth));
  if (product.body().empty())
    return absl::OkStatus();
  if (product.activation() == proto::CudaProduct::NONE && !product.has_sums())
    return error("a product without an activation or sums has commands");
  return checkBody("a product", product.body());
}

absl::Status TaskValidator::checkBody(absl::string_view what, const Commands &body) {
  for (const proto::CudaCommand &each : body) {
    if (each.aside() || each.waits())
      return error(absl::StrCat(what, " has commands that run on several streams"));
    if (each.left_by_update())
      return error(absl::StrCat(what, " has commands that only some steps run"));
    if (!each.has_launch() && !each.has_copy() && !each.has_product())
      return error(absl::StrCat(what, " has commands other than launches, copies and products"));
    if (each.has_product() && !each.product().body().empty())
      return error(absl::StrCat(what, " has a product with a body"));
  }
  return checkCommands(body);
}

/// Checks epilogues, which cuBLASLt supports only for single products.
absl::Status TaskValidator::checkEpilogue(const proto::CudaProduct &product, int64_t dWidth) const {
  using Product = proto::CudaProduct;
  constexpr int64_t kAuxAlignment = 8;
  const Product::Activation activation = product.activation();
  if (!Product::Activation_IsValid(activation))
    return error(absl::StrCat("a product of activation ", static_cast<int>(activation)));
  if ((activation != Product::NONE || product.has_sums()) &&
      (product.batch_size() > 0 || product.type() == proto::F64))
    return error("an activation or sums of a batch or of f64");
  if (activation != Product::NONE &&
      (product.d_matrix().column() != 1 || product.d_matrix().row() % kAuxAlignment != 0))
    return error(absl::StrCat("an activation of rows that are ", product.d_matrix().row(),
                              " elements apart"));
  if ((activation == Product::NONE && product.has_aux()) ||
      (activation == Product::GELU_GRADIENT && (!product.has_aux() || product.has_bias())) ||
      (activation != Product::NONE && product.has_addend()))
    return error("an activation whose operands do not match it");
  if (product.has_aux())
    ST_RETURN_IF_ERROR(checkMatrix("the aux", product, product.aux(), product.d_matrix(),
                                   product.m(), product.n(), dWidth));
  if (!product.has_sums())
    return absl::OkStatus();
  if (product.has_bias() || activation != Product::NONE || product.scale() != 1)
    return error("sums of an operand of a product that also has a scale, a bias or an activation");
  ST_RETURN_IF_ERROR(checkAlignment("the buffer of sums", product.sums(), dWidth));
  return checkPlace("the buffer of sums", product.sums(),
                    (product.sums_of_a() ? product.m() : product.n()) * dWidth);
}

absl::Status TaskValidator::check(const proto::CudaExchange &exchange) const {
  const int64_t first = exchange.first(), count = exchange.count(), bytes = exchange.bytes();
  if (count < 1 || first < 0 || first > group.table_size() || count > group.table_size() - first)
    return error(absl::StrCat("an exchange of ", count, " ranks from entry ", first,
                              " of a rank table with ", group.table_size(), " entries"));
  for (int rank = 0; rank < group.device_ids_size(); ++rank) {
    std::set<int64_t> members;
    for (int64_t i = 0; i < count; ++i)
      members.insert(tableEntry(rank, first + i));
    const bool areRanks = *members.begin() >= 0 && *members.rbegin() < ranks;
    if (members.size() != static_cast<size_t>(count) || !areRanks ||
        !members.count(group.first_rank() + rank))
      return error(absl::StrCat("expected an exchange of ", count,
                                " different ranks that include rank ", group.first_rank() + rank));
  }
  if (bytes < 0 || exchange.to_stride() < bytes)
    return error(absl::StrCat("an exchange of pieces of ", bytes, " bytes, ", exchange.to_stride(),
                              " bytes apart"));
  Bytes from, to;
  for (auto [all, stride] :
       {std::pair(&from, exchange.from_stride()), {&to, exchange.to_stride()}}) {
    all->add(1, bytes);
    all->add(count - 1, stride);
  }
  ST_RETURN_IF_ERROR(checkPlace("the source of an exchange", exchange.from(), from));
  return checkPlace("the target of an exchange", exchange.to(), to);
}

/// Checks contiguous rows in all heads of all batches, with the alignment that cuDNN requires.
absl::Status TaskValidator::checkHeads(absl::string_view what,
                                       const proto::CudaAttention &attention,
                                       const proto::CudaHeads &heads, int64_t rows, int64_t columns,
                                       int64_t width) const {
  Bytes elements;
  elements.add(columns, width);
  for (auto [count, stride] :
       {std::pair(attention.batch(), heads.batch()),
        {attention.heads() / std::max<int64_t>(heads.group(), 1), heads.head()},
        {rows, heads.row()}}) {
    Bytes check;
    check.add(count - 1, stride);
    if (!check.fits(kLargestMemory / width))
      return error(absl::StrCat(what, " of attention exceeds the largest supported memory"));
    elements.add((count - 1) * stride, width);
  }
  ST_RETURN_IF_ERROR(
      checkAlignment(absl::StrCat(what, " of attention"), heads.place(), kMaxAlignment));
  return checkPlace(absl::StrCat(what, " of attention"), heads.place(), elements);
}

absl::Status TaskValidator::check(const proto::CudaAttention &attention) {
  const int64_t rows = attention.rows(), columns = attention.columns();
  for (int64_t size :
       {attention.batch(), attention.heads(), rows, columns, attention.depth(), attention.width()})
    if (size < 1 || size > kMaxMatrix)
      return error(absl::StrCat("attention with a size of ", size));
  const int64_t widest = std::max(attention.depth(), attention.width());
  for (int64_t length : {rows, columns}) { // cuDNN also stores statistics of this size.
    int64_t elements = 1;
    for (int64_t size : {attention.batch(), attention.heads(), length, widest})
      if (__builtin_mul_overflow(elements, size, &elements) || elements > kLargestMemory)
        return error("attention exceeds the largest supported memory");
  }
  const int64_t group = attention.k().group();
  if (group < 0 || attention.v().group() != group ||
      attention.heads() % std::max<int64_t>(group, 1) != 0)
    return error(absl::StrCat("attention of ", attention.heads(), " heads with groups of ", group,
                              " for k and of ", attention.v().group(), " for v"));
  for (const proto::CudaHeads *heads :
       {&attention.q(), &attention.o(), &attention.bias(), &attention.d_o(), &attention.d_q(),
        &attention.d_k(), &attention.d_v()})
    if (heads->group() != 0)
      return error(absl::StrCat("attention with a group of ", heads->group(),
                                " for a tensor other than k and v"));
  if (attention.type() != proto::F16 && attention.type() != proto::BF16)
    return error("attention of a type other than 16-bit floats");
  if (attention.causal() && attention.has_bias())
    return error("attention that is causal and has a bias");
  if (!(attention.scale() > 0 && attention.scale() < HUGE_VAL))
    return error(absl::StrCat("attention with a scale of ", attention.scale()));
  constexpr int64_t half = 2, full = 4;
  ST_RETURN_IF_ERROR(checkHeads("q", attention, attention.q(), rows, attention.depth(), half));
  ST_RETURN_IF_ERROR(checkHeads("k", attention, attention.k(), columns, attention.depth(), half));
  ST_RETURN_IF_ERROR(checkHeads("v", attention, attention.v(), columns, attention.width(), half));
  const int gradients =
      attention.has_d_o() + attention.has_d_q() + attention.has_d_k() + attention.has_d_v();
  if (gradients != (attention.has_o() ? 0 : 4))
    return error("attention that computes neither o nor exactly the gradients of q, k and v");
  if (attention.has_o()) {
    ST_RETURN_IF_ERROR(checkHeads("o", attention, attention.o(), rows, attention.width(), half));
  } else {
    ST_RETURN_IF_ERROR(checkHeads("do", attention, attention.d_o(), rows, attention.width(), half));
    ST_RETURN_IF_ERROR(checkHeads("dq", attention, attention.d_q(), rows, attention.depth(), half));
    ST_RETURN_IF_ERROR(
        checkHeads("dk", attention, attention.d_k(), columns, attention.depth(), half));
    ST_RETURN_IF_ERROR(
        checkHeads("dv", attention, attention.d_v(), columns, attention.width(), half));
  }
  if (attention.has_bias())
    ST_RETURN_IF_ERROR(checkHeads("the bias", attention, attention.bias(), rows, columns, full));
  proto::CudaHeads statistics; // one number per row and head
  statistics.set_row(1);
  statistics.set_head(rows);
  statistics.set_batch(attention.heads() * rows);
  for (auto [what, isThere, place] :
       {std::tuple("the maxima", attention.has_max(), &attention.max()),
        std::tuple("the sums", attention.has_sum(), &attention.sum())})
    if (isThere) {
      *statistics.mutable_place() = *place;
      ST_RETURN_IF_ERROR(checkHeads(what, attention, statistics, rows, 1, full));
    }
  return checkBody("attention", attention.body());
}

absl::Status TaskValidator::check(const proto::CudaCommand &command) {
  if (command.left_by_update() && !command.has_launch())
    return error("a command other than a launch is marked as left by an update");
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    return check(command.launch());
  case proto::CudaCommand::kCopy:
    return check(command.copy());
  case proto::CudaCommand::kProduct:
    return check(command.product());
  case proto::CudaCommand::kLoop:
    if (command.loop().trips() < 0)
      return error(absl::StrCat("a loop of ", command.loop().trips(), " trips"));
    if (command.loop().has_predicate())
      ST_RETURN_IF_ERROR(checkPlace("a predicate", command.loop().predicate(), 1));
    for (const proto::CudaCommand &each : command.loop().body())
      if (each.aside() || each.waits())
        return error("a loop contains commands on several streams");
      else if (each.left_by_update())
        return error("a loop contains a command that only some steps run");
    return checkCommands(command.loop().body());
  case proto::CudaCommand::kAttention:
    return check(command.attention());
  case proto::CudaCommand::kIndex:
    if (command.index().has_entry())
      ST_RETURN_IF_ERROR(checkEntry(command.index().entry(), INT_MIN, INT_MAX));
    ST_RETURN_IF_ERROR(checkAlignment("an index", command.index().to(), sizeof(uint32_t)));
    return checkPlace("an index", command.index().to(), sizeof(uint32_t));
  case proto::CudaCommand::kExchange:
    return check(command.exchange());
  case proto::CudaCommand::kSend:
    ST_RETURN_IF_ERROR(checkChannel(command.send().peer(), command.send().channel()));
    return checkPlace("the source of a message", command.send().from(), command.send().bytes());
  case proto::CudaCommand::kReceive:
    ST_RETURN_IF_ERROR(checkChannel(command.receive().peer(), command.receive().channel()));
    return checkPlace("the target of a message", command.receive().to(), command.receive().bytes());
  case proto::CudaCommand::WHAT_NOT_SET:
    break;
  }
  return error("its kind is unknown");
}

absl::Status TaskValidator::checkCommands(const Commands &commands) {
  for (const proto::CudaCommand &command : commands) {
    ST_RETURN_IF_ERROR(check(command));
    ++number;
  }
  return absl::OkStatus();
}

absl::Status TaskValidator::run() {
  google::protobuf::LogSilencer silencer;
  proto::CudaProgram commands;
  if (!commands.ParseFromString(task.program()))
    return invalid(absl::StrCat("task \"", task.name(), "\" cannot be decoded"));
  return checkCommands(commands.commands());
}

bool isName(const std::string &name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

absl::Status checkKernels(const proto::CudaCode &code) {
  std::set<std::string> names;
  for (const proto::CudaKernel &kernel : code.kernels()) {
    if (!isName(kernel.name()) || !names.insert(kernel.name()).second)
      return invalid("kernels without unique names");
    if (kernel.blocks() < 1 || kernel.blocks() > kMaxBlocks || kernel.threads() < 1 ||
        kernel.threads() > kMaxThreads)
      return invalid(absl::StrCat("kernel ", kernel.name(), " has ", kernel.blocks(), " blocks of ",
                                  kernel.threads(), " threads"));
    if (kernel.argument_alignments_size() != kernel.argument_bytes_size())
      return invalid(absl::StrCat("kernel ", kernel.name(), " takes ", kernel.argument_bytes_size(),
                                  " buffers and has ", kernel.argument_alignments_size(),
                                  " alignments"));
    for (int64_t alignment : kernel.argument_alignments())
      if (alignment < 1 || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0)
        return invalid(absl::StrCat("kernel ", kernel.name(), " has an alignment of ", alignment));
    if (kernel.shared_bytes() < 0 || kernel.shared_bytes() > kMaxSharedBytes)
      return invalid(absl::StrCat("kernel ", kernel.name(), " needs ", kernel.shared_bytes(),
                                  " bytes of shared memory"));
    for (int64_t bytes : kernel.argument_bytes())
      if (bytes < 0 || bytes > kLargestMemory)
        return invalid(absl::StrCat("kernel ", kernel.name(), " takes ", bytes, " bytes"));
  }
  return absl::OkStatus();
}

} // namespace

absl::Status validateCuda(const proto::Executable &program) {
  const proto::CudaCode &code = program.cuda();
  if (code.gpu().chip().empty())
    return invalid("a program for GPUs without a chip");
  if (code.scratch_bytes() < 0 || code.scratch_bytes() > kLargestMemory)
    return invalid(absl::StrCat("scratch memory of ", code.scratch_bytes(), " bytes"));
  if (code.images().empty() && !code.kernels().empty())
    return invalid("kernels without code");
  for (const proto::CudaImage &image : code.images())
    if (image.kind() != proto::CudaImage::PTX && image.kind() != proto::CudaImage::CUBIN &&
        image.kind() != proto::CudaImage::HOST)
      return invalid("code of an unknown kind");
  ST_RETURN_IF_ERROR(checkKernels(code));
  int64_t ranks = 0;
  for (const proto::Group &group : program.groups())
    ranks += group.device_ids_size();
  for (const proto::Group &group : program.groups())
    for (const proto::Task &task : group.tasks())
      ST_RETURN_IF_ERROR(TaskValidator(program, group, ranks, task).run());
  return absl::OkStatus();
}

} // namespace st
