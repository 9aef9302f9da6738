#include "backends/cuda/runtime/trial/TrialMemory.h"

#include "lib/Support/Float16.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

namespace st::cuda {
namespace {

constexpr Address kAlignment = 256;
constexpr size_t kPatternBytes = size_t{4} << 20;

template <class Half> void fill(std::vector<uint8_t> &bytes) {
  std::minstd_rand random(1);
  for (size_t at = 0; at + sizeof(Half) <= bytes.size(); at += sizeof(Half)) {
    const auto number = static_cast<Half>(static_cast<float>(random() >> 7) / (1 << 23) - 1);
    std::memcpy(bytes.data() + at, &number, sizeof(Half));
  }
}

} // namespace

TrialMemory::~TrialMemory() {
  if (memory)
    device.release(memory);
}

void TrialMemory::add(Address begin, int64_t bytes) {
  Address end = begin + static_cast<Address>(std::max<int64_t>(bytes, 1));
  auto it = parts.upper_bound(begin);
  if (it != parts.begin() && std::prev(it)->first + std::prev(it)->second >= begin)
    --it;
  while (it != parts.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->first + static_cast<Address>(it->second));
    it = parts.erase(it);
  }
  parts[begin] = static_cast<int64_t>(end - begin);
}

absl::Status TrialMemory::allocate(proto::ElementType half) {
  Address bytes = 0;
  for (auto [begin, size] : parts) {
    places[begin] = bytes + begin % kAlignment;
    bytes += begin % kAlignment + static_cast<Address>(size);
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  ST_ASSIGN_OR_RETURN(memory, device.allocate(static_cast<int64_t>(bytes)));
  std::vector<uint8_t> pattern(std::min<size_t>(kPatternBytes, bytes));
  half == proto::F16 ? fill<Float16>(pattern) : fill<BFloat16>(pattern);
  for (Address at = 0; at < bytes; at += pattern.size()) {
    const size_t size = std::min<size_t>(pattern.size(), bytes - at);
    ST_RETURN_IF_ERROR(device.write(memory + at, absl::MakeSpan(pattern).first(size)));
  }
  return absl::OkStatus();
}

Address TrialMemory::translate(Address address) const {
  const auto part = std::prev(places.upper_bound(address));
  return memory + part->second + (address - part->first);
}

} // namespace st::cuda
