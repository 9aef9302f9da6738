// Replacement of libcublasLt.so: see Streams.h. Matrices are column-major, as documented. Sums are
// accumulated in f32 in the order of the depth, as in `cuda-host`, by several algorithms with
// different memory requirements. Features that NVIDIA does not document are rejected.
// ST_STANDIN_BLASLT has words separated by commas: "no-gelu", "no-gelu-gradient", "no-sums": no
// algorithm has that epilogue; "slow-epilogues": they are slow; "slow-first": the first algorithm
// is; "first-fails": it is proposed but does not run.
#include "backends/cuda/runtime/libraries/DriverLibraries.h"
#include "lib/Support/Float16.h"
#include "test/standins/Faults.h"
#include "test/standins/Streams.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace st;
using namespace st::cuda;

namespace {

constexpr int kSuccess = 0, kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15;
constexpr std::chrono::milliseconds kSlow(30);

/// Returns true if a word is in ST_STANDIN_BLASLT.
bool isSwitchedTo(const char *word) {
  const char *text = std::getenv("ST_STANDIN_BLASLT");
  return text &&
         (std::string(",") + text + ",").find(std::string(",") + word + ",") != std::string::npos;
}

/// Requirements of an algorithm. A 16-byte alignment also applies to leading dimensions and strides
/// of a batch.
struct AlgorithmKind {
  uint64_t alignment;
  uint64_t workspace;
};
constexpr AlgorithmKind kKinds[] = {{16, 1 << 20}, {16, 0}, {1, 0}, {1, 4 << 20}};

struct Desc {
  int computeType, scaleType;
  int32_t transA = 0, transB = 0;
  uint32_t epilogue = 1;
  uint64_t bias = 0, aux = 0;
  int64_t auxLeading = 0;

  bool has(uint32_t bits) const { return (epilogue & bits) == bits; }
  bool hasAux() const { return has(kEpilogueGeluAux) || has(kEpilogueGeluGradient); }
  bool hasSums() const { return epilogue == kEpilogueSumsA || epilogue == kEpilogueSumsB; }
};

struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batchCount = 1;
  int64_t batchStride = 0;

  uint64_t width() const { return type == kTypeF64 ? 8 : type == kTypeF32 ? 4 : 2; }
  /// From the first element of the first matrix to after the last one of the last.
  uint64_t bytes() const {
    return width() * (static_cast<uint64_t>((batchCount - 1) * batchStride) +
                      (columns - 1) * static_cast<uint64_t>(leading) + rows);
  }
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

/// The problem of an algorithm; it is rejected for any other.
struct Algorithm {
  uint64_t problem = 0;
  uint32_t kind = 0;
  uint32_t alignments[4];
  uint8_t biasAlignment = 0, auxAlignment = 0; // logarithms
};
static_assert(sizeof(Algorithm) <= sizeof(ProductAlgorithm::algorithm));

uint64_t hashOf(const Desc &desc, const Layout *const *layouts) {
  uint64_t hash = 1469598103934665603u;
  auto add = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  add(desc.computeType), add(desc.scaleType), add(desc.transA), add(desc.transB),
      add(desc.epilogue);
  add(static_cast<uint64_t>(desc.auxLeading));
  for (int i = 0; i < 4; ++i) {
    const Layout &layout = *layouts[i];
    add(layout.type), add(layout.rows), add(layout.columns);
    add(static_cast<uint64_t>(layout.leading)), add(static_cast<uint64_t>(layout.batchCount));
    add(static_cast<uint64_t>(layout.batchStride));
  }
  return hash | 1;
}

/// Rounds to 10 bits of mantissa, nearest, ties to even, as the hardware does for f32.
float toTf32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits >> 23 & 255) == 255)
    return x;
  bits += 0xfff + (bits >> 13 & 1);
  bits &= ~0x1fffu;
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}

template <class Sum, class Operand> Sum read(const Desc &desc, Operand x) {
  if constexpr (std::is_same_v<Operand, float>)
    return desc.computeType == kComputeTf32 ? toTf32(x) : x;
  else
    return static_cast<Sum>(x);
}

