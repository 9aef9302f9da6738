// Two functions of glibc 2.35 and 2.36 that the static libstdc++ and libgcc of newer systems ask
// for. With definitions of our own a training binary starts on glibc 2.34, which is what long-term
// distributions of GPU machines have.
#include <cstdint>
#include <link.h>
#include <sys/random.h>

namespace {

/// What libgcc's unwinder reads of `struct dl_find_object` in glibc's dlfcn.h.
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

// Hidden: libraries that are opened at run time have glibc's own.
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
