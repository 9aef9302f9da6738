#include "plugins/pjrt/runtime/LoadedProgram.h"

#include "lib/Runtime/State/TensorLayout.h"
#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/runtime/HostRun.h"
#include "plugins/pjrt/runtime/Shards.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <cstring>
#include <utility>

namespace st::pjrt {

static ArrayType typeOf(const proto::PluginPort &port,
                        const google::protobuf::RepeatedField<int64_t> &dims) {
  return {static_cast<PJRT_Buffer_Type>(port.type()), {dims.begin(), dims.end()}};
}
/// The type of a result's array on one device, in the layout that the caller chose.
static ArrayType arrayType(const proto::PluginPort &port) {
  ArrayType type = localType(port);
  type.minorToMajor.assign(port.minor_to_major().begin(), port.minor_to_major().end());
  return type;
}
ArrayType fullType(const proto::PluginPort &port) { return typeOf(port, port.dims()); }
ArrayType localType(const proto::PluginPort &port) { return typeOf(port, port.local()); }

/// The number after a prefix of a compiler-generated name: "arg12".
static size_t numberOf(absl::string_view name, absl::string_view prefix) {
  uint64_t number = 0;
  const bool isNumbered = absl::ConsumePrefix(&name, prefix) && absl::SimpleAtoi(name, &number);
  return isNumbered ? static_cast<size_t>(number) : SIZE_MAX;
}

absl::StatusOr<std::shared_ptr<LoadedProgram>>
LoadedProgram::create(std::shared_ptr<const proto::PluginProgram> program,
                      std::vector<PluginDevice *> devices, ::st::Client &runtime) {
  std::shared_ptr<LoadedProgram> made(new LoadedProgram(std::move(program), std::move(devices)));
  const proto::PluginProgram &source = *made->source;
  if (source.has_host()) {
    made->inputs.resize(static_cast<size_t>(source.arguments_size()));
    ST_RETURN_IF_ERROR(loadSteps(source.host(), *made->places.front(), runtime, made->steps));
    return made;
  }
  if (source.code().groups_size() != 1)
    return absl::InvalidArgumentError(absl::StrCat(
        "program ", source.name(), " has ", source.code().groups_size(), " device groups, not 1"));
  const proto::Group &group = source.code().groups(0);
  proto::Executable placed = source.code();
  for (int rank = 0; rank < placed.groups(0).device_ids_size(); ++rank)
    placed.mutable_groups(0)->set_device_ids(rank, made->places[rank]->hardwareId());
  ST_ASSIGN_OR_RETURN(made->loaded, runtime.load(placed));
  made->inputs.resize(static_cast<size_t>(source.arguments_size()));
  made->outputs.resize(static_cast<size_t>(source.results_size()));
  for (const proto::Input &input : group.inputs())
    if (const size_t number = numberOf(input.name(), "arg"); number < made->inputs.size())
      made->inputs[number] = &input;
  for (const proto::Output &output : group.outputs())
    if (const size_t number = numberOf(output.name(), "result"); number < made->outputs.size())
      made->outputs[number] = &output;
  for (size_t i = 0; i < made->outputs.size(); ++i)
    if (!made->outputs[i] && fullType(source.results(static_cast<int>(i))).numElements() > 0)
      return absl::InternalError(
          absl::StrCat("program ", source.name(), " computes no result ", i));
  return made;
}

absl::Status LoadedProgram::checkArguments(const ArrayLists &arguments) const {
  if (arguments.size() != places.size())
    return absl::InvalidArgumentError(absl::StrCat("program ", source->name(), " runs on ",
                                                   places.size(), " devices; arguments are for ",
                                                   arguments.size()));
  for (size_t device = 0; device < arguments.size(); ++device) {
    if (arguments[device].size() != inputs.size())
      return absl::InvalidArgumentError(absl::StrCat("program ", source->name(), " takes ",
                                                     inputs.size(), " arguments, not ",
                                                     arguments[device].size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const DeviceArray &array = *arguments[device][i];
      const ArrayType wanted = localType(source->arguments(static_cast<int>(i)));
      if (array.isDeleted())
        return absl::InvalidArgumentError(
            absl::StrCat("Array has been deleted or donated: argument ", i, " of ", source->name(),
                         ", ", array.type().describe()));
      if (array.type().element != wanted.element || array.type().dims != wanted.dims)
        return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of ", source->name(),
                                                       " is ", array.type().describe(),
                                                       "; the program takes ", wanted.describe()));
    }
  }
  return absl::OkStatus();
}

bool LoadedProgram::isDonated(size_t argument, const std::set<int64_t> &kept) const {
  return source->arguments(static_cast<int>(argument)).is_donated() &&
         !kept.count(static_cast<int64_t>(argument));
}

