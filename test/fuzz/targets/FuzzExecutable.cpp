// The payload of a training binary, past its checksum: parsed, validated, its programs decoded.

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"
#include "backends/dtu/isa/Validator.h"
#include "lib/Runtime/Program/Payload.h"
#include "lib/Runtime/Program/ValidateExecutable.h"
#include "test/fuzz/targets/FuzzTarget.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  absl::string_view bytes(reinterpret_cast<const char *>(data), size);
  (void)st::findPayload(bytes);
  auto executable = st::parseExecutable(bytes);
  if (!executable.ok())
    return 0;
  for (const st::proto::Group &group : executable->groups())
    for (const st::proto::Task &task : group.tasks())
      if (auto program = st::dtu::decode(task.program()); program.ok())
        (void)st::dtu::printProgram(*program);
  return 0;
}
