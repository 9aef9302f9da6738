#include "backends/cuda/codegen/executable/AssignStreams.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

using namespace mlir;
using namespace mlir::cuda;
namespace proto = ::st::proto;

namespace {

/// Bytes that a command accesses in any micro-batch and rank.
struct Range {
  bool inScratch;
  int64_t begin, end;
  bool isWritten;

  bool conflicts(const Range &other) const {
    return inScratch == other.inScratch && begin < other.end && other.begin < end &&
           (isWritten || other.isWritten);
  }
};
using Ranges = SmallVector<Range>;

class AccessCollector {
public:
  explicit AccessCollector(ArgumentsOf argumentsOf) : argumentsOf(argumentsOf) {}

  Ranges collect(const proto::CudaCommand &command) {
    ranges.clear();
    visit(command);
    return std::move(ranges);
  }

private:
  ArgumentsOf argumentsOf;
  Ranges ranges;

  void add(const proto::CudaPlace &place, int64_t bytes, bool isWritten);
  void visit(const proto::CudaCommand &command);
  void visit(const proto::CudaProduct &product);
  void visit(const proto::CudaAttention &attention);
};

void AccessCollector::add(const proto::CudaPlace &place, int64_t bytes, bool isWritten) {
  // The rank determines the position, so the access may be anywhere after the offset.
  const bool isAnywhere = place.has_position() && place.position_stride() != 0;
  const int64_t end = place.offset() + (place.slots() - 1) * place.stride() + bytes;
  ranges.push_back({place.scratch(), place.offset(), isAnywhere ? INT64_MAX : end, isWritten});
}

int64_t bytesOf(const proto::CudaMatrix &matrix, const proto::CudaProduct &product, int64_t rows,
                int64_t columns, int64_t width) {
  int64_t last = (rows - 1) * matrix.row() + (columns - 1) * matrix.column();
  for (int dim = 0; dim < product.batch_size(); ++dim)
    last += (product.batch(dim) - 1) * matrix.batch(dim);
  return (last + 1) * width;
}

int64_t widthOf(proto::ElementType type) {
  return type == proto::F64 ? 8 : type == proto::F32 ? 4 : 2;
}

void AccessCollector::visit(const proto::CudaProduct &product) {
  const int64_t m = product.m(), n = product.n(), k = product.k();
  const int64_t width = widthOf(product.type()), dWidth = widthOf(product.d_type());
  add(product.a(), bytesOf(product.a_matrix(), product, m, k, width), false);
  add(product.b(), bytesOf(product.b_matrix(), product, k, n, width), false);
  const int64_t dBytes = bytesOf(product.d_matrix(), product, m, n, dWidth);
  add(product.d(), dBytes, true);
  if (product.has_addend())
    add(product.addend(), dBytes, false);
  if (product.has_bias())
    add(product.bias(), n * dWidth, false);
  if (product.has_aux())
    add(product.aux(), dBytes, product.activation() == proto::CudaProduct::GELU);
  if (product.has_sums())
    add(product.sums(), (product.sums_of_a() ? m : n) * dWidth, true);
  for (const proto::CudaCommand &each : product.body())
    visit(each);
}

/// Accesses of cuDNN and of the commands that replace it.
void AccessCollector::visit(const proto::CudaAttention &attention) {
  auto addHeads = [&](const proto::CudaHeads &heads, int64_t rows, int64_t width, int64_t bytes,
                      bool isWritten) {
    const int64_t last =
        (attention.batch() - 1) * heads.batch() +
        (attention.heads() / std::max<int64_t>(heads.group(), 1) - 1) * heads.head() +
        (rows - 1) * heads.row() + width;
    add(heads.place(), last * bytes, isWritten);
  };
  const int64_t rows = attention.rows(), columns = attention.columns();
  const int64_t width = widthOf(attention.type());
  addHeads(attention.q(), rows, attention.depth(), width, false);
  addHeads(attention.k(), columns, attention.depth(), width, false);
  addHeads(attention.v(), columns, attention.width(), width, false);
  if (attention.has_o())
    addHeads(attention.o(), rows, attention.width(), width, true);
  if (attention.has_d_o()) {
    addHeads(attention.d_o(), rows, attention.width(), width, false);
    addHeads(attention.d_q(), rows, attention.depth(), width, true);
    addHeads(attention.d_k(), columns, attention.depth(), width, true);
    addHeads(attention.d_v(), columns, attention.width(), width, true);
  }
  if (attention.has_bias())
    addHeads(attention.bias(), rows, columns, widthOf(proto::F32), false);
  const int64_t statistics = attention.batch() * attention.heads() * rows * widthOf(proto::F32);
  if (attention.has_max())
    add(attention.max(), statistics, attention.has_o());
  if (attention.has_sum())
    add(attention.sum(), statistics, attention.has_o());
  for (const proto::CudaCommand &each : attention.body())
    visit(each);
}

void AccessCollector::visit(const proto::CudaCommand &command) {
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    for (auto [place, argument] :
         llvm::zip_equal(command.launch().arguments(), argumentsOf(command.launch().kernel())))
      add(place, argument.bytes, !argument.isOnlyRead);
    break;
  case proto::CudaCommand::kCopy: {
    const proto::CudaCopy &copy = command.copy();
    add(copy.from(), (copy.rows() - 1) * copy.from_pitch() + copy.row_bytes(), false);
    add(copy.to(), (copy.rows() - 1) * copy.to_pitch() + copy.row_bytes(), true);
    break;
  }
  case proto::CudaCommand::kProduct:
    visit(command.product());
    break;
  case proto::CudaCommand::kLoop:
    if (command.loop().has_predicate())
      add(command.loop().predicate(), 1, false);
    for (const proto::CudaCommand &each : command.loop().body())
      visit(each);
    break;
  case proto::CudaCommand::kAttention:
    visit(command.attention());
    break;
  case proto::CudaCommand::kIndex:
    add(command.index().to(), 4, true);
    break;
  case proto::CudaCommand::kExchange: {
    const proto::CudaExchange &exchange = command.exchange();
    const int64_t others = exchange.count() - 1;
    add(exchange.from(), others * exchange.from_stride() + exchange.bytes(), false);
    add(exchange.to(), others * exchange.to_stride() + exchange.bytes(), true);
    break;
  }
  case proto::CudaCommand::kSend:
    add(command.send().from(), command.send().bytes(), false);
    break;
  case proto::CudaCommand::kReceive:
    add(command.receive().to(), command.receive().bytes(), true);
    break;
  case proto::CudaCommand::WHAT_NOT_SET:
    break;
  }
}

