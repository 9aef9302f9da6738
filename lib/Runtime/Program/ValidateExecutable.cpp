#include "lib/Runtime/Program/ValidateExecutable.h"

#include "absl/strings/str_cat.h"
#include "lib/Runtime/Program/ValidateCuda.h"
#include "lib/Runtime/State/TensorLayout.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <google/protobuf/stubs/logging.h>
#include <map>
#include <set>

namespace st {
namespace {

// Far above any cluster; bounds the time and memory that damaged counts can cost.
constexpr int64_t kMaxRanks = 1 << 20;
constexpr int64_t kMaxMicroBatches = 1 << 20;
constexpr int64_t kLargestArena = int64_t{1} << 46;
constexpr int kMaxDims = 16;

absl::Status invalid(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("invalid training program: ", message));
}

// A range of a rank's arena and its owner.
struct Range {
  int64_t begin, end;
  std::string owner;
};

class GroupValidator {
public:
  GroupValidator(const proto::Executable &program, const proto::Group &group)
      : program(program), group(group), ranks(group.device_ids_size()) {}

  absl::Status run();

private:
  absl::Status error(absl::string_view message) const {
    return invalid(absl::StrCat("group \"", group.name(), "\": ", message));
  }
  absl::Status checkRanks() const;
  absl::Status checkSchedule() const;
  absl::Status checkTensor(const std::string &owner, const proto::TensorType &type) const;
  absl::Status checkSlice(const std::string &owner, const proto::TensorType &type,
                          const proto::Slice &slice, int64_t microBatches, int64_t microDim) const;
  absl::Status checkView(const std::string &owner, const proto::TensorType &type,
                         const proto::Slice &slice) const;
  absl::Status checkLocal(const std::string &owner, const proto::TensorType &type,
                          const proto::Slice &slice, int64_t microBatches, int64_t microDim) const;
  absl::Status claim(const std::string &owner, int64_t offset, int64_t bytes, bool exclusive);
  absl::Status checkState(const proto::State &state);
  absl::Status checkInput(const proto::Input &input);
  absl::Status checkOutput(const proto::Output &output);
  absl::Status checkOverlaps();

  const proto::Executable &program;
  const proto::Group &group;
  int64_t ranks;
  std::vector<Range> ranges;
};

absl::Status GroupValidator::run() {
  ST_RETURN_IF_ERROR(checkRanks());
  ST_RETURN_IF_ERROR(checkSchedule());
  for (const proto::State &state : group.states())
    ST_RETURN_IF_ERROR(checkState(state));
  for (const proto::Input &input : group.inputs())
    ST_RETURN_IF_ERROR(checkInput(input));
  for (const proto::ConstantData &constant : group.constants())
    ST_RETURN_IF_ERROR(
        claim("a constant", constant.offset(), static_cast<int64_t>(constant.data().size()), true));
  for (const proto::Output &output : group.outputs())
    ST_RETURN_IF_ERROR(checkOutput(output));
  return checkOverlaps();
}

absl::Status GroupValidator::checkRanks() const {
  if (ranks == 0)
    return error("it has no ranks");
  if (group.arena_bytes() < 0 || group.arena_bytes() > kLargestArena)
    return error(absl::StrCat("an arena of ", group.arena_bytes(), " bytes"));
  if (group.host_arena_bytes() < 0 || group.host_arena_bytes() > kLargestArena)
    return error(absl::StrCat("an arena of ", group.host_arena_bytes(), " bytes on the host"));
  if (group.table_size() < 0 || group.table_size() > INT_MAX ||
      group.rank_tables_size() != ranks * group.table_size())
    return error(absl::StrCat("expected ", ranks, " rank tables of ", group.table_size(),
                              " entries, found ", group.rank_tables_size(), " entries"));
  return absl::OkStatus();
}

absl::Status GroupValidator::checkSchedule() const {
  for (const proto::ScheduleEntry &entry : group.schedule()) {
    if (entry.task() < 0 || entry.task() >= group.tasks_size())
      return error(
          absl::StrCat("the schedule names task ", entry.task(), " of ", group.tasks_size()));
    if (entry.micro_batch() < 0 || entry.micro_batch() >= program.micro_batches())
      return error(absl::StrCat("the schedule names micro-batch ", entry.micro_batch(), " of ",
                                program.micro_batches()));
  }
  return absl::OkStatus();
}

absl::Status GroupValidator::checkTensor(const std::string &owner,
                                         const proto::TensorType &type) const {
  std::optional<ElementType> element = elementTypeOf(type.element());
  if (!element)
    return error(absl::StrCat(owner, " has no element type"));
  if (type.shape_size() > kMaxDims)
    return error(absl::StrCat(owner, " has ", type.shape_size(), " dimensions"));
  int64_t bytes = static_cast<int64_t>(byteWidth(*element));
  for (int64_t size : type.shape())
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes) || bytes > kLargestArena)
      return error(absl::StrCat(owner, " has an impossible shape"));
  return absl::OkStatus();
}

