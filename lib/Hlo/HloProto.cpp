// HLO in its files: binary protos, their text form, HLO's own text.
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "lib/Hlo/HloImporter.h"
#include "mlir/IR/Diagnostics.h"
#include <climits>

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;

/// Keeps the first error of a text that is not a proto.
namespace {
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = (Twine(line + 1) + ":" + Twine(column + 1) + ": " + message).str();
  }
  std::string text;
};
} // namespace

std::unique_ptr<hlo::Module> mlir::st::parseHloProto(StringRef bytes, StringRef name,
                                                     MLIRContext *context) {
  auto parsed = std::make_unique<hlo::Module>();
  google::protobuf::LogSilencer silencer; // this function reports the error, in one line
  auto parse = [&](google::protobuf::Message &message) {
    return bytes.size() <= INT_MAX &&
           message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  };
  if (parse(*parsed) && parsed->computations_size() > 0)
    return parsed;
  // XLA dumps a module in an envelope.
  hlo::Envelope envelope;
  if (parse(envelope) && envelope.hlo_module().computations_size() > 0) {
    parsed->Swap(envelope.mutable_hlo_module());
    return parsed;
  }
  parsed->Clear();
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  constexpr int deepest = 100; // limit of the binary form
  parser.SetRecursionLimit(deepest);
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(bytes.str(), parsed.get()) && parsed->computations_size() > 0)
    return parsed;
  emitError(FileLineColLoc::get(context, name, 0, 0))
      << "neither a binary HloModuleProto nor its text form"
      << (error.text.empty() ? "" : " (" + error.text + ")");
  return nullptr;
}

std::unique_ptr<hlo::Module> mlir::st::parseHlo(StringRef bytes, StringRef name,
                                                MLIRContext *context) {
  return bytes.ltrim().starts_with("HloModule ") ? parseHloText(bytes, name, context)
                                                 : parseHloProto(bytes, name, context);
}
