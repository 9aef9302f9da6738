#include "backends/cuda/runtime/driver/DriverProduct.h"

#include "backends/cuda/runtime/commands/CommandExtents.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace st::cuda {
namespace {

constexpr int kNotSupported = 15; // CUBLAS_STATUS_NOT_SUPPORTED
constexpr int kMaxTried = 8;      // algorithms per product
/// A later candidate must take less than this fraction of the best time, so that clock noise does
/// not decide.
constexpr double kWorthwhile = 0.98;

absl::Status check(int result, const char *what) {
  return result == 0 ? absl::OkStatus()
                     : absl::UnavailableError(
                           absl::StrCat("cuBLASLt: ", what, " failed (status ", result, ")"));
}

int typeOf(proto::ElementType type) {
  switch (type) {
  case proto::F64:
    return kTypeF64;
  case proto::F16:
    return kTypeF16;
  case proto::BF16:
    return kTypeBF16;
  default:
    return kTypeF32;
  }
}

/// The alignment, up to 16, that all addresses of an operand share: the first one, and the offsets
/// that other micro-batches and positions add.
uint32_t alignmentOf(Address first, const proto::CudaPlace &place) {
  const auto steps = static_cast<Address>((place.slots() > 1 ? place.stride() : 0) |
                                          (place.has_position() ? place.position_stride() : 0));
  uint32_t aligned = 1;
  while (aligned < 16 && (first | steps) % (2 * aligned) == 0)
    aligned *= 2;
  return aligned;
}

/// cuBLASLt's A is the product's b.
uint32_t epilogueOf(const proto::CudaProduct &product) {
  if (product.has_sums())
    return product.sums_of_a() ? kEpilogueSumsB : kEpilogueSumsA;
  const uint32_t bias = product.has_bias() ? kEpilogueBias : 0;
  switch (product.activation()) {
  case proto::CudaProduct::GELU:
    return (product.has_aux() ? kEpilogueGeluAux : kEpilogueGelu) | bias;
  case proto::CudaProduct::GELU_GRADIENT:
    return kEpilogueGeluGradient;
  default:
    return bias ? bias : kEpilogueDefault;
  }
}

std::string nameOfEpilogue(const proto::CudaProduct &product) {
  std::string name = product.has_bias() ? " bias" : "";
  if (product.activation() != proto::CudaProduct::NONE)
    absl::StrAppend(
        &name, " ",
        absl::AsciiStrToLower(proto::CudaProduct::Activation_Name(product.activation())));
  if (product.has_aux())
    absl::StrAppend(&name, " aux");
  if (product.has_sums())
    absl::StrAppend(&name, " sums of ", product.sums_of_a() ? "a" : "b");
  return name;
}

} // namespace

absl::StatusOr<std::unique_ptr<DriverProduct>>
DriverProduct::create(Handle library, const proto::CudaProduct &product,
                      const ProductOperands &operands, size_t workspaceBytes,
                      ProductChoices &choices, const ProductTrial *trial) {
  ST_ASSIGN_OR_RETURN(const BlasLt *blas, getBlasLt());
  auto created = std::unique_ptr<DriverProduct>(new DriverProduct(*blas, library, product));
  ST_RETURN_IF_ERROR(created->prepare(operands, workspaceBytes, choices, trial));
  return created;
}

DriverProduct::~DriverProduct() {
  for (Handle layout : {a, b, d})
    if (layout)
      blas.destroyLayout(layout);
  if (desc)
    blas.destroyDesc(desc);
}