bool isTransfer(const proto::CudaCommand &command, const Ranges &ranges) {
  if (command.has_exchange())
    return true;
  return (command.has_launch() || command.has_copy()) &&
         llvm::any_of(ranges, [](const Range &range) { return range.inScratch; });
}

/// Returns for each command whether it has to wait for the other stream.
SmallVector<bool> findWaits(ArrayRef<Ranges> touched, ArrayRef<bool> isAside) {
  SmallVector<bool> waits(touched.size(), false);
  Ranges open[2];         // by stream: accesses that the other stream has not waited for
  bool knowsTask = false; // the transfer stream has waited for all work before the task
  for (size_t i = 0; i < touched.size(); ++i) {
    Ranges &others = open[!isAside[i]];
    waits[i] = llvm::any_of(touched[i],
                            [&](const Range &range) {
                              return llvm::any_of(others, [&](const Range &other) {
                                return range.conflicts(other);
                              });
                            }) ||
               (isAside[i] && !knowsTask);
    knowsTask |= isAside[i];
    if (waits[i])
      others.clear();
    open[isAside[i]].append(touched[i]);
  }
  return waits;
}

} // namespace

void mlir::cuda::assignStreams(proto::CudaProgram &program, ArgumentsOf argumentsOf) {
  AccessCollector collector(argumentsOf);
  SmallVector<Ranges> touched;
  SmallVector<bool> isAside, waits;
  for (const proto::CudaCommand &command : program.commands()) {
    touched.push_back(collector.collect(command));
    isAside.push_back(isTransfer(command, touched.back()));
  }
  const size_t count = touched.size();
  for (bool changes = true; changes;) {
    changes = false;
    waits = findWaits(touched, isAside);
    for (size_t begin = 0, end; begin < count; begin = end) {
      for (end = begin + 1; end < count && isAside[end] == isAside[begin];)
        ++end;
      // The run would not overlap with other commands: it waits at its start, and the next command
      // waits for it.
      if (!isAside[begin] || !waits[begin] || (end < count && !waits[end]))
        continue;
      std::fill(isAside.begin() + begin, isAside.begin() + end, false);
      changes = true;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    program.mutable_commands(static_cast<int>(i))->set_aside(isAside[i]);
    program.mutable_commands(static_cast<int>(i))->set_waits(waits[i]);
  }
}
