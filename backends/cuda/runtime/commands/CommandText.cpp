#include "backends/cuda/runtime/commands/CommandText.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <vector>

namespace st::cuda {

int64_t offsetOf(const proto::CudaPlace &place, const CommandContext &context) {
  int64_t offset = place.offset() + context.microBatch % place.slots() * place.stride();
  if (place.has_position())
    offset += context.table[static_cast<size_t>(place.position())] * place.position_stride();
  return offset;
}

namespace {

std::string typeName(proto::ElementType type) {
  return absl::AsciiStrToLower(proto::ElementType_Name(type));
}

std::string productLabel(const proto::CudaProduct &product) {
  return absl::StrCat("product ", typeName(product.type()), " ",
                      absl::StrJoin(product.batch(), " x "), product.batch().empty() ? "" : " of ",
                      product.m(), " x ", product.k(), " x ", product.n());
}

std::string attentionLabel(const proto::CudaAttention &attention) {
  return absl::StrCat(
      attention.has_o() ? "attention " : "gradient of attention ", typeName(attention.type()), " ",
      attention.batch(), " x ", attention.heads(),
      attention.k().group() > 1 ? absl::StrCat(" in groups of ", attention.k().group()) : "",
      " of ", attention.rows(), " x ", attention.columns());
}

std::string printPlace(const proto::CudaPlace &place, const CommandContext &context) {
  return absl::StrCat(place.scratch() ? "scratch" : "arena", " + ", offsetOf(place, context));
}

/// Maps places to the names of their values.
class Places {
public:
  explicit Places(const CommandContext &context) : context(context) {}

  void add(absl::string_view name, const proto::CudaPlace &place) {
    parts.push_back(absl::StrCat(name, " at ", printPlace(place, context)));
  }
  void addIf(bool isThere, absl::string_view name, const proto::CudaPlace &place) {
    if (isThere)
      add(name, place);
  }

  std::string print() const { return absl::StrJoin(parts, ", "); }

private:
  const CommandContext &context;
  std::vector<std::string> parts;
};

std::string launchDetails(const proto::CudaLaunch &launch, const CommandContext &context) {
  const proto::CudaKernel &kernel = context.kernels[static_cast<size_t>(launch.kernel())];
  std::vector<std::string> arguments;
  for (int i = 0; i < launch.arguments_size(); ++i)
    arguments.push_back(absl::StrCat(printPlace(launch.arguments(i), context), " of ",
                                     kernel.argument_bytes(i), " bytes"));
  return absl::StrCat(kernel.blocks(), " blocks of ", kernel.threads(), " threads",
                      kernel.shared_bytes() > 0
                          ? absl::StrCat(", ", kernel.shared_bytes(), " bytes of shared memory")
                          : "",
                      "; arguments: ", absl::StrJoin(arguments, ", "));
}

std::string copyDetails(const proto::CudaCopy &copy, const CommandContext &context) {
  return absl::StrCat(copy.rows(), " rows of ", copy.row_bytes(), " bytes from ",
                      printPlace(copy.from(), context), ", ", copy.from_pitch(),
                      " bytes apart, to ", printPlace(copy.to(), context), ", ", copy.to_pitch(),
                      " bytes apart");
}

std::string productDetails(const proto::CudaProduct &product, const CommandContext &context) {
  Places places(context);
  places.add("a", product.a());
  places.add("b", product.b());
  places.add(absl::StrCat(typeName(product.d_type()), " d"), product.d());
  places.addIf(product.has_addend(), "addend", product.addend());
  places.addIf(product.has_bias(), "bias", product.bias());
  places.addIf(product.has_aux(), "aux", product.aux());
  places.addIf(product.has_sums(), "sums", product.sums());
  return places.print();
}

std::string attentionDetails(const proto::CudaAttention &attention, const CommandContext &context) {
  Places places(context);
  places.add("q", attention.q().place());
  places.add("k", attention.k().place());
  places.add("v", attention.v().place());
  places.addIf(attention.has_o(), "o", attention.o().place());
  places.addIf(attention.has_bias(), "bias", attention.bias().place());
  places.addIf(attention.has_max(), "max", attention.max());
  places.addIf(attention.has_sum(), "sum", attention.sum());
  places.addIf(attention.has_d_o(), "do", attention.d_o().place());
  places.addIf(attention.has_d_q(), "dq", attention.d_q().place());
  places.addIf(attention.has_d_k(), "dk", attention.d_k().place());
  places.addIf(attention.has_d_v(), "dv", attention.d_v().place());
  return places.print();
}

std::string exchangeDetails(const proto::CudaExchange &exchange, const CommandContext &context) {
  return absl::StrCat("from ", printPlace(exchange.from(), context), ", ", exchange.from_stride(),
                      " bytes apart, to ", printPlace(exchange.to(), context), ", ",
                      exchange.to_stride(), " bytes apart");
}

std::string detailsOf(const proto::CudaCommand &command, const CommandContext &context) {
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    return launchDetails(command.launch(), context);
  case proto::CudaCommand::kCopy:
    return copyDetails(command.copy(), context);
  case proto::CudaCommand::kProduct:
    return productDetails(command.product(), context);
  case proto::CudaCommand::kAttention:
    return attentionDetails(command.attention(), context);
  case proto::CudaCommand::kExchange:
    return exchangeDetails(command.exchange(), context);
  case proto::CudaCommand::kSend:
    return absl::StrCat(command.send().bytes(), " bytes from ",
                        printPlace(command.send().from(), context));
  case proto::CudaCommand::kReceive:
    return absl::StrCat(command.receive().bytes(), " bytes to ",
                        printPlace(command.receive().to(), context));
  case proto::CudaCommand::kIndex:
    return absl::StrCat("4 bytes to ", printPlace(command.index().to(), context));
  default:
    return "no details";
  }
}

} // namespace

std::string labelOf(const proto::CudaCommand &command, const CommandContext &context) {
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    return context.kernels[static_cast<size_t>(command.launch().kernel())].name();
  case proto::CudaCommand::kCopy:
    return absl::StrCat("copy of ", command.copy().rows() * command.copy().row_bytes(), " bytes");
  case proto::CudaCommand::kProduct:
    return productLabel(command.product());
  case proto::CudaCommand::kAttention:
    return attentionLabel(command.attention());
  case proto::CudaCommand::kExchange:
    return absl::StrCat(command.exchange().name(), " of ", command.exchange().count(), " x ",
                        command.exchange().bytes(), " bytes");
  case proto::CudaCommand::kSend:
    return absl::StrCat("send to rank ", context.table[static_cast<size_t>(command.send().peer())]);
  case proto::CudaCommand::kReceive:
    return absl::StrCat("receive from rank ",
                        context.table[static_cast<size_t>(command.receive().peer())]);
  default:
    return "index";
  }
}

std::string describe(const proto::CudaCommand &command, const CommandContext &context) {
  return absl::StrCat(command.has_launch() ? "kernel " : "", labelOf(command, context), " (",
                      detailsOf(command, context), ")");
}

} // namespace st::cuda