/// The tanh approximation.
template <class Sum> Sum gelu(Sum x) {
  const Sum t = std::tanh(Sum(0.7978845608028654) * (x + Sum(0.044715) * x * x * x));
  return x / 2 * (1 + t);
}
template <class Sum> Sum geluDerivative(Sum x) {
  const Sum slope = Sum(0.7978845608028654), cubic = Sum(0.044715);
  const Sum t = std::tanh(slope * (x + cubic * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * slope * (1 + 3 * cubic * x * x);
}

/// Bias gradients: rows of op(A), or columns of op(B), added up.
template <class Sum, class Operand, class Result>
void addUp(const Desc &desc, const Operand *a, const Layout &aLayout, const Operand *b,
           const Layout &bLayout, const Layout &dLayout) {
  const bool isOfA = desc.epilogue == kEpilogueSumsA;
  const auto depth = static_cast<int64_t>(desc.transA ? aLayout.rows : aLayout.columns);
  const auto count = static_cast<int64_t>(isOfA ? dLayout.rows : dLayout.columns);
  for (int64_t i = 0; i < count; ++i) {
    Sum sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const bool isAlong = isOfA ? desc.transA : !desc.transB; // its numbers are contiguous
      const int64_t leading = (isOfA ? aLayout : bLayout).leading;
      sum += static_cast<Sum>((isOfA ? a : b)[isAlong ? i * leading + k : k * leading + i]);
    }
    reinterpret_cast<Result *>(desc.bias)[i] = static_cast<Result>(sum);
  }
}

template <class Sum, class Operand, class Result>
void multiply(const Desc &desc, Sum alpha, const Operand *a, const Layout &aLayout,
              const Operand *b, const Layout &bLayout, Sum beta, const Result *c,
              const Layout &cLayout, Result *d, const Layout &dLayout) {
  const auto m = static_cast<int64_t>(dLayout.rows), n = static_cast<int64_t>(dLayout.columns);
  const auto k = static_cast<int64_t>(desc.transA ? aLayout.rows : aLayout.columns);
  std::vector<Sum> left(static_cast<size_t>(m * k)), sums(static_cast<size_t>(m));
  for (int32_t batch = 0; batch < dLayout.batchCount; ++batch) {
    for (int64_t row = 0; row < m; ++row)
      for (int64_t depth = 0; depth < k; ++depth)
        left[depth * m + row] = read<Sum>(desc, desc.transA ? a[row * aLayout.leading + depth]
                                                            : a[depth * aLayout.leading + row]);
    for (int64_t column = 0; column < n; ++column) {
      sums.assign(sums.size(), Sum(0));
      for (int64_t depth = 0; depth < k; ++depth) {
        const Sum factor = read<Sum>(desc, desc.transB ? b[depth * bLayout.leading + column]
                                                       : b[column * bLayout.leading + depth]);
        for (int64_t row = 0; row < m; ++row)
          sums[row] += left[depth * m + row] * factor;
      }
      for (int64_t row = 0; row < m; ++row) {
        Sum sum = alpha == Sum(1) ? sums[row] : sums[row] * alpha;
        if (beta != Sum(0))
          sum += beta * static_cast<Sum>(c[column * cLayout.leading + row]);
        if (desc.epilogue & kEpilogueBias)
          sum += static_cast<Sum>(reinterpret_cast<const Result *>(desc.bias)[row]);
        Result *aux = reinterpret_cast<Result *>(desc.aux) + column * desc.auxLeading + row;
        if (desc.has(kEpilogueGeluGradient)) {
          sum *= geluDerivative(static_cast<Sum>(*aux));
        } else if (desc.has(kEpilogueGelu)) {
          if (desc.hasAux())
            *aux = static_cast<Result>(sum);
          sum = gelu(sum);
        }
        d[column * dLayout.leading + row] = static_cast<Result>(sum);
      }
    }
    a += aLayout.batchStride, b += bLayout.batchStride;
    c += cLayout.batchStride, d += dLayout.batchStride;
  }
  if (desc.hasSums())
    addUp<Sum, Operand, Result>(desc, a - aLayout.batchStride * dLayout.batchCount, aLayout,
                                b - bLayout.batchStride * dLayout.batchCount, bLayout, dLayout);
}

/// The power of two that divides an address, at most 16.
uint8_t alignmentOf(uint64_t address) {
  uint8_t power = 0;
  while (power < 4 && (address >> power & 1) == 0)
    ++power;
  return power;
}

/// The rows of cublasLtMatmul's table of types with floats of 16, 32 and 64 bits. In all of them
/// the vector of an epilogue has d's type.
bool isTypeListed(const Desc &desc, const Layout *const *layouts) {
  struct Row {
    int compute, scale, operand, result;
  };
  constexpr Row rows[] = {
      {kComputeF32, kTypeF32, kTypeF16, kTypeF16}, {kComputeF32, kTypeF32, kTypeBF16, kTypeBF16},
      {kComputeF32, kTypeF32, kTypeF16, kTypeF32}, {kComputeF32, kTypeF32, kTypeBF16, kTypeF32},
      {kComputeF32, kTypeF32, kTypeF32, kTypeF32}, {kComputeTf32, kTypeF32, kTypeF32, kTypeF32},
      {kComputeF64, kTypeF64, kTypeF64, kTypeF64}};
  return std::any_of(std::begin(rows), std::end(rows), [&](const Row &row) {
    return desc.computeType == row.compute && desc.scaleType == row.scale &&
           layouts[0]->type == row.operand && layouts[1]->type == row.operand &&
           layouts[2]->type == row.result && layouts[3]->type == row.result;
  });
}

/// Returns true if the matrices form a product: otherwise it is an invalid value.
bool isProduct(const Desc &desc, const Layout *const *layouts) {
  const Layout &a = *layouts[0], &b = *layouts[1], &c = *layouts[2], &d = *layouts[3];
  for (int i = 0; i < 4; ++i)
    if (layouts[i]->leading < static_cast<int64_t>(layouts[i]->rows) ||
        layouts[i]->batchCount != d.batchCount || layouts[i]->batchCount < 1)
      return false;
  const auto isTranspose = [](int32_t trans) { return trans == 0 || trans == 1; };
  return isTranspose(desc.transA) && isTranspose(desc.transB) &&
         (desc.transA ? a.columns : a.rows) == d.rows &&
         (desc.transB ? b.rows : b.columns) == d.columns &&
         (desc.transA ? a.rows : a.columns) == (desc.transB ? b.columns : b.rows) &&
         c.rows == d.rows && c.columns == d.columns && c.leading == d.leading;
}

bool isSwitchedOff(const Desc &desc) {
  if (desc.hasSums())
    return isSwitchedTo("no-sums");
  if (desc.has(kEpilogueGeluGradient))
    return isSwitchedTo("no-gelu-gradient");
  return desc.has(kEpilogueGelu) && isSwitchedTo("no-gelu");
}

/// Returns true if the documentation of epilogues allows a product.
bool isDocumented(const Desc &desc, const Layout &d) {
  constexpr uint32_t known[] = {kEpilogueDefault,      kEpilogueBias,
                                kEpilogueGelu,         kEpilogueGelu | kEpilogueBias,
                                kEpilogueGeluAux,      kEpilogueGeluAux | kEpilogueBias,
                                kEpilogueGeluGradient, kEpilogueSumsA,
                                kEpilogueSumsB};
  if (std::find(std::begin(known), std::end(known), desc.epilogue) == std::end(known) ||
      isSwitchedOff(desc))
    return false;
  if (desc.hasAux() && (desc.auxLeading % 8 != 0 || desc.auxLeading < int64_t(d.rows) ||
                        d.batchCount != 1 || !desc.aux))
    return false;
  const bool hasVector = desc.hasSums() || (desc.epilogue & kEpilogueBias);
  if (hasVector && (!desc.bias || desc.bias % d.width() != 0))
    return false;
  if (desc.hasAux() && desc.aux % d.width() != 0)
    return false;
  const bool isPlain = desc.epilogue == kEpilogueDefault;
  return isPlain || (d.type != kTypeF64 && (!desc.hasSums() || d.batchCount == 1));
}

/// Returns true if an algorithm of a kind supports matrices with these alignments.
bool hasKind(const AlgorithmKind &kind, const Layout *const *layouts, const uint32_t *alignments) {
  for (int i = 0; i < 4; ++i) {
    const Layout &layout = *layouts[i];
    const uint64_t distances = static_cast<uint64_t>(layout.leading) * layout.width() |
                               static_cast<uint64_t>(layout.batchStride) * layout.width() |
                               alignments[i];
    if (distances % std::max(kind.alignment, layout.width()) != 0)
      return false;
  }
  return true;
}

bool fits(const void *pointer, const Layout &layout, uint32_t alignment) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return address % alignment == 0 && standin::isAllocated(address, layout.bytes());
}

