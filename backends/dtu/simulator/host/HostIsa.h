// Host instruction sets the data path of the simulator knows.
#pragma once

#include <cstdint>

namespace st::dtu {

/// Bits are promised per choice; Auto takes the fastest the host has (fastestHostIsa). Each
/// includes those before it; the last two differ from Avx512 in products of bf16 alone.
enum class HostIsa : uint8_t { Auto, Baseline, Avx2, Avx512, Avx512Bf16, Amx };
constexpr HostIsa kHostIsas[] = {HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512,
                                 HostIsa::Avx512Bf16, HostIsa::Amx};

} // namespace st::dtu
