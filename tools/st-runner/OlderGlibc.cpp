// Defines two functions of glibc 2.35 and 2.36 that the static libstdc++ and libgcc of newer
// systems call. With these definitions a training binary starts on glibc 2.34, the version of
// long-term distributions on GPU machines.
#include <cstdint>
#include <link.h>
#include <sys/random.h>

namespace {

/// The fields of `struct dl_find_object` (glibc's dlfcn.h) that libgcc's unwinder reads.
struct FoundObject {
  unsigned long long flags;
  void *begin, *end;
  link_map *map;
  void *unwindTable; ///< the segment PT_GNU_EH_FRAME
  unsigned long long reserved[7];
};

struct Search {
  uintptr_t address;
  FoundObject *found;
};

int visitObject(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  FoundObject object{};
  bool holdsAddress = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME)
      object.unwindTable = reinterpret_cast<void *>(begin);
    if (segment.p_type != PT_LOAD || search.address - begin >= segment.p_memsz)
      continue;
    holdsAddress = true;
    object.begin = reinterpret_cast<void *>(begin);
    object.end = reinterpret_cast<void *>(begin + segment.p_memsz);
  }
  if (!holdsAddress || !object.unwindTable)
    return 0;
  *search.found = object;
  return 1;
}

} // namespace

// Hidden, so that libraries opened at run time use glibc's functions.
extern "C" {

[[gnu::visibility("hidden"), gnu::used]] int
stFindObject(void *address, FoundObject *found) __asm__("_dl_find_object");
int stFindObject(void *address, FoundObject *found) {
  Search search{reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(visitObject, &search) ? 0 : -1;
}

[[gnu::visibility("hidden"), gnu::used]] uint32_t stRandomBits() __asm__("arc4random");
uint32_t stRandomBits() {
  uint32_t bits = 0;
  while (getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) {
  }
  return bits;
}

} // extern "C"