/// A donated array must not be a second argument of the same call. The error has the wording of
/// JAX's own platforms.
absl::Status LoadedProgram::checkDonations(const ArrayLists &arguments,
                                           const std::set<int64_t> &kept) const {
  for (size_t device = 0; device < arguments.size(); ++device) {
    std::map<const DeviceArray *, size_t> firstUses;
    for (size_t i = 0; i < arguments[device].size(); ++i) {
      const auto [use, isFirst] = firstUses.try_emplace(arguments[device][i].get(), i);
      const bool wasDonated = isDonated(use->second, kept), isNowDonated = isDonated(i, kept);
      if (isFirst || (!wasDonated && !isNowDonated))
        continue;
      const auto [what, example] =
          wasDonated && isNowDonated
              ? std::pair("donate the same buffer twice in", "f(donate(a), donate(a))")
          : wasDonated ? std::pair("use a buffer that was previously donated in the same call to",
                                   "f(donate(a), a)")
                       : std::pair("donate a buffer which is also used by the same call to",
                                   "f(a, donate(a))");
      return absl::InvalidArgumentError(absl::StrCat(
          "Attempt to ", what, " Execute(): argument ", i, " of ", source->name(), " is argument ",
          use->second, " too (partition ", device, "), as in `", example, "`"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedProgram::Run> LoadedProgram::launch(const ArrayLists &arguments,
                                                         const std::set<int64_t> &kept,
                                                         WorkQueue &queue) {
  ST_RETURN_IF_ERROR(checkArguments(arguments));
  ST_RETURN_IF_ERROR(checkDonations(arguments, kept));
  auto pending = std::make_shared<Pending>();
  for (const auto &list : arguments) {
    std::vector<Operand> &operands = pending->arguments.emplace_back();
    for (size_t i = 0; i < list.size(); ++i) {
      operands.push_back(operandOf(*list[i]));
      if (!isDonated(i, kept))
        continue;
      list[i]->erase();
      operands.back().bytes->donate();
    }
  }
  Run run;
  for (PluginDevice *device : places) {
    run.results.emplace_back();
    std::vector<Operand> &operands = pending->results.emplace_back();
    for (const proto::PluginPort &port : source->results()) {
      ST_ASSIGN_OR_RETURN(
          std::shared_ptr<DeviceArray> array,
          DeviceArray::create(arrayType(port), *device, static_cast<MemoryKind>(port.memory())));
      operands.push_back(operandOf(*array));
      run.results.back().push_back(std::move(array));
    }
  }
  queue.post([self = shared_from_this(), pending, done = run.done]() mutable {
    absl::Status status = self->run(*pending);
    // Releases the arrays of the run before it signals completion.
    pending->arguments.clear();
    std::vector<std::vector<Operand>> results = std::move(pending->results);
    pending.reset();
    for (const auto &list : results)
      for (const Operand &result : list)
        result.ready.set(status);
    done.set(std::move(status));
  });
  return run;
}

LoadedProgram::Operand LoadedProgram::operandOf(const DeviceArray &array) {
  const bool isRowMajor = array.type().minorToMajor.empty();
  return {array.storage(), array.ready(), isRowMajor ? ArrayType() : array.type()};
}

/// Programs read and write row-major arrays: copies others before a run, and after it.
absl::Status LoadedProgram::run(Pending &pending) {
  for (auto &list : pending.arguments)
    for (Operand &argument : list) {
      ST_RETURN_IF_ERROR(argument.ready.wait());
      if (argument.type.dims.empty())
        continue;
      ST_ASSIGN_OR_RETURN(
          std::shared_ptr<Storage> copy,
          Storage::create(*places.front(), argument.bytes->size(), MemoryKind::kUnpinnedHost));
      ArrayType rowMajor = argument.type;
      rowMajor.minorToMajor.clear();
      copyStrided(rowMajor, argument.bytes->data(), argument.type.strides(), copy->data(),
                  rowMajor.strides());
      argument.bytes = std::move(copy);
    }
  ST_RETURN_IF_ERROR(compute(pending));
  for (const auto &list : pending.results)
    for (const Operand &result : list) {
      if (result.type.dims.empty())
        continue;
      const std::vector<uint8_t> copy(result.bytes->data(),
                                      result.bytes->data() + result.bytes->size());
      ArrayType rowMajor = result.type;
      rowMajor.minorToMajor.clear();
      copyStrided(rowMajor, copy.data(), rowMajor.strides(), result.bytes->data(),
                  result.type.strides());
    }
  return absl::OkStatus();
}

absl::Status LoadedProgram::compute(const Pending &pending) {
  std::lock_guard<std::mutex> lock(mutex);
  if (source->has_host())
    return runOnHost(pending);
  ST_RETURN_IF_ERROR(feed(pending));
  ST_RETURN_IF_ERROR(loaded->launchStep().wait());
  return collect(pending);
}

absl::Status LoadedProgram::runOnHost(const Pending &pending) {
  // The steps compute complete arrays on the first device.
  std::vector<std::shared_ptr<Storage>> arguments;
  for (int i = 0; i < source->arguments_size(); ++i) {
    const proto::PluginPort &port = source->arguments(i);
    if (port.sharding().tile_assignment_devices().empty()) {
      arguments.push_back(pending.arguments.front()[static_cast<size_t>(i)].bytes);
      continue;
    }
    std::vector<const uint8_t *> shards;
    for (const auto &list : pending.arguments)
      shards.push_back(list[static_cast<size_t>(i)].bytes->data());
    ST_ASSIGN_OR_RETURN(std::shared_ptr<Storage> global,
                        Storage::create(*places.front(), fullType(port).numBytes()));
    joinShards(port, shards, global->data());
    arguments.push_back(std::move(global));
  }
  ST_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<Storage>> results,
                      HostRun(steps, *places.front()).run(source->host(), arguments));
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<uint8_t *> shards;
    for (const auto &list : pending.results)
      shards.push_back(list[i].bytes->data());
    splitShards(source->results(static_cast<int>(i)), results[i]->data(), shards);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::shared_ptr<Storage>>>
LoadedProgram::runNow(const std::vector<std::shared_ptr<Storage>> &arguments) {
  const Completion done = Completion::done();
  Pending pending;
  pending.arguments.emplace_back();
  pending.results.emplace_back();
  for (const std::shared_ptr<Storage> &argument : arguments)
    pending.arguments.front().push_back({argument, done});
  std::vector<std::shared_ptr<Storage>> results;
  for (const proto::PluginPort &port : source->results()) {
    ST_ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes,
                        Storage::create(*places.front(), localType(port).numBytes()));
    pending.results.front().push_back({bytes, done});
    results.push_back(std::move(bytes));
  }
  ST_RETURN_IF_ERROR(run(pending));
  return results;
}

size_t LoadedProgram::holderOf(const proto::PluginPort &port, int64_t rank) const {
  const bool isOrdered = !source->is_replicated() && !port.device_order().empty();
  return static_cast<size_t>(isOrdered ? port.device_order(static_cast<int>(rank)) : rank);
}

absl::Status LoadedProgram::feed(const Pending &pending) {
  std::vector<uint8_t> cut;
  for (int64_t rank = 0; rank < loaded->numRanks(); ++rank)
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i])
        continue;
      const size_t holder = holderOf(source->arguments(static_cast<int>(i)), rank);
      Storage &given = *pending.arguments[holder][i].bytes;
      absl::Span<const uint8_t> bytes(given.data(), static_cast<size_t>(given.size()));
      if (source->arguments(static_cast<int>(i)).is_recut()) {
        const TensorBlock block = blockOf(*inputs[i], /*microBatches=*/1, /*microBatch=*/0, rank);
        cut.assign(static_cast<size_t>(block.numBytes()), 0);
        copyToLocal(block, given.data(), cut.data());
        bytes = cut;
      }
      ST_RETURN_IF_ERROR(loaded->arena(rank)->write(inputs[i]->offset(), bytes));
    }
  return absl::OkStatus();
}

absl::Status LoadedProgram::collect(const Pending &pending) {
  const auto read = [&](size_t i, int64_t rank, uint8_t *to, int64_t bytes) {
    return loaded->arena(rank)->read(outputs[i]->offset(),
                                     absl::MakeSpan(to, static_cast<size_t>(bytes)));
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i])
      continue;
    if (source->results(static_cast<int>(i)).is_recut()) {
      Storage &first = *pending.results[0][i].bytes;
      for (int64_t rank = 0; rank < loaded->numRanks(); ++rank) {
        const TensorBlock block = blockOf(*outputs[i], /*microBatches=*/1, /*microBatch=*/0, rank);
        std::vector<uint8_t> local(static_cast<size_t>(block.numBytes()));
        ST_RETURN_IF_ERROR(read(i, rank, local.data(), block.numBytes()));
        copyToGlobal(block, local.data(), first.data());
      }
    } else {
      for (int64_t rank = 0; rank < loaded->numRanks(); ++rank) {
        const size_t holder = holderOf(source->results(static_cast<int>(i)), rank);
        Storage &result = *pending.results[holder][i].bytes;
        ST_RETURN_IF_ERROR(read(i, rank, result.data(), result.size()));
      }
    }
    // Devices beyond the program's ranks replicate the first one.
    const bool isRecut = source->results(static_cast<int>(i)).is_recut();
    const size_t begin = isRecut ? 1 : static_cast<size_t>(loaded->numRanks());
    for (size_t device = begin; device < places.size(); ++device)
      std::memcpy(pending.results[device][i].bytes->data(), pending.results[0][i].bytes->data(),
                  static_cast<size_t>(pending.results[0][i].bytes->size()));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepTime> LoadedProgram::timeStep(StepTrace *trace) {
  if (source->has_host())
    return absl::UnimplementedError(absl::StrCat(
        "program ", source->name(), " calls back to the host, which has no simulated time"));
  std::lock_guard<std::mutex> lock(mutex);
  return loaded->timeStep(trace, /*timeline=*/nullptr);
}

} // namespace st::pjrt