/// Adds the layout of a matrix's transpose, which is column-major if the matrix is row-major. Other
/// matrices are transposed again; this never happens for d.
absl::Status DriverProduct::addLayout(Handle &layout, int type, const proto::CudaMatrix &matrix,
                                      int64_t rows, int64_t columns, int32_t *isTransposed) {
  const bool isRows = matrix.column() == 1 || columns == 1;
  if (!isRows && !isTransposed)
    return absl::UnimplementedError("a product with a column-major result");
  const int64_t width = isRows ? columns : rows, height = isRows ? rows : columns;
  const int64_t leading = std::max(isRows ? matrix.row() : matrix.column(), width);
  ST_RETURN_IF_ERROR(check(blas.createLayout(&layout, type, static_cast<uint64_t>(width),
                                             static_cast<uint64_t>(height), leading),
                           "describing a matrix"));
  if (isTransposed)
    *isTransposed = !isRows;
  if (product.batch_size() == 0)
    return absl::OkStatus();
  const int last = product.batch_size() - 1;
  const auto count = static_cast<int32_t>(product.batch(last));
  const int64_t stride = matrix.batch(last);
  ST_RETURN_IF_ERROR(
      check(blas.setLayout(layout, kLayoutBatchCount, &count, sizeof(count)), "a batch"));
  return check(blas.setLayout(layout, kLayoutBatchStride, &stride, sizeof(stride)), "a batch");
}

absl::Status DriverProduct::prepare(const ProductOperands &operands, size_t workspaceBytes,
                                    ProductChoices &choices, const ProductTrial *trial) {
  const bool isF64 = product.type() == proto::F64;
  const int type = typeOf(product.type()), dType = typeOf(product.d_type());
  ST_RETURN_IF_ERROR(check(blas.createDesc(&desc,
                                           isF64            ? kComputeF64
                                           : product.tf32() ? kComputeTf32
                                                            : kComputeF32,
                                           isF64 ? kTypeF64 : kTypeF32),
                           "describing a product"));
  int32_t transposedA = 0, transposedB = 0;
  ST_RETURN_IF_ERROR(
      addLayout(b, type, product.b_matrix(), product.k(), product.n(), &transposedB));
  ST_RETURN_IF_ERROR(
      addLayout(a, type, product.a_matrix(), product.m(), product.k(), &transposedA));
  ST_RETURN_IF_ERROR(addLayout(d, dType, product.d_matrix(), product.m(), product.n(), nullptr));
  ST_RETURN_IF_ERROR(
      check(blas.setDesc(desc, kDescTransA, &transposedB, sizeof(transposedB)), "a transpose"));
  ST_RETURN_IF_ERROR(
      check(blas.setDesc(desc, kDescTransB, &transposedA, sizeof(transposedA)), "a transpose"));
  ST_RETURN_IF_ERROR(setEpilogue());

  // If the product is called once per matrix of the batch, these are aligned at least to their
  // elements.
  const auto narrow =
      static_cast<uint32_t>(std::min(widthOf(product.type()), widthOf(product.d_type())));
  const bool isSingle = product.batch_size() < 2;
  const bool adds = product.has_addend();
  const Address addresses[] = {operands.b, operands.a, adds ? operands.addend : operands.d,
                               operands.d};
  const proto::CudaPlace *places[] = {&product.b(), &product.a(),
                                      adds ? &product.addend() : &product.d(), &product.d()};
  std::vector<uint32_t> alignments;
  for (int operand = 0; operand < 4; ++operand)
    alignments.push_back(isSingle ? alignmentOf(addresses[operand], *places[operand]) : narrow);
  // cuBLASLt is given one address of an epilogue's buffers, which must have the common alignment of
  // all micro-batches.
  const uint32_t vector = operands.bias   ? alignmentOf(operands.bias, product.bias())
                          : operands.sums ? alignmentOf(operands.sums, product.sums())
                                          : 0;
  const uint32_t aux = operands.aux ? alignmentOf(operands.aux, product.aux()) : 0;
  ST_RETURN_IF_ERROR(setPointers(vector, aux));
  for (uint32_t alignment : {vector, aux})
    if (alignment)
      alignments.push_back(alignment);

  const std::string known = absl::StrCat(key(alignments, workspaceBytes), trial ? " timed" : "");
  ProductAlgorithm checked = {};
  if (std::optional<ProductChoice> before = choices.find(known);
      before && before->algorithm.workspaceBytes <= workspaceBytes &&
      blas.accepts(library, desc, b, a, d, d, before->algorithm.algorithm, &checked) == 0 &&
      checked.workspaceBytes <= before->algorithm.workspaceBytes &&
      (!before->isSeparate || !product.body().empty())) {
    choice = *before;
    return absl::OkStatus();
  }
  ST_ASSIGN_OR_RETURN(const std::vector<ProductAlgorithm> proposed,
                      propose(alignments, workspaceBytes, trial ? kMaxTried : 1));
  choice.algorithm = proposed.front();
  if (trial && (proposed.size() > 1 || trial->trial.hasBody())) {
    const absl::StatusOr<ProductOperands> tried = trial->trial.productOperands();
    if (!tried.ok()) // Out of memory, reported elsewhere: a later run may try again.
      return absl::OkStatus();
    ST_RETURN_IF_ERROR(choose(proposed, *tried, *trial));
  }
  choices.add(known, choice);
  return absl::OkStatus();
}