absl::Status GroupValidator::checkSlice(const std::string &owner, const proto::TensorType &type,
                                        const proto::Slice &slice, int64_t microBatches,
                                        int64_t microDim) const {
  if (slice.rows() != 0 || slice.first_row() != 0) {
    if (type.shape_size() == 0 || slice.rows() < 1 || slice.first_row() < 0 ||
        slice.first_row() > type.shape(0) - slice.rows())
      return error(absl::StrCat(owner, " has a slice of ", slice.rows(), " rows from row ",
                                slice.first_row(), " on, which exceeds the tensor"));
    proto::TensorType part = type;
    proto::Slice ofPart = slice;
    part.set_shape(0, slice.rows());
    ofPart.clear_first_row();
    ofPart.clear_rows();
    if (slice.view_size() != 0) {
      if (slice.view_ranks_size() == 0 || slice.view_ranks(0) != 1 ||
          slice.view(0) != type.shape(0))
        return error(absl::StrCat(owner, " has a slice of rows that are split again"));
      ofPart.set_view(0, slice.rows());
    }
    return checkSlice(owner, part, ofPart, microBatches, microDim);
  }
  std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
  if (slice.view_size() != 0) {
    ST_RETURN_IF_ERROR(checkView(owner, type, slice));
    shape.assign(slice.view().begin(), slice.view().end());
  }
  const auto dims = static_cast<int64_t>(shape.size());
  if (microDim < -1 || microDim >= dims)
    return error(
        absl::StrCat(owner, " has micro-batches along dimension ", microDim, " of ", dims));
  if (slice.local_size() != 0)
    ST_RETURN_IF_ERROR(checkLocal(owner, type, slice, microBatches, microDim));
  const bool isEven = slice.local_size() == 0;
  if (isEven && microDim >= 0 && shape[microDim] % microBatches != 0)
    return error(absl::StrCat(owner, ": dimension ", microDim, " of size ", shape[microDim],
                              " does not divide into ", microBatches, " micro-batches"));
  if (isEven && microDim >= 0)
    shape[microDim] /= microBatches;
  if (slice.counts_size() == 0 && slice.parts_size() == 0)
    return absl::OkStatus();
  if (slice.counts_size() != dims || slice.parts_size() != ranks * dims)
    return error(absl::StrCat(owner, " has a slice of ", slice.counts_size(), " counts and ",
                              slice.parts_size(), " parts for ", dims, " dimensions and ", ranks,
                              " ranks"));
  for (int64_t dim = 0; dim < dims; ++dim)
    if (slice.counts(dim) < 1 || (isEven && shape[dim] % slice.counts(dim) != 0))
      return error(absl::StrCat(owner, ": dimension ", dim, " of size ", shape[dim],
                                " does not divide into ", slice.counts(dim), " parts"));
  for (int64_t i = 0; i < slice.parts_size(); ++i)
    if (slice.parts(i) < 0 || slice.parts(i) >= slice.counts(i % dims))
      return error(absl::StrCat(owner, ": part ", slice.parts(i), " of ", slice.counts(i % dims)));
  return absl::OkStatus();
}

