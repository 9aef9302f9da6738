// The runtime's JSON: training data and the trainer's state. A quoted string reads back.

#include "lib/Runtime/Json.h"
#include "lib/Support/Text.h"
#include "test/fuzz/targets/FuzzTarget.h"

#include "absl/strings/str_cat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  absl::string_view text(reinterpret_cast<const char *>(data), size);
  auto object = st::parseJsonObject(text, "fuzz");
  if (!object.ok())
    return 0;
  for (const auto &[name, value] : object->fields()) {
    auto again = st::parseJsonObject(absl::StrCat("{", st::quoteJson(name), ": 1}"), "quoted");
    if (!again.ok() || !st::findField(*again, name))
      __builtin_trap();
  }
  return 0;
}