absl::Status DriverProduct::setEpilogue() {
  const uint32_t epilogue = epilogueOf(product);
  ST_RETURN_IF_ERROR(
      check(blas.setDesc(desc, kDescEpilogue, &epilogue, sizeof(epilogue)), "an epilogue"));
  const int64_t leading = product.d_matrix().row();
  return product.has_aux()
             ? check(blas.setDesc(desc, kDescAuxLeading, &leading, sizeof(leading)), "an epilogue")
             : absl::OkStatus();
}

absl::Status DriverProduct::setPointers(Address bias, Address aux) {
  for (auto [attribute, address] : {std::pair(kDescBias, bias), {kDescAux, aux}})
    if (address) {
      const void *pointer = reinterpret_cast<const void *>(address);
      ST_RETURN_IF_ERROR(
          check(blas.setDesc(desc, attribute, &pointer, sizeof(pointer)), "an epilogue"));
    }
  return absl::OkStatus();
}

std::string DriverProduct::key(absl::Span<const uint32_t> alignments, size_t workspaceBytes) const {
  auto matrix = [](const proto::CudaMatrix &layout) {
    return absl::StrCat(layout.row(), ",", layout.column(), layout.batch().empty() ? "" : ",",
                        absl::StrJoin(layout.batch(), ","));
  };
  return absl::StrCat(product.tf32() ? "TF32" : proto::ElementType_Name(product.type()), " ",
                      proto::ElementType_Name(product.d_type()), " ", product.m(), "x", product.n(),
                      "x", product.k(), " of ", absl::StrJoin(product.batch(), "x"), " a ",
                      matrix(product.a_matrix()), " b ", matrix(product.b_matrix()), " d ",
                      matrix(product.d_matrix()), nameOfEpilogue(product), " aligned ",
                      absl::StrJoin(alignments, ","), " workspace ", workspaceBytes);
}

absl::StatusOr<std::vector<ProductAlgorithm>>
DriverProduct::propose(absl::Span<const uint32_t> alignments, size_t workspaceBytes, int maximum) {
  Handle preference = nullptr;
  ST_RETURN_IF_ERROR(check(blas.createPreference(&preference), "choosing an algorithm"));
  int result =
      blas.setPreference(preference, kPreferWorkspace, &workspaceBytes, sizeof(workspaceBytes));
  for (int operand = 0; operand < 4 && result == 0; ++operand)
    result = blas.setPreference(preference, kPreferAlignmentA + operand, &alignments[operand],
                                sizeof(uint32_t));
  std::vector<ProductAlgorithm> found(static_cast<size_t>(maximum));
  int count = 0;
  if (result == 0)
    result = blas.choose(library, desc, b, a, d, d, preference, maximum, found.data(), &count);
  blas.destroyPreference(preference);
  if (result != kNotSupported)
    ST_RETURN_IF_ERROR(check(result, "choosing an algorithm"));
  found.resize(result == 0 ? static_cast<size_t>(count) : 0);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const ProductAlgorithm &each) { return each.state != 0; }),
              found.end());
  if (found.empty())
    return absl::UnimplementedError(absl::StrCat(
        "cuBLASLt has no algorithm for a product ",
        absl::AsciiStrToLower(proto::ElementType_Name(product.type())), " to ",
        absl::AsciiStrToLower(proto::ElementType_Name(product.d_type())), " of ", product.m(),
        " x ", product.k(), " and ", product.k(), " x ", product.n(), nameOfEpilogue(product)));
  return found;
}

