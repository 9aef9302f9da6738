//===- TextToTokenIds.cpp - st-translate --text-to-token-ids --------------===//

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Runtime/Data/Tokenizer.h"
#include "lib/Runtime/Json.h"
#include "lib/Support/Files.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/st-translate/Translations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>

namespace mlir::st {
namespace {

constexpr uint64_t kLargestVocabulary = 64 << 20;

LogicalResult textToTokenIds(const std::string &vocabulary, llvm::StringRef text,
                             llvm::raw_ostream &os) {
  auto fail = [&](const absl::Status &status) {
    llvm::errs() << "error: " << oneLine(std::string(status.message())) << "\n";
    return failure();
  };
  if (vocabulary.empty())
    return fail(absl::InvalidArgumentError("--text-to-token-ids needs --vocab=FILE"));
  absl::StatusOr<std::string> pieces = ::st::readFile(vocabulary, kLargestVocabulary);
  if (!pieces.ok())
    return fail(pieces.status());
  auto tokenizer = ::st::createWordPieceTokenizer(*pieces, /*config=*/"", INT_MAX);
  if (!tokenizer.ok())
    return fail(tokenizer.status());
  text.consume_back("\n");
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    std::vector<::st::Token> tokens;
    (*tokenizer)->encode({line.data(), line.size()}, tokens);
    os << (*tokenizer)->ids().cls << ' ';
    for (const ::st::Token &token : tokens)
      os << token.id << ' ';
    os << (*tokenizer)->ids().sep << '\n';
  }
  return success();
}

} // namespace

void registerTextToTokenIds() {
  static llvm::cl::opt<std::string> vocabulary{
      "vocab", llvm::cl::value_desc("file"),
      llvm::cl::desc("--text-to-token-ids: the WordPiece vocabulary (vocab.txt)")};
  static TranslateRegistration registration(
      "text-to-token-ids", "print the WordPiece tokens of each line, [CLS] and [SEP] around them",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return textToTokenIds(vocabulary,
                              source->getMemoryBuffer(source->getMainFileID())->getBuffer(), os);
      });
}

} // namespace mlir::st
