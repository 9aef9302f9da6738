#include "tools/st-translate/CudaCommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace proto = ::st::proto;

namespace {
class CommandPrinter {
public:
  CommandPrinter(llvm::raw_ostream &os, const proto::CudaCode &code) : os(os), code(code) {}

  void print(const google::protobuf::RepeatedPtrField<proto::CudaCommand> &commands,
             unsigned indent);

private:
  llvm::raw_ostream &os;
  const proto::CudaCode &code;

  void print(const proto::CudaCommand &command, unsigned indent);
  void print(const proto::CudaPlace &place);
  void print(const proto::CudaCopy &copy);
  void print(const proto::CudaProduct &product);
  void print(const proto::CudaExchange &exchange);
  void print(const proto::CudaAttention &attention);
  void printMatrix(StringRef name, const proto::CudaPlace &place, const proto::CudaMatrix &matrix);
};
} // namespace

void CommandPrinter::print(const proto::CudaPlace &place) {
  os << (place.scratch() ? "scratch+" : "") << place.offset();
  if (place.slots() > 1)
    os << "+mb%" << place.slots() << "*" << place.stride();
  if (place.has_position())
    os << "+table[" << place.position() << "]*" << place.position_stride();
}

void CommandPrinter::print(const proto::CudaCopy &copy) {
  os << "copy ";
  if (copy.rows() > 1)
    os << copy.rows() << " rows of ";
  os << copy.row_bytes() << " bytes from ";
  print(copy.from());
  if (copy.rows() > 1)
    os << " every " << copy.from_pitch();
  os << " to ";
  print(copy.to());
  if (copy.rows() > 1)
    os << " every " << copy.to_pitch();
}

void CommandPrinter::printMatrix(StringRef name, const proto::CudaPlace &place,
                                 const proto::CudaMatrix &matrix) {
  os << " " << name << " ";
  print(place);
  os << " <" << matrix.row() << ", " << matrix.column();
  if (!matrix.batch().empty()) {
    os << " batch ";
    llvm::interleave(matrix.batch(), os, " ");
  }
  os << ">";
}

void CommandPrinter::print(const proto::CudaProduct &product) {
  auto typeName = [](proto::ElementType type) {
    return StringRef(proto::ElementType_Name(type)).lower();
  };
  os << "product " << (product.tf32() ? "tf32" : typeName(product.type())) << " to "
     << typeName(product.d_type()) << " " << product.m() << " x " << product.n() << " x "
     << product.k();
  if (!product.batch().empty()) {
    os << " batch ";
    llvm::interleave(product.batch(), os, " x ");
  }
  if (product.scale() != 1)
    os << " scale " << product.scale();
  printMatrix("a", product.a(), product.a_matrix());
  printMatrix("b", product.b(), product.b_matrix());
  printMatrix("d", product.d(), product.d_matrix());
  if (product.has_addend()) {
    os << " plus ";
    print(product.addend());
  }
  if (product.has_bias()) {
    os << " bias ";
    print(product.bias());
  }
  if (product.activation() != proto::CudaProduct::NONE)
    os << " " << StringRef(proto::CudaProduct::Activation_Name(product.activation())).lower();
  if (product.has_aux()) {
    os << " aux ";
    print(product.aux());
  }
  if (product.has_sums()) {
    os << " sums of " << (product.sums_of_a() ? "a " : "b ");
    print(product.sums());
  }
}

/// Prints everything except the commands of the body.
void CommandPrinter::print(const proto::CudaAttention &attention) {
  os << (attention.causal() ? "causal " : "")
     << (attention.has_o() ? "attention " : "gradient of attention ")
     << StringRef(proto::ElementType_Name(attention.type())).lower() << " " << attention.batch()
     << " x " << attention.heads() << " of " << attention.rows() << " x " << attention.columns()
     << " depth " << attention.depth() << " width " << attention.width();
  if (attention.scale() != 1)
    os << " scale " << attention.scale();
  auto printHeads = [&](StringRef name, const proto::CudaHeads &heads) {
    os << " " << name << " ";
    print(heads.place());
    os << " <" << heads.batch() << ", " << heads.head() << ", " << heads.row() << ">";
  };
  printHeads("q", attention.q());
  printHeads("k", attention.k());
  printHeads("v", attention.v());
  if (attention.has_o()) {
    printHeads("o", attention.o());
  } else {
    printHeads("do", attention.d_o());
    printHeads("dq", attention.d_q());
    printHeads("dk", attention.d_k());
    printHeads("dv", attention.d_v());
  }
  if (attention.has_bias())
    printHeads("bias", attention.bias());
  if (attention.has_max()) {
    os << " max ";
    print(attention.max());
  }
  if (attention.has_sum()) {
    os << " sum ";
    print(attention.sum());
  }
  os << " or\n";
}

