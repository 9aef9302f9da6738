// Parses the attributes after the operands of an instruction in HLO text.
#include "lib/Hlo/HloTextParser.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;

/// Attributes that the importer ignores: locations, hints, and redundant ones.
static bool isIgnored(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"api_version", "async_execution_thread", "backend_config", "called_computations",
              "constrain_layout", "control-predecessors", "custom_call_has_side_effect",
              "custom_call_schedule", "is_composite", "kind", "origin",
              "operand_layout_constraints", "original_value", "outer_dimension_partitions",
              "output_to_operand_aliasing", "parameter_replication", "result_accuracy",
              "statistics"},
             true)
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Numbers, flags, lists
//===----------------------------------------------------------------------===//

std::optional<LogicalResult> HloAttributeReader::readNumber(StringRef name) {
  auto read = [&](llvm::function_ref<void(int64_t)> set) -> LogicalResult {
    int64_t value = 0;
    if (failed(cursor.readInteger(value)))
      return failure();
    set(value);
    return success();
  };
  if (name == "index")
    return read([&](int64_t v) { at.set_tuple_index(v); });
  if (name == "iota_dimension")
    return read([&](int64_t v) { at.add_dimensions(v); });
  if (name == "channel_id")
    return read([&](int64_t v) { at.set_channel_id(v); });
  if (name == "k")
    return read([&](int64_t v) { at.set_k(v); });
  if (name == "feature_group_count")
    return read([&](int64_t v) { at.set_feature_group_count(v); });
  if (name == "batch_group_count")
    return read([&](int64_t v) { at.set_batch_group_count(v); });
  if (name == "feature_index")
    return read([&](int64_t v) { at.set_feature_index(v); });
  if (name == "exponent_bits")
    return read([&](int64_t v) { at.set_exponent_bits(static_cast<int32_t>(v)); });
  if (name == "mantissa_bits")
    return read([&](int64_t v) { at.set_mantissa_bits(static_cast<int32_t>(v)); });
  if (name == "index_vector_dim")
    return read([&](int64_t v) {
      at.mutable_gather_dimension_numbers()->set_index_vector_dim(v);
      at.mutable_scatter_dimension_numbers()->set_index_vector_dim(v);
    });
  return std::nullopt;
}

std::optional<LogicalResult> HloAttributeReader::readFlag(StringRef name) {
  auto read = [&](llvm::function_ref<void(bool)> set) -> LogicalResult {
    bool value = false;
    if (failed(cursor.readBool(value)))
      return failure();
    set(value);
    return success();
  };
  if (name == "is_stable")
    return read([&](bool v) { at.set_is_stable(v); });
  if (name == "largest")
    return read([&](bool v) { at.set_largest(v); });
  if (name == "indices_are_sorted")
    return read([&](bool v) { at.set_indices_are_sorted(v); });
  if (name == "unique_indices")
    return read([&](bool v) { at.set_unique_indices(v); });
  if (name == "use_global_device_ids")
    return read([&](bool v) { at.set_use_global_device_ids(v); });
  if (name == "left_side")
    return read([&](bool v) { at.mutable_triangular_solve_options()->set_left_side(v); });
  if (name == "unit_diagonal")
    return read([&](bool v) { at.mutable_triangular_solve_options()->set_unit_diagonal(v); });
  if (name == "lower")
    return read([&](bool v) {
      at.mutable_triangular_solve_options()->set_lower(v);
      at.mutable_cholesky_options()->set_lower(v);
    });
  return std::nullopt;
}