// Checks that the view's dimensions make up those of the tensor and their padding, with sizes that
// cannot overflow later.
absl::Status GroupValidator::checkView(const std::string &owner, const proto::TensorType &type,
                                       const proto::Slice &slice) const {
  if (slice.view_ranks_size() != type.shape_size())
    return error(absl::StrCat(owner, " has a view of ", slice.view_ranks_size(), " dimensions for ",
                              type.shape_size()));
  int64_t bytes = static_cast<int64_t>(byteWidth(*elementTypeOf(type.element())));
  int64_t next = 0;
  for (int dim = 0; dim < type.shape_size(); ++dim) {
    int64_t padded = 1;
    for (int64_t i = 0; i < slice.view_ranks(dim); ++i, ++next) {
      const int64_t size = next < slice.view_size() ? slice.view(static_cast<int>(next)) : -1;
      if (size < 0 || __builtin_mul_overflow(padded, size, &padded) || padded > kLargestArena)
        return error(absl::StrCat(owner, " has an impossible view"));
    }
    if (slice.view_ranks(dim) < 1 || __builtin_mul_overflow(bytes, padded, &bytes) ||
        bytes > kLargestArena)
      return error(absl::StrCat(owner, " has an impossible view"));
    if (padded < type.shape(dim))
      return error(absl::StrCat(owner, ": dimension ", dim, " of size ", type.shape(dim),
                                " is larger than its view of ", padded));
  }
  if (next != slice.view_size())
    return error(absl::StrCat(owner, " has an impossible view"));
  if (slice.local_size() != 0)
    return error(absl::StrCat(owner, " has a view and local sizes"));
  return absl::OkStatus();
}

// Checks that the local parts make up the tensor, with sizes that cannot overflow later.
absl::Status GroupValidator::checkLocal(const std::string &owner, const proto::TensorType &type,
                                        const proto::Slice &slice, int64_t microBatches,
                                        int64_t microDim) const {
  if (slice.local_size() != type.shape_size() || slice.counts_size() != type.shape_size())
    return error(absl::StrCat(owner, " has ", slice.local_size(), " local sizes and ",
                              slice.counts_size(), " counts for ", type.shape_size(),
                              " dimensions"));
  int64_t bytes = static_cast<int64_t>(byteWidth(*elementTypeOf(type.element())));
  for (int dim = 0; dim < type.shape_size(); ++dim) {
    int64_t room = slice.local(dim);
    if (room < 0 || slice.counts(dim) < 1 || __builtin_mul_overflow(bytes, room, &bytes) ||
        bytes > kLargestArena || __builtin_mul_overflow(room, slice.counts(dim), &room) ||
        __builtin_mul_overflow(room, dim == microDim ? microBatches : 1, &room) ||
        room > kLargestArena)
      return error(absl::StrCat(owner, " has an impossible local shape"));
    if (room < type.shape(dim))
      return error(absl::StrCat(owner, ": dimension ", dim, " of size ", type.shape(dim),
                                " is larger than its parts of ", slice.local(dim)));
  }
  return absl::OkStatus();
}

// Checks that the bytes are in the arena. Records `exclusive` ranges, which no other data may use
// at the start of a step.
absl::Status GroupValidator::claim(const std::string &owner, int64_t offset, int64_t bytes,
                                   bool exclusive) {
  if (offset < 0 || bytes > group.arena_bytes() || offset > group.arena_bytes() - bytes)
    return error(absl::StrCat(owner, " takes ", bytes, " bytes at offset ", offset,
                              " of an arena of ", group.arena_bytes()));
  if (exclusive && bytes > 0)
    ranges.push_back({offset, offset + bytes, owner});
  return absl::OkStatus();
}

