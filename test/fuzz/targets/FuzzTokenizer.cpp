// A tokenizer.json, followed by a zero byte and a text: an accepted tokenizer encodes the text, and
// its tokens are within it.

#include "lib/Runtime/Tokenizers/TokenizerFiles.h"
#include "test/fuzz/targets/FuzzTarget.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string bytes(reinterpret_cast<const char *>(data), size);
  const size_t end = bytes.find('\0');
  const std::string text =
      end == bytes.npos ? "A te\xCC\x81xt, \xE4\xB8\xAD\xF0\x9F\x98\x80" : bytes.substr(end + 1);
  auto tokenizer =
      st::createFileTokenizer({{st::kTokenizerJson, bytes.substr(0, end)}}, "", 1 << 20, "fuzz/");
  if (!tokenizer.ok())
    return 0;
  std::vector<st::Token> tokens;
  if (!(*tokenizer)->encode(text, tokens).ok())
    return 0;
  std::vector<int32_t> ids;
  for (const st::Token &token : tokens) {
    if (token.begin > token.end || token.end > text.size() || token.id < 0 ||
        token.id >= (*tokenizer)->ids().textEnd)
      __builtin_trap();
    ids.push_back(token.id);
  }
  (void)(*tokenizer)->addSpecial(ids);
  return 0;
}
