// The reader of safetensors files: every byte of an accepted file's tensors can be read.

#include "lib/Support/Safetensors.h"
#include "test/fuzz/targets/FuzzTarget.h"

#include "absl/strings/str_cat.h"

#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("fuzz", 0);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size))
    return 0;
  auto reader = st::SafetensorsReader::open(absl::StrCat("/proc/self/fd/", file));
  close(file);
  if (!reader.ok())
    return 0;
  volatile uint64_t sum = 0;
  for (const st::SafetensorsTensor &tensor : (*reader)->tensors()) {
    if ((*reader)->find(tensor.name) != &tensor)
      __builtin_trap();
    sum = std::accumulate(tensor.data.begin(), tensor.data.end(), uint64_t(sum));
  }
  return 0;
}
