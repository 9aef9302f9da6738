// The DTU's assembler: a program that parses prints, encodes and decodes to itself.

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"
#include "test/fuzz/targets/FuzzTarget.h"

static void expectSame(const std::string &a, const std::string &b) {
  if (a != b)
    __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  absl::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (auto decoded = st::dtu::decode(bytes); decoded.ok())
    (void)st::dtu::printProgram(*decoded);
  auto program = st::dtu::parseProgram(bytes);
  if (!program.ok())
    return 0;
  std::string text = st::dtu::printProgram(*program);
  auto again = st::dtu::parseProgram(text);
  auto decoded = st::dtu::decode(st::dtu::encode(*program));
  if (!again.ok() || !decoded.ok())
    __builtin_trap();
  expectSame(text, st::dtu::printProgram(*again));
  expectSame(text, st::dtu::printProgram(*decoded));
  return 0;
}