std::optional<LogicalResult> HloAttributeReader::readDimensionList(StringRef name) {
  using List = google::protobuf::RepeatedField<int64_t> *;
  auto *dot = at.opcode() == "dot" ? at.mutable_dot_dimension_numbers() : nullptr;
  auto *gather = at.opcode() == "gather" ? at.mutable_gather_dimension_numbers() : nullptr;
  auto *scatter = at.opcode() == "scatter" ? at.mutable_scatter_dimension_numbers() : nullptr;
  List list = nullptr;
  if (name == "dimensions")
    list = at.mutable_dimensions();
  else if (name == "dynamic_slice_sizes")
    list = at.mutable_dynamic_slice_sizes();
  else if (name == "slice_sizes")
    list = at.mutable_gather_slice_sizes();
  else if (name == "fft_length")
    list = at.mutable_fft_length();
  else if (dot)
    list = llvm::StringSwitch<List>(name)
               .Case("lhs_batch_dims", dot->mutable_lhs_batch())
               .Case("rhs_batch_dims", dot->mutable_rhs_batch())
               .Case("lhs_contracting_dims", dot->mutable_lhs_contracting())
               .Case("rhs_contracting_dims", dot->mutable_rhs_contracting())
               .Default(nullptr);
  else if (gather)
    list = llvm::StringSwitch<List>(name)
               .Case("offset_dims", gather->mutable_offset_dims())
               .Case("collapsed_slice_dims", gather->mutable_collapsed_slice_dims())
               .Case("start_index_map", gather->mutable_start_index_map())
               .Case("operand_batching_dims", gather->mutable_operand_batching_dims())
               .Case("start_indices_batching_dims", gather->mutable_start_indices_batching_dims())
               .Default(nullptr);
  else if (scatter)
    list =
        llvm::StringSwitch<List>(name)
            .Case("update_window_dims", scatter->mutable_update_window_dims())
            .Case("inserted_window_dims", scatter->mutable_inserted_window_dims())
            .Case("scatter_dims_to_operand_dims", scatter->mutable_scatter_dims_to_operand_dims())
            .Case("input_batching_dims", scatter->mutable_input_batching_dims())
            .Case("scatter_indices_batching_dims", scatter->mutable_scatter_indices_batching_dims())
            .Default(nullptr);
  if (!list)
    return std::nullopt;
  return cursor.readIntegers("{", "}", [&](int64_t v) { list->Add(v); });
}

template <typename T>
LogicalResult HloAttributeReader::readOneOf(ArrayRef<std::pair<StringRef, T>> choices, T &value) {
  size_t start = cursor.here();
  StringRef given;
  if (failed(cursor.readName(given, "a word")))
    return failure();
  for (auto [word, meaning] : choices)
    if (word == given) {
      value = meaning;
      return success();
    }
  return cursor.failAt(start, "\"" + given + "\" is not supported here");
}

