// Host instruction sets that the data engine supports.
#pragma once

#include <cstdint>

namespace st::dtu {

/// Results are reproducible to the bit for each choice. Auto selects the fastest set of the host
/// (fastestHostIsa). Each set includes those before it; the last two differ from Avx512 in bf16
/// products alone.
enum class HostIsa : uint8_t { Auto, Baseline, Avx2, Avx512, Avx512Bf16, Amx };
constexpr HostIsa kHostIsas[] = {HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512,
                                 HostIsa::Avx512Bf16, HostIsa::Amx};

} // namespace st::dtu