absl::Status DriverProduct::choose(absl::Span<const ProductAlgorithm> proposed,
                                   const ProductOperands &operands, const ProductTrial &trial) {
  double best = 0; // none yet
  ProductAlgorithm fastest = {};
  absl::Status refused;
  for (const ProductAlgorithm &each : proposed) {
    choice.algorithm = each;
    const absl::StatusOr<double> seconds =
        trial.time([&] { return run(operands, trial.workspace, trial.stream); });
    if (absl::IsAborted(seconds.status()))
      return seconds.status();
    refused.Update(seconds.status());
    if (!seconds.ok() || (best > 0 && *seconds >= best * kWorthwhile))
      continue;
    best = *seconds;
    fastest = each;
  }
  if (best == 0) // None of the proposed algorithms runs.
    return absl::UnimplementedError(absl::StrCat(refused.message(),
                                                 nameOfEpilogue(product).empty() ? "" : ", with",
                                                 nameOfEpilogue(product)));
  choice.algorithm = fastest;
  if (!trial.trial.hasBody())
    return absl::OkStatus();
  const absl::StatusOr<double> seconds = trial.time([&] { return trial.trial.runBody(); });
  if (absl::IsAborted(seconds.status()))
    return seconds.status();
  choice.isSeparate = seconds.ok() && *seconds < best * kWorthwhile;
  return absl::OkStatus();
}

absl::Status DriverProduct::runBatch(int dim, const ProductOperands &operands,
                                     DevicePointer workspace, Handle stream) {
  if (dim < product.batch_size() - 1) {
    const auto width = static_cast<Address>(widthOf(product.type()));
    const auto dWidth = static_cast<Address>(widthOf(product.d_type()));
    for (int64_t i = 0; i < product.batch(dim); ++i) {
      ProductOperands next = operands;
      next.a += static_cast<Address>(i * product.a_matrix().batch(dim)) * width;
      next.b += static_cast<Address>(i * product.b_matrix().batch(dim)) * width;
      const Address distance = static_cast<Address>(i * product.d_matrix().batch(dim)) * dWidth;
      next.d += distance;
      next.addend += next.addend ? distance : 0;
      ST_RETURN_IF_ERROR(runBatch(dim + 1, next, workspace, stream));
    }
    return absl::OkStatus();
  }
  const double wideScale = product.scale(), wideBeta = operands.addend ? 1 : 0;
  const auto scale = static_cast<float>(wideScale), beta = static_cast<float>(wideBeta);
  const bool isF64 = product.type() == proto::F64;
  const void *alphaPointer = isF64 ? static_cast<const void *>(&wideScale) : &scale;
  const void *betaPointer = isF64 ? static_cast<const void *>(&wideBeta) : &beta;
  auto pointer = [](Address address) { return reinterpret_cast<void *>(address); };
  return check(blas.multiply(library, desc, alphaPointer, pointer(operands.b), b,
                             pointer(operands.a), a, betaPointer,
                             pointer(operands.addend ? operands.addend : operands.d), d,
                             pointer(operands.d), d, choice.algorithm.algorithm, pointer(workspace),
                             choice.algorithm.workspaceBytes, stream),
               "a product");
}

absl::Status DriverProduct::run(const ProductOperands &operands, DevicePointer workspace,
                                Handle stream) {
  ST_RETURN_IF_ERROR(setPointers(operands.bias ? operands.bias : operands.sums, operands.aux));
  return runBatch(0, operands, workspace, stream);
}

} // namespace st::cuda