absl::Status GroupValidator::checkState(const proto::State &state) {
  std::string owner = absl::StrCat("state \"", state.name(), "\"");
  if (state.name().empty())
    return error("a state without a name");
  if (state.role() != "parameter" && state.role() != "optimizer_state")
    return error(absl::StrCat(owner, " has the unknown role \"", state.role(), "\""));
  ST_RETURN_IF_ERROR(checkTensor(owner, state.global()));
  ST_RETURN_IF_ERROR(checkSlice(owner, state.global(), state.slice(), 1, -1));
  if (!proto::Initializer::Kind_IsValid(state.init().kind()))
    return error(absl::StrCat(owner, " has an unknown initializer"));
  bool isFloat = state.global().element() == proto::F32 || state.global().element() == proto::BF16;
  if (state.init().kind() != proto::Initializer::ZEROS && !isFloat)
    return error(absl::StrCat(owner, " is neither f32 nor bf16 and does not start as zero"));
  if (state.init().kind() == proto::Initializer::NORMAL &&
      !(std::isfinite(state.init().stddev()) && state.init().stddev() >= 0))
    return error(absl::StrCat(owner, " has a standard deviation of ", state.init().stddev()));
  if (!std::isfinite(static_cast<float>(state.init().value())))
    return error(absl::StrCat(owner, " starts as ", state.init().value()));
  if (state.init().has_zero_row() &&
      (state.global().shape().empty() || state.init().zero_row() < 0 ||
       state.init().zero_row() >= state.global().shape(0)))
    return error(absl::StrCat(owner, " has no row ", state.init().zero_row(), " to start as zero"));
  if (state.init_stream() < 0 || state.init_stream() > UINT32_MAX)
    return error(absl::StrCat(owner, " has the random stream ", state.init_stream()));
  return claim(owner, state.offset(), blockOf(state.global(), state.slice(), 0).numBytes(), true);
}

absl::Status GroupValidator::checkInput(const proto::Input &input) {
  std::string owner = absl::StrCat("input \"", input.name(), "\"");
  ST_RETURN_IF_ERROR(checkTensor(owner, input.global()));
  const int64_t microBatches = program.micro_batches();
  ST_RETURN_IF_ERROR(
      checkSlice(owner, input.global(), input.slice(), microBatches, input.micro_dim()));
  const int64_t bytes = blockOf(input, microBatches, 0, 0).numBytes();
  const bool isScalar = input.global().shape_size() == 0 && input.global().element() == proto::F32;
  if (input.role() == "key") {
    if (input.global().element() != proto::U32 || input.global().shape_size() != 1 ||
        input.global().shape(0) != 2 || bytes != 8)
      return error(absl::StrCat(owner, " is a random key, expected an unsharded u32[2]"));
  } else if (input.role() == "scalar") {
    if (!isScalar || (input.name() != "learning_rate" && input.name() != "step"))
      return error(absl::StrCat(owner, " is not a scalar that the runner supports"));
  } else if (input.role() != "batch") {
    return error(absl::StrCat(owner, " has the unknown role \"", input.role(), "\""));
  }
  if (input.micro_dim() < 0)
    return claim(owner, input.offset(), bytes, true);
  if (microBatches > 1 &&
      (input.micro_stride() < bytes || input.micro_stride() > group.arena_bytes()))
    return error(absl::StrCat(owner, " has micro-batches of ", bytes, " bytes ",
                              input.micro_stride(), " bytes apart"));
  for (int64_t microBatch = 0; microBatch < microBatches; ++microBatch)
    ST_RETURN_IF_ERROR(
        claim(owner, input.offset() + microBatch * input.micro_stride(), bytes, true));
  return absl::OkStatus();
}

