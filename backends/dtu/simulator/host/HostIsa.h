// Host instruction sets the data path of the simulator knows.
#pragma once

#include <cstdint>

namespace st::dtu {

/// Bits are promised per choice; Auto takes the widest the host has.
enum class HostIsa : uint8_t { Auto, Baseline, Avx2, Avx512 };

} // namespace st::dtu
