#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"
#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

namespace st {
namespace {

absl::Status compareLines(const std::string &path, absl::string_view foundText,
                          absl::string_view ownText) {
  const std::vector<absl::string_view> found = vocabularyPieces(foundText),
                                       own = vocabularyPieces(ownText);
  for (size_t i = 0; i < std::min(found.size(), own.size()); ++i)
    if (found[i] != own[i])
      return inFile(path, absl::StrCat("line ", i + 1, " is ", quoteForMessage(found[i]),
                                       ", in the program's vocabulary ", quoteForMessage(own[i])));
  if (found.size() != own.size())
    return inFile(path,
                  absl::StrCat(found.size(), " lines, the program's vocabulary has ", own.size()));
  return absl::OkStatus();
}

// Compares key by key, independent of formatting; in a tokenizer.json only keys that affect tokens.
absl::Status compareJson(const std::string &path, absl::string_view foundText,
                         absl::string_view ownText) {
  ST_ASSIGN_OR_RETURN(nlohmann::json found, parseJsonText(foundText, path));
  ST_ASSIGN_OR_RETURN(nlohmann::json own, parseJsonText(ownText, "the program's tokenizer"));
  if (!absl::EndsWith(path, kTokenizerJson))
    return found == own ? absl::OkStatus() : inFile(path, "pieces that differ from the program's");
  if (!found.is_object())
    return inFile(path, "expected an object");
  for (const char *key : {"added_tokens", "normalizer", "pre_tokenizer", "model", "post_processor"})
    if (found.value(key, nlohmann::json()) != own.value(key, nlohmann::json()))
      return inFile(path,
                    absl::StrCat("its ", key, " differs from that of the program's tokenizer"));
  return absl::OkStatus();
}

} // namespace

TokenizerFiles tokenizerFilesOf(const proto::ModelInfo &model) {
  TokenizerFiles files(model.tokenizer_files().begin(), model.tokenizer_files().end());
  if (!model.vocab_txt().empty())
    files[kVocabTxt] = model.vocab_txt();
  return files;
}

absl::Status checkTokenizer(const std::string &folder, const proto::Executable &program,
                            bool needsAll) {
  for (const auto &[name, own] : tokenizerFilesOf(program.model())) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (!exists(path)) {
      if (needsAll)
        return absl::NotFoundError(absl::StrCat(path, ": missing, but the program has one"));
      continue;
    }
    ST_ASSIGN_OR_RETURN(std::string found, readFile(path, kLargestTokenizerFile));
    ST_RETURN_IF_ERROR(absl::EndsWith(name, ".json") ? compareJson(path, found, own)
                                                     : compareLines(path, found, own));
  }
  return absl::OkStatus();
}

} // namespace st