absl::Status GroupValidator::checkOutput(const proto::Output &output) {
  std::string owner = absl::StrCat("output \"", output.name(), "\"");
  const int64_t microBatches = program.micro_batches();
  const int64_t microDim = output.has_micro_dim() ? output.micro_dim() : -1;
  ST_RETURN_IF_ERROR(checkTensor(owner, output.global()));
  ST_RETURN_IF_ERROR(checkSlice(owner, output.global(), output.slice(),
                                microDim < 0 ? 1 : microBatches, microDim));
  if (output.role() == "loss" &&
      (output.global().element() != proto::F32 || output.global().shape_size() != 0))
    return error(absl::StrCat(owner, " is the loss but not an f32 scalar"));
  if (output.role() != "loss" && output.role() != "metric")
    return error(absl::StrCat(owner, " has the unknown role \"", output.role(), "\""));
  const int64_t bytes = blockOf(output, microBatches, 0, 0).numBytes();
  const int64_t parts = countParts(output, microBatches);
  if (parts > 1 && (output.micro_stride() < bytes || output.micro_stride() > group.arena_bytes()))
    return error(absl::StrCat(owner, " has micro-batches of ", bytes, " bytes ",
                              output.micro_stride(), " bytes apart"));
  for (int64_t part = 0; part < parts; ++part)
    ST_RETURN_IF_ERROR(claim(owner, output.offset() + part * output.micro_stride(), bytes, false));
  return absl::OkStatus();
}

absl::Status GroupValidator::checkOverlaps() {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      return error(absl::StrCat(ranges[i].owner, " overlaps ", ranges[i - 1].owner, " at offset ",
                                ranges[i].begin));
  return absl::OkStatus();
}

// Checks that a state in several groups is the same tensor in each.
absl::Status checkSharedStates(const proto::Executable &program) {
  std::map<std::string, const proto::State *> first;
  for (const proto::Group &group : program.groups()) {
    std::set<std::pair<std::string, int64_t>> inGroup; // names, and rows of states stored in parts
    for (const proto::State &state : group.states()) {
      if (!inGroup.insert({state.name(), state.slice().first_row()}).second)
        return invalid(
            absl::StrCat("group \"", group.name(), "\" holds state \"", state.name(), "\" twice"));
      auto [it, isFirst] = first.emplace(state.name(), &state);
      if (isFirst)
        continue;
      const proto::State &other = *it->second;
      bool same = state.role() == other.role() && state.init_stream() == other.init_stream() &&
                  state.global().SerializeAsString() == other.global().SerializeAsString() &&
                  state.init().SerializeAsString() == other.init().SerializeAsString();
      if (!same)
        return invalid(absl::StrCat("groups disagree on state \"", state.name(), "\""));
    }
  }
  return absl::OkStatus();
}

