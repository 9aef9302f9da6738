//===- TextToTokenIds.cpp - st-translate --text-to-token-ids --------------===//

#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Runtime/Tokenizers/TokenizerFiles.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/st-translate/Translations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>
#include <cstring>

namespace mlir::st {
namespace {

using TokenizerResult = absl::StatusOr<std::unique_ptr<::st::Tokenizer>>;

TokenizerResult openVocabulary(const std::string &path) {
  ST_ASSIGN_OR_RETURN(std::string pieces, ::st::readFile(path, ::st::kLargestTokenizerFile));
  return ::st::createWordPieceTokenizer(pieces, /*config=*/"", INT_MAX);
}

// Opens the tokenizer of a folder, or a tokenizer.json under any name.
TokenizerResult openTokenizer(const std::string &path) {
  ::st::TokenizerFiles files;
  if (!llvm::sys::fs::is_directory(path)) {
    ST_ASSIGN_OR_RETURN(files[::st::kTokenizerJson],
                        ::st::readFile(path, ::st::kLargestTokenizerFile));
    TokenizerResult found = ::st::createFileTokenizer(files, "", INT_MAX, "");
    // The file may have another name.
    if (!found.ok())
      return absl::InvalidArgumentError(
          path + std::string(found.status().message()).substr(std::strlen(::st::kTokenizerJson)));
    return found;
  }
  for (const char *name : ::st::kTokenizerFileNames) {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    if (!llvm::sys::fs::exists(file))
      continue;
    ST_ASSIGN_OR_RETURN(files[name], ::st::readFile(file.str().str(), ::st::kLargestTokenizerFile));
  }
  return ::st::createFileTokenizer(files, "", INT_MAX, path + "/");
}

LogicalResult textToTokenIds(const std::string &vocabulary, const std::string &tokenizerPath,
                             llvm::StringRef text, llvm::raw_ostream &os) {
  auto fail = [&](const absl::Status &status) {
    llvm::errs() << "error: " << oneLine(std::string(status.message())) << "\n";
    return failure();
  };
  if (vocabulary.empty() == tokenizerPath.empty())
    return fail(
        absl::InvalidArgumentError("--text-to-token-ids needs --tokenizer=FOLDER or --vocab=FILE"));
  TokenizerResult tokenizer =
      vocabulary.empty() ? openTokenizer(tokenizerPath) : openVocabulary(vocabulary);
  if (!tokenizer.ok())
    return fail(tokenizer.status());
  text.consume_back("\n");
  std::vector<::st::Token> tokens;
  std::vector<int32_t> ids;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    tokens.clear();
    ids.clear();
    if (absl::Status status = (*tokenizer)->encode({line.data(), line.size()}, tokens);
        !status.ok())
      return fail(status);
    for (const ::st::Token &token : tokens)
      ids.push_back(token.id);
    llvm::interleave((*tokenizer)->addSpecial(ids), os, " ");
    os << '\n';
  }
  return success();
}

} // namespace

void registerTextToTokenIds() {
  static llvm::cl::opt<std::string> vocabulary{
      "vocab", llvm::cl::value_desc("file"),
      llvm::cl::desc("--text-to-token-ids: a WordPiece vocabulary (vocab.txt)")};
  static llvm::cl::opt<std::string> tokenizer{
      "tokenizer", llvm::cl::value_desc("folder or file"),
      llvm::cl::desc("--text-to-token-ids: a model folder with tokenizer.json, vocab.json and "
                     "merges.txt, or vocab.txt; or a tokenizer.json")};
  static TranslateRegistration registration(
      "text-to-token-ids", "print the tokens of each line, special ones around them",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return textToTokenIds(vocabulary, tokenizer,
                              source->getMemoryBuffer(source->getMainFileID())->getBuffer(), os);
      });
}

} // namespace mlir::st