void CommandPrinter::print(const proto::CudaExchange &exchange) {
  os << "exchange for " << exchange.name() << ": pieces of " << exchange.bytes() << " bytes from ";
  print(exchange.from());
  os << " every " << exchange.from_stride() << " to ";
  print(exchange.to());
  os << " every " << exchange.to_stride() << " among ranks table[" << exchange.first()
     << "] to table[" << exchange.first() + exchange.count() - 1 << "]";
}

void CommandPrinter::print(const proto::CudaCommand &command, unsigned indent) {
  os << (command.aside() ? "on the transfer stream " : "")
     << (command.waits() ? "after the other stream " : "")
     << (command.left_by_update() ? "unless the update wrote it " : "");
  switch (command.what_case()) {
  case proto::CudaCommand::kLaunch:
    os << StringRef(code.kernels(static_cast<int>(command.launch().kernel())).name()) << " (";
    llvm::interleaveComma(command.launch().arguments(), os,
                          [&](const proto::CudaPlace &place) { print(place); });
    os << ")";
    break;
  case proto::CudaCommand::kCopy:
    print(command.copy());
    break;
  case proto::CudaCommand::kProduct:
    print(command.product());
    os << (command.product().body().empty() ? "\n" : " or\n");
    return print(command.product().body(), indent + 2);
  case proto::CudaCommand::kLoop:
    os << "loop ";
    if (command.loop().has_predicate()) {
      os << "while ";
      print(command.loop().predicate());
    } else {
      os << command.loop().trips() << " times";
    }
    os << "\n";
    return print(command.loop().body(), indent + 2);
  case proto::CudaCommand::kAttention:
    print(command.attention());
    return print(command.attention().body(), indent + 2);
  case proto::CudaCommand::kIndex:
    if (command.index().has_entry())
      os << "index table[" << command.index().entry() << "] to ";
    else
      os << "index mb to ";
    print(command.index().to());
    break;
  case proto::CudaCommand::kExchange:
    print(command.exchange());
    break;
  case proto::CudaCommand::kSend:
    os << "send " << command.send().bytes() << " bytes from ";
    print(command.send().from());
    os << " to rank table[" << command.send().peer() << "] channel " << command.send().channel();
    break;
  case proto::CudaCommand::kReceive:
    os << "receive " << command.receive().bytes() << " bytes to ";
    print(command.receive().to());
    os << " from rank table[" << command.receive().peer() << "] channel "
       << command.receive().channel();
    break;
  case proto::CudaCommand::WHAT_NOT_SET:
    break;
  }
  os << "\n";
}

void CommandPrinter::print(const google::protobuf::RepeatedPtrField<proto::CudaCommand> &commands,
                           unsigned indent) {
  for (const proto::CudaCommand &command : commands) {
    os.indent(indent);
    print(command, indent);
  }
}

void mlir::st::printCudaCode(llvm::raw_ostream &os, const proto::CudaCode &code) {
  for (const proto::CudaImage &image : code.images())
    os << "code for " << StringRef(image.chip()) << ", "
       << StringRef(proto::CudaImage::Kind_Name(image.kind())).lower() << " of "
       << image.data().size() << " bytes\n";
  for (const proto::CudaKernel &kernel : code.kernels()) {
    os << "kernel " << StringRef(kernel.name()) << ": " << kernel.blocks() << " blocks of "
       << kernel.threads() << " threads, buffers of ";
    llvm::interleaveComma(kernel.argument_bytes(), os);
    os << " bytes\n";
  }
  if (code.scratch_bytes() > 0)
    os << "scratch memory " << code.scratch_bytes() << " bytes\n";
}

void mlir::st::printCudaTask(llvm::raw_ostream &os, const proto::CudaCode &code,
                             const proto::Task &task) {
  proto::CudaProgram program;
  program.ParseFromString(task.program());
  CommandPrinter(os, code).print(program.commands(), 4);
}