/// Returns true if the operands of an epilogue are in memory, and the same as when the algorithm
/// was chosen.
bool epilogueFits(const Desc &desc, const Layout &d, const Algorithm &algorithm) {
  const bool hasVector = desc.hasSums() || (desc.epilogue & kEpilogueBias);
  const uint64_t count = desc.epilogue == kEpilogueSumsB ? d.columns : d.rows;
  if (hasVector && (alignmentOf(desc.bias) < algorithm.biasAlignment ||
                    !standin::isAllocated(desc.bias, count * d.width())))
    return false;
  return !desc.hasAux() ||
         (alignmentOf(desc.aux) >= algorithm.auxAlignment &&
          standin::isAllocated(
              desc.aux,
              d.width() * ((d.columns - 1) * static_cast<uint64_t>(desc.auxLeading) + d.rows)));
}

} // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130000; }

int cublasLtCreate(void **library) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  *library = library;
  return standin::currentGpu() < 0 ? 1 : kSuccess;
}

int cublasLtMatmulDescCreate(void **desc, int computeType, int scaleType) {
  *desc = new Desc{computeType, scaleType};
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes) {
  auto *changed = static_cast<Desc *>(desc);
  auto set = [&](auto &field) {
    if (bytes != sizeof(field))
      return kInvalidValue;
    std::memcpy(&field, value, bytes);
    return kSuccess;
  };
  switch (attribute) {
  case kDescTransA:
    return set(changed->transA);
  case kDescTransB:
    return set(changed->transB);
  case kDescEpilogue:
    return set(changed->epilogue);
  case kDescBias:
    return set(changed->bias);
  case kDescAux:
    return set(changed->aux);
  case kDescAuxLeading:
    return set(changed->auxLeading);
  }
  return kNotSupported;
}
int cublasLtMatmulDescDestroy(void *desc) {
  delete static_cast<Desc *>(desc);
  return kSuccess;
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
  if (leading < static_cast<int64_t>(rows))
    return kInvalidValue;
  *layout = new Layout{type, rows, columns, leading};
  return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes) {
  auto *changed = static_cast<Layout *>(layout);
  if (attribute == kLayoutBatchCount && bytes == sizeof(changed->batchCount))
    std::memcpy(&changed->batchCount, value, bytes);
  else if (attribute == kLayoutBatchStride && bytes == sizeof(changed->batchStride))
    std::memcpy(&changed->batchStride, value, bytes);
  else
    return kInvalidValue;
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(void *layout) {
  delete static_cast<Layout *>(layout);
  return kSuccess;
}

int cublasLtMatmulPreferenceCreate(void **preference) {
  *preference = new Preference;
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                         size_t bytes) {
  auto *changed = static_cast<Preference *>(preference);
  if (attribute == kPreferWorkspace && bytes == sizeof(changed->workspace))
    std::memcpy(&changed->workspace, value, bytes);
  else if (attribute >= kPreferAlignmentA && attribute < kPreferAlignmentA + 4 &&
           bytes == sizeof(uint32_t))
    std::memcpy(&changed->alignments[attribute - kPreferAlignmentA], value, bytes);
  else
    return kInvalidValue;
  return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(void *preference) {
  delete static_cast<Preference *>(preference);
  return kSuccess;
}

int cublasLtMatmulAlgoGetHeuristic(void *, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference, int most, ProductAlgorithm *found,
                                   int *count) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  const auto &preferred = *static_cast<const Preference *>(preference);
  const Layout *layouts[] = {static_cast<Layout *>(a), static_cast<Layout *>(b),
                             static_cast<Layout *>(c), static_cast<Layout *>(d)};
  const Desc &described = *static_cast<Desc *>(desc);
  *count = 0;
  if (most < 1 || !isProduct(described, layouts))
    return kInvalidValue;
  if (int planned = standin::findFailure("epilogue" + std::to_string(described.epilogue)))
    return planned;
  if (!isTypeListed(described, layouts) || !isDocumented(described, *layouts[3]))
    return kNotSupported;
  Algorithm algorithm;
  algorithm.problem = hashOf(described, layouts);
  algorithm.biasAlignment = alignmentOf(described.bias);
  algorithm.auxAlignment = alignmentOf(described.aux);
  for (const AlgorithmKind &kind : kKinds) {
    if (*count == most || kind.workspace > preferred.workspace ||
        !hasKind(kind, layouts, preferred.alignments))
      continue;
    algorithm.kind = static_cast<uint32_t>(&kind - kKinds);
    for (int i = 0; i < 4; ++i) // It runs with any address that is aligned as its kind asks.
      algorithm.alignments[i] =
          static_cast<uint32_t>(std::max(kind.alignment, layouts[i]->width()));
    ProductAlgorithm &created = found[(*count)++];
    created = {};
    std::memcpy(created.algorithm, &algorithm, sizeof(algorithm));
    created.workspaceBytes = kind.workspace;
  }
  return *count ? kSuccess : kNotSupported;
}

int cublasLtMatmulAlgoCheck(void *, void *desc, void *a, void *b, void *c, void *d,
                            const void *chosen, ProductAlgorithm *result) {
  const Layout *layouts[] = {static_cast<Layout *>(a), static_cast<Layout *>(b),
                             static_cast<Layout *>(c), static_cast<Layout *>(d)};
  Algorithm algorithm;
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  *result = {};
  if (algorithm.problem != hashOf(*static_cast<Desc *>(desc), layouts) ||
      algorithm.kind >= std::size(kKinds))
    return kInvalidValue;
  if (!isTypeListed(*static_cast<Desc *>(desc), layouts) ||
      !isDocumented(*static_cast<Desc *>(desc), *layouts[3]))
    return kNotSupported;
  result->workspaceBytes = kKinds[algorithm.kind].workspace;
  return kSuccess;
}

int cublasLtMatmul(void *, void *descriptor, const void *alpha, const void *a, void *aLayout,
                   const void *b, void *bLayout, const void *beta, const void *c, void *cLayout,
                   void *d, void *dLayout, const void *chosen, void *workspace,
                   size_t workspaceBytes, void *stream) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  const Desc desc = *static_cast<Desc *>(descriptor);
  const Layout la = *static_cast<Layout *>(aLayout), lb = *static_cast<Layout *>(bLayout),
               lc = *static_cast<Layout *>(cLayout), ld = *static_cast<Layout *>(dLayout);
  const Layout *layouts[] = {&la, &lb, &lc, &ld};
  Algorithm algorithm;
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  if (algorithm.problem != hashOf(desc, layouts) || algorithm.kind >= std::size(kKinds) ||
      !isProduct(desc, layouts))
    return kInvalidValue;
  if (algorithm.kind == 0 && isSwitchedTo("first-fails"))
    return kNotSupported;
  const uint64_t needed = kKinds[algorithm.kind].workspace;
  if (!fits(a, la, algorithm.alignments[0]) || !fits(b, lb, algorithm.alignments[1]) ||
      !fits(c, lc, algorithm.alignments[2]) || !fits(d, ld, algorithm.alignments[3]) ||
      workspaceBytes < needed || reinterpret_cast<uint64_t>(workspace) % 256 != 0 ||
      !standin::isAllocated(reinterpret_cast<uint64_t>(workspace), std::max<size_t>(needed, 1)) ||
      !epilogueFits(desc, ld, algorithm))
    return kInvalidValue;
  const bool isSlow = (algorithm.kind == 0 && isSwitchedTo("slow-first")) ||
                      (desc.epilogue != kEpilogueDefault && desc.epilogue != kEpilogueBias &&
                       isSwitchedTo("slow-epilogues"));
  auto give = [&](auto sum, auto operand, auto result) {
    using Sum = decltype(sum);
    using Operand = decltype(operand);
    using Result = decltype(result);
    Sum scale, old; // Read now: they are on the caller's stack.
    std::memcpy(&scale, alpha, sizeof(Sum));
    std::memcpy(&old, beta, sizeof(Sum));
    return standin::enqueue(stream, [=] {
      // Algorithms overwrite their workspace, so it must not be in use.
      std::memset(workspace, 0x5a, std::min<size_t>(needed, 64));
      if (isSlow)
        std::this_thread::sleep_for(kSlow);
      multiply<Sum, Operand, Result>(
          desc, scale, static_cast<const Operand *>(a), la, static_cast<const Operand *>(b), lb,
          old, static_cast<const Result *>(c), lc, static_cast<Result *>(d), ld);
      if (int wrong = standin::findFailure("product"))
        static_cast<Result *>(
            d)[(ld.columns - 1) * static_cast<uint64_t>(ld.leading) + ld.rows - 1] =
            static_cast<Result>(static_cast<Sum>(wrong));
      return kSuccess;
    });
  };
  int given = kNotSupported;
  if (la.type == kTypeF64 && ld.type == kTypeF64 && desc.computeType == kComputeF64)
    given = give(double(), double(), double());
  else if (la.type == kTypeF32 && ld.type == kTypeF32)
    given = give(float(), float(), float());
  else if (la.type == kTypeBF16 && ld.type == kTypeF32)
    given = give(float(), BFloat16(), float());
  else if (la.type == kTypeBF16 && ld.type == kTypeBF16)
    given = give(float(), BFloat16(), BFloat16());
  else if (la.type == kTypeF16 && ld.type == kTypeF32)
    given = give(float(), Float16(), float());
  else if (la.type == kTypeF16 && ld.type == kTypeF16)
    given = give(float(), Float16(), Float16());
  return given == kNotSupported ? given : given == 0 ? kSuccess : kExecutionFailed;
}

} // extern "C"