/// Attributes that are one of a few words.
std::optional<LogicalResult> HloAttributeReader::readChoice(StringRef name) {
  using Choice = std::pair<StringRef, int32_t>;
  int32_t value = 0;
  if (name == "direction" || name == "type") {
    StringRef word;
    if (failed(cursor.readName(word, "a word")))
      return failure();
    if (name == "direction")
      at.set_comparison_direction(word.str());
    else
      at.set_comparison_type(word.str());
    return success();
  }
  if (name == "transpose_a") {
    LogicalResult result = readOneOf<int32_t>(
        {Choice("NO_TRANSPOSE", 1), Choice("TRANSPOSE", 2), Choice("ADJOINT", 3)}, value);
    at.mutable_triangular_solve_options()->set_transpose_a(value);
    return result;
  }
  if (name == "fft_type") {
    LogicalResult result = readOneOf<int32_t>(
        {Choice("FFT", 0), Choice("IFFT", 1), Choice("RFFT", 2), Choice("IRFFT", 3)}, value);
    at.set_fft_type(value);
    return result;
  }
  if (name == "algorithm") {
    // The algorithm of a product is an implementation choice.
    if (at.opcode() != "rng-bit-generator")
      return cursor.skipValue();
    LogicalResult result = readOneOf<int32_t>(
        {Choice("rng_default", 0), Choice("rng_three_fry", 1), Choice("rng_philox", 2)}, value);
    at.set_rng_algorithm(value);
    return result;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Computations
//===----------------------------------------------------------------------===//

LogicalResult HloAttributeReader::readComputation(SmallVectorImpl<int64_t> &into) {
  size_t start = cursor.here();
  StringRef name;
  if (failed(cursor.readName(name, "a computation's name")))
    return failure();
  auto found = computations.find(name);
  if (found == computations.end())
    return cursor.failAt(start, "computation \"" + name + "\" is used before its definition");
  into.push_back(found->second);
  return success();
}

std::optional<LogicalResult> HloAttributeReader::readCalled(StringRef name) {
  if (name == "to_apply" || name == "calls")
    return readComputation(calls);
  if (name == "condition")
    return readComputation(conditions);
  if (name == "body")
    return readComputation(bodies);
  if (name == "true_computation")
    return readComputation(onTrue);
  if (name == "false_computation")
    return readComputation(onFalse);
  if (name == "select")
    return readComputation(selects);
  if (name == "scatter")
    return readComputation(scatters);
  if (name == "branch_computations")
    return cursor.readList("{", "}", [&] { return readComputation(branches); });
  return std::nullopt;
}

void HloAttributeReader::finish() {
  for (ArrayRef<int64_t> ids :
       {calls, bodies, conditions, onTrue, onFalse, branches, selects, scatters})
    for (int64_t id : ids)
      at.add_called_computation_ids(id);
}

//===----------------------------------------------------------------------===//
// Attributes of one kind each
//===----------------------------------------------------------------------===//

/// `{[0:4], [1:8:2]}`
LogicalResult HloAttributeReader::readSlices() {
  return cursor.readList("{", "}", [&]() -> LogicalResult {
    int64_t start = 0, limit = 0, stride = 1;
    if (failed(cursor.expect("[")) || failed(cursor.readInteger(start)) ||
        failed(cursor.expect(":")) || failed(cursor.readInteger(limit)) ||
        (cursor.take(":") && failed(cursor.readInteger(stride))) || failed(cursor.expect("]")))
      return failure();
    hlo::SliceDimensions &slice = *at.add_slice_dimensions();
    slice.set_start(start);
    slice.set_limit(limit);
    slice.set_stride(stride);
    return success();
  });
}

/// `1_2x0_0_1`: low, high and interior padding of each dimension; empty for a scalar.
LogicalResult HloAttributeReader::readPadding() {
  hlo::PaddingConfig &padding = *at.mutable_padding_config();
  if (cursor.peek() == ',' || cursor.peek() == '}')
    return success();
  do {
    int64_t low = 0, high = 0, interior = 0;
    if (failed(cursor.readInteger(low)) || failed(cursor.expect("_")) ||
        failed(cursor.readInteger(high)) ||
        (cursor.take("_") && failed(cursor.readInteger(interior))))
      return failure();
    hlo::PaddingConfig::Dimension &dim = *padding.add_dimensions();
    dim.set_low(low);
    dim.set_high(high);
    dim.set_interior(interior);
  } while (cursor.take("x"));
  return success();
}

/// One number per dimension, `3x3`, or two for a padding, `0_1x0_1`.
LogicalResult HloAttributeReader::readWindowPart(StringRef name) {
  hlo::Window &window = *at.mutable_window();
  int i = 0;
  do {
    size_t start = cursor.here();
    int64_t value = 0, high = 0;
    bool isPadding = name == "pad";
    if (failed(cursor.readInteger(value)) ||
        (isPadding && (failed(cursor.expect("_")) || failed(cursor.readInteger(high)))))
      return failure();
    if (i == window.dimensions_size()) {
      if (name != "size")
        return cursor.failAt(start, "more dimensions than the window's size has");
      window.add_dimensions();
    }
    hlo::Window::Dimension &dim = *window.mutable_dimensions(i++);
    if (name == "size")
      dim.set_size(value);
    else if (name == "stride")
      dim.set_stride(value);
    else if (isPadding)
      dim.set_padding_low(value), dim.set_padding_high(high);
    else if (name == "lhs_dilate")
      dim.set_base_dilation(value);
    else if (name == "rhs_dilate")
      dim.set_window_dilation(value);
    else if (name == "rhs_reversal")
      dim.set_window_reversal(value != 0);
    else
      return cursor.failAt(start, "a window has no \"" + name + "\"");
  } while (cursor.take("x"));
  return success();
}

/// `{size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=1x2}`
LogicalResult HloAttributeReader::readWindow() {
  if (failed(cursor.expect("{")))
    return failure();
  while (!cursor.take("}")) {
    StringRef name;
    if (failed(cursor.readName(name, "a part of a window")) || failed(cursor.expect("=")) ||
        failed(readWindowPart(name)))
      return failure();
  }
  return success();
}

/// `b01f_01io->b01f`: the role of each dimension of input, kernel and output.
LogicalResult HloAttributeReader::readDimLabels() {
  size_t start = cursor.here();
  StringRef text = cursor.readUntil(", ");
  auto [input, rest] = text.split('_');
  auto [kernel, output] = rest.split("->");
  hlo::ConvolutionDimensionNumbers &dims = *at.mutable_convolution_dimension_numbers();
  using Spatial = google::protobuf::RepeatedField<int64_t>;
  // Checks that every position has its letter, and every spatial dimension one position.
  auto read = [](StringRef labels, char first, char second,
                 Spatial *spatial) -> std::optional<std::pair<int64_t, int64_t>> {
    size_t one = labels.find(first), two = labels.find(second);
    if (one == StringRef::npos || two == StringRef::npos || labels.size() > 12)
      return std::nullopt;
    for (size_t i = 0; i + 2 < labels.size(); ++i) {
      size_t found = labels.find(static_cast<char>('0' + i));
      if (found == StringRef::npos)
        return std::nullopt;
      spatial->Add(static_cast<int64_t>(found));
    }
    return std::pair(static_cast<int64_t>(one), static_cast<int64_t>(two));
  };
  auto in = read(input, 'b', 'f', dims.mutable_input_spatial());
  auto window = read(kernel, 'i', 'o', dims.mutable_kernel_spatial());
  auto out = read(output, 'b', 'f', dims.mutable_output_spatial());
  if (!in || !window || !out)
    return cursor.failAt(start, "expected labels such as b01f_01io->b01f");
  dims.set_input_batch(in->first);
  dims.set_input_feature(in->second);
  dims.set_kernel_input_feature(window->first);
  dims.set_kernel_output_feature(window->second);
  dims.set_output_batch(out->first);
  dims.set_output_feature(out->second);
  return success();
}

LogicalResult HloAttributeReader::readPrecisions() {
  using Choice = std::pair<StringRef, int32_t>;
  return cursor.readList("{", "}", [&]() -> LogicalResult {
    int32_t value = 0;
    if (failed(readOneOf<int32_t>({Choice("default", 0), Choice("high", 1), Choice("highest", 2)},
                                  value)))
      return failure();
    at.mutable_precision_config()->add_operand_precision(value);
    return success();
  });
}

/// `{{0,1},{2,3}}`, or `[2,2]<=[4]` and `[2,2]<=[2,2]T(1,0)` for a transposed iota.
LogicalResult HloAttributeReader::readGroups() {
  hlo::CollectiveDeviceList &list = *at.mutable_collective_device_list();
  if (cursor.peek() == '{')
    return cursor.readList("{", "}", [&] {
      hlo::ReplicaGroup &group = *list.add_replica_groups();
      return cursor.readIntegers("{", "}", [&](int64_t v) { group.add_replica_ids(v); });
    });
  hlo::IotaReplicaGroups &iota = *list.mutable_iota_replica_groups();
  SmallVector<int64_t> sizes;
  size_t start = cursor.here();
  if (failed(cursor.readIntegers("[", "]", [&](int64_t v) { sizes.push_back(v); })) ||
      failed(cursor.expect("<=")) ||
      failed(cursor.readIntegers("[", "]", [&](int64_t v) { iota.add_iota_reshape_dims(v); })))
    return failure();
  if (sizes.size() != 2)
    return cursor.failAt(start, "expected groups and their size");
  iota.set_num_replica_groups(sizes[0]);
  iota.set_num_devices_per_group(sizes[1]);
  if (!cursor.take("T"))
    return success();
  return cursor.readIntegers(
      "(", ")", [&](int64_t v) { iota.add_iota_transpose_perm(static_cast<int32_t>(v)); });
}

LogicalResult HloAttributeReader::readPairs() {
  return cursor.readList("{", "}", [&]() -> LogicalResult {
    hlo::SourceTarget &pair = *at.add_source_target_pairs();
    int64_t source = 0, target = 0;
    if (failed(cursor.expect("{")) || failed(cursor.readInteger(source)) ||
        failed(cursor.expect(",")) || failed(cursor.readInteger(target)) ||
        failed(cursor.expect("}")))
      return failure();
    pair.set_source(source);
    pair.set_target(target);
    return success();
  });
}

LogicalResult HloAttributeReader::readSharding() {
  StringRef text;
  if (failed(cursor.readValueText(text)))
    return failure();
  at.mutable_sharding()->set_text(text.str());
  return success();
}

/// Uses only the name in an instruction's metadata.
LogicalResult HloAttributeReader::readMetadata() {
  if (failed(cursor.expect("{")))
    return failure();
  while (!cursor.take("}")) {
    StringRef name;
    if (failed(cursor.readName(name, "a field of the metadata")) || failed(cursor.expect("=")))
      return failure();
    if (name == "op_name") {
      std::string text;
      if (failed(cursor.readString(text)))
        return failure();
      at.mutable_metadata()->set_op_name(text);
    } else if (cursor.peek() == '"') {
      std::string text;
      if (failed(cursor.readString(text)))
        return failure();
    } else if (cursor.peek() == '{') {
      if (failed(cursor.skipValue()))
        return failure();
    } else if (cursor.readUntil(" }").empty()) {
      return cursor.fail("expected the value of \"" + name + "\"");
    }
  }
  return success();
}

LogicalResult mlir::st::readFrontendAttributes(HloTextCursor &cursor,
                                               hlo::FrontendAttributes &into) {
  return cursor.readList("{", "}", [&]() -> LogicalResult {
    StringRef key, text;
    std::string value;
    if (failed(cursor.readName(key, "an attribute's name")) || failed(cursor.expect("=")))
      return failure();
    if (cursor.peek() == '"') {
      if (failed(cursor.readString(value)))
        return failure();
    } else {
      if (failed(cursor.readValueText(text)))
        return failure();
      value = text.str();
    }
    (*into.mutable_map())[key.str()] = value;
    return success();
  });
}

LogicalResult HloAttributeReader::readFrontendAttributes() {
  return mlir::st::readFrontendAttributes(cursor, *at.mutable_frontend_attributes());
}

LogicalResult HloAttributeReader::readTarget() {
  std::string text;
  if (failed(cursor.readString(text)))
    return failure();
  at.set_custom_call_target(text);
  return success();
}

LogicalResult HloAttributeReader::readEpsilon() {
  size_t start = cursor.here();
  double value = 0;
  if (cursor.readUntil(", ").getAsDouble(value))
    return cursor.failAt(start, "expected a number");
  at.set_epsilon(static_cast<float>(value));
  return success();
}

const llvm::StringMap<HloAttributeReader::Reader> &HloAttributeReader::readers() {
  using R = HloAttributeReader;
  static const llvm::StringMap<Reader> table = {
      {"custom_call_target", &R::readTarget}, {"dim_labels", &R::readDimLabels},
      {"epsilon", &R::readEpsilon},           {"frontend_attributes", &R::readFrontendAttributes},
      {"metadata", &R::readMetadata},         {"operand_precision", &R::readPrecisions},
      {"padding", &R::readPadding},           {"replica_groups", &R::readGroups},
      {"sharding", &R::readSharding},         {"slice", &R::readSlices},
      {"source_target_pairs", &R::readPairs}, {"window", &R::readWindow}};
  return table;
}

LogicalResult HloAttributeReader::read() {
  size_t start = cursor.here();
  StringRef name;
  if (failed(cursor.readName(name, "an attribute's name")) || failed(cursor.expect("=")))
    return failure();
  if (auto reader = readers().find(name); reader != readers().end())
    return (this->*reader->second)();
  for (auto read : {&HloAttributeReader::readNumber, &HloAttributeReader::readFlag,
                    &HloAttributeReader::readDimensionList, &HloAttributeReader::readCalled,
                    &HloAttributeReader::readChoice})
    if (std::optional<LogicalResult> result = (this->*read)(name))
      return *result;
  if (isIgnored(name))
    return cursor.skipValue();
  return cursor.failAt(start, "unknown attribute \"" + name + "\"");
}