// Checks that each output name identifies one tensor.
absl::Status checkOutputNames(const proto::Executable &program) {
  std::map<std::string, std::string> types;
  std::set<std::string> states;
  for (const proto::Group &group : program.groups())
    for (const proto::State &state : group.states())
      states.insert(state.name());
  for (const proto::Group &group : program.groups()) {
    std::set<std::string> inGroup = states;
    for (const proto::Output &output : group.outputs()) {
      const std::string type = output.global().SerializeAsString();
      if (!inGroup.insert(output.name()).second)
        return invalid(
            absl::StrCat("group \"", group.name(), "\" gives \"", output.name(), "\" twice"));
      if (types.emplace(output.name(), type).first->second != type)
        return invalid(absl::StrCat("groups disagree on output \"", output.name(), "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status checkPrediction(const proto::Executable &program, int64_t ranks) {
  const proto::Prediction &prediction = program.prediction();
  if (prediction.ranks_size() != ranks)
    return invalid(
        absl::StrCat("a prediction of ", prediction.ranks_size(), " ranks, expected ", ranks));
  for (const proto::Group &group : program.groups())
    for (int64_t i = 0; i < group.device_ids_size(); ++i)
      if (int tasks = prediction.ranks(static_cast<int>(group.first_rank() + i)).tasks_size();
          tasks != group.tasks_size())
        return invalid(absl::StrCat("a prediction of ", tasks, " tasks of rank ",
                                    group.first_rank() + i, ", expected ", group.tasks_size()));
  return absl::OkStatus();
}

bool hasOutput(const proto::Executable &program) {
  return std::any_of(program.groups().begin(), program.groups().end(),
                     [](const proto::Group &group) { return group.outputs_size() > 0; });
}

// Checks a further program: it must have the first one's ranks, with states at the same offsets.
absl::Status checkOther(const proto::Executable &first, const proto::Executable &other) {
  const auto error = [&](absl::string_view what) {
    return invalid(absl::StrCat("program \"", other.name(), "\": ", what));
  };
  if (other.name().empty() || other.others_size() > 0 || other.target() != first.target())
    return error("expected a name, the same target and no further programs");
  if (absl::Status status = validateExecutable(other); !status.ok())
    return error(status.message());
  if (other.groups_size() != first.groups_size())
    return error("it has other device groups");
  for (int i = 0; i < first.groups_size(); ++i) {
    const proto::Group &group = first.groups(i), &same = other.groups(i);
    if (!std::equal(group.device_ids().begin(), group.device_ids().end(), same.device_ids().begin(),
                    same.device_ids().end()) ||
        same.arena_bytes() > group.arena_bytes() ||
        same.host_arena_bytes() > group.host_arena_bytes())
      return error("it has other devices or larger arenas");
    if (other.cuda().scratch_bytes() > first.cuda().scratch_bytes())
      return error("it has a larger scratch memory");
    for (const proto::State &state : same.states()) {
      const auto known = std::find_if(
          group.states().begin(), group.states().end(),
          [&](const proto::State &candidate) { return candidate.name() == state.name(); });
      if (known == group.states().end() || known->offset() != state.offset() ||
          known->global().SerializeAsString() != state.global().SerializeAsString() ||
          known->slice().SerializeAsString() != state.slice().SerializeAsString())
        return error(absl::StrCat("state \"", state.name(),
                                  "\" has another offset, type or slice than in the first"));
    }
    // Its inputs and constants must not overwrite states of the first program.
    int64_t end = 0;
    for (const proto::State &state : group.states())
      end = std::max(end, state.offset() + blockOf(state.global(), state.slice(), 0).numBytes());
    for (const proto::Input &input : same.inputs())
      if (input.offset() < end)
        return error(absl::StrCat("input \"", input.name(), "\" overlaps the first one's states"));
    for (const proto::ConstantData &constant : same.constants())
      if (constant.offset() < end)
        return error("a constant overlaps the first one's states");
  }
  return absl::OkStatus();
}

} // namespace

absl::Status validateExecutable(const proto::Executable &program) {
  if (program.format_version() != kExecutableFormatVersion)
    return invalid(absl::StrCat("format version ", program.format_version(), ", expected ",
                                kExecutableFormatVersion));
  if (program.micro_batches() < 1 || program.micro_batches() > kMaxMicroBatches)
    return invalid(absl::StrCat(program.micro_batches(), " micro-batches"));
  if (program.groups_size() == 0)
    return invalid("no device groups");
  int64_t ranks = 0;
  for (const proto::Group &group : program.groups()) {
    if (group.first_rank() != ranks)
      return invalid(absl::StrCat("group \"", group.name(), "\" starts at rank ",
                                  group.first_rank(), ", expected ", ranks));
    ranks += group.device_ids_size();
    if (ranks > kMaxRanks)
      return invalid(absl::StrCat("more than ", kMaxRanks, " ranks"));
    ST_RETURN_IF_ERROR(GroupValidator(program, group).run());
  }
  ST_RETURN_IF_ERROR(checkSharedStates(program));
  ST_RETURN_IF_ERROR(checkOutputNames(program));
  if (!hasOutput(program))
    return invalid("no group has an output");
  if (program.has_prediction())
    ST_RETURN_IF_ERROR(checkPrediction(program, ranks));
  if (program.target() == "cuda")
    ST_RETURN_IF_ERROR(validateCuda(program));
  for (const proto::Executable &other : program.others())
    ST_RETURN_IF_ERROR(checkOther(program, other));
  return absl::OkStatus();
}

absl::StatusOr<proto::Executable> parseExecutable(absl::string_view payload) {
  google::protobuf::LogSilencer silencer; // the error is a single line
  proto::Executable program;
  if (payload.size() > INT_MAX ||
      !program.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    return invalid("it cannot be decoded");
  ST_RETURN_IF_ERROR(validateExecutable(program));
  return program;
}

} // namespace st
