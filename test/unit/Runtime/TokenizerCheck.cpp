// st-tokenizer-check FOLDER REPEAT < TEXTS: encodes texts, each behind its length in bytes (u32,
// little-endian), with the tokenizer of the folder, and prints a line for each:
//
//   tokens with special ones around : tokens : begin-end of each in bytes
//
// or "error: ..." for a text that cannot be encoded. If REPEAT is above 0, it instead makes this
// number of passes over all texts, and prints the seconds and the number of tokens of each.

#include "lib/Runtime/Tokenizers/TokenizerFiles.h"
#include "lib/Support/Files.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

using namespace st;

static absl::StatusOr<std::unique_ptr<Tokenizer>> openFolder(const std::string &folder) {
  TokenizerFiles files;
  for (const char *name : kTokenizerFileNames) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (!exists(path))
      continue;
    auto text = readFile(path, kLargestTokenizerFile);
    if (!text.ok())
      return text.status();
    files[name] = *text;
  }
  return createFileTokenizer(files, "", INT_MAX, folder + "/");
}

static std::vector<std::string> readTexts() {
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  std::vector<std::string> texts;
  for (size_t at = 0; at + 4 <= input.size();) {
    uint32_t length;
    std::memcpy(&length, input.data() + at, 4);
    texts.push_back(input.substr(at + 4, length));
    at += 4 + length;
  }
  return texts;
}

static void print(const Tokenizer &tokenizer, const std::string &text) {
  std::vector<Token> tokens;
  std::vector<int32_t> ids;
  if (absl::Status status = tokenizer.encode(text, tokens); !status.ok()) {
    std::printf("error: %s\n", std::string(status.message()).c_str());
    return;
  }
  for (const Token &token : tokens)
    ids.push_back(token.id);
  const std::string places = absl::StrJoin(tokens, " ", [](std::string *out, const Token &token) {
    absl::StrAppend(out, token.begin, "-", token.end);
  });
  std::printf("%s : %s : %s\n", absl::StrJoin(tokenizer.addSpecial(ids), " ").c_str(),
              absl::StrJoin(ids, " ").c_str(), places.c_str());
}

static void time(const Tokenizer &tokenizer, const std::vector<std::string> &texts, int repeat) {
  for (int pass = 0; pass < repeat; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    size_t count = 0;
    std::vector<Token> tokens;
    for (const std::string &text : texts) {
      tokens.clear();
      tokenizer.encode(text, tokens).IgnoreError();
      count += tokens.size();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%.6f %zu\n", took.count(), count);
  }
}

int main(int argc, char **argv) {
  int repeat = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &repeat)) {
    std::fprintf(stderr, "usage: st-tokenizer-check FOLDER REPEAT < TEXTS\n");
    return 1;
  }
  auto tokenizer = openFolder(argv[1]);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(tokenizer.status().message()).c_str());
    return 1;
  }
  const std::vector<std::string> texts = readTexts();
  if (repeat > 0)
    time(**tokenizer, texts, repeat);
  else
    for (const std::string &text : texts)
      print(**tokenizer, text);
  return 0;
}
