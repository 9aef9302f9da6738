#include "lib/Runtime/Checkpoint.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace st {
namespace {

constexpr absl::string_view kModelFile = "model.safetensors";
constexpr absl::string_view kOptimizerFile = "optimizer.safetensors";
constexpr absl::string_view kTrainerFile = "trainer_state.json";
constexpr int64_t kFormat = 1;
constexpr uint64_t kLargestTrainerFile = 64 << 20;

using Checksums = std::map<std::string, std::string>;

std::string checksum(absl::Span<const uint8_t> bytes) {
  return absl::StrFormat("%08x", crc32_z(0, bytes.data(), bytes.size()));
}

absl::string_view fileOf(const StateTensor &tensor) {
  return tensor.state->role() == "parameter" ? kModelFile : kOptimizerFile;
}

int64_t numBytes(const StateTensor &tensor) {
  int64_t size = static_cast<int64_t>(byteWidth(tensor.type));
  for (int64_t dim : tensor.shape)
    size *= dim;
  return size;
}

// Copies between a block and its place in the global tensor.
void toGlobal(const TensorBlock &block, const uint8_t *local, uint8_t *global) {
  const int64_t width = static_cast<int64_t>(byteWidth(block.type));
  forEachRun(block, [&](int64_t to, int64_t from, int64_t count) {
    std::memcpy(global + to * width, local + from * width, count * width);
  });
}

void toLocal(const TensorBlock &block, const uint8_t *global, uint8_t *local) {
  const int64_t width = static_cast<int64_t>(byteWidth(block.type));
  forEachRun(block, [&](int64_t from, int64_t to, int64_t count) {
    std::memcpy(local + to * width, global + from * width, count * width);
  });
}

// Reads all blocks of a tensor into the whole, then holds every replica against it.
absl::StatusOr<std::vector<uint8_t>> gather(const StateTensor &tensor, Executable &executable) {
  std::vector<uint8_t> global(numBytes(tensor)), local, expected;
  auto read = [&](const StateBlock &block, const StateReplica &replica) {
    local.resize(block.block.numBytes());
    return executable.arena(replica.rank)->read(replica.offset, absl::MakeSpan(local));
  };
  for (const StateBlock &block : tensor.blocks) {
    ST_RETURN_IF_ERROR(read(block, block.replicas.front()));
    toGlobal(block.block, local.data(), global.data());
  }
  for (const StateBlock &block : tensor.blocks) {
    expected.resize(block.block.numBytes());
    toLocal(block.block, global.data(), expected.data());
    for (const StateReplica &replica : block.replicas) {
      ST_RETURN_IF_ERROR(read(block, replica));
      if (local != expected)
        return absl::InternalError(absl::StrCat("rank ", replica.rank, " holds other values of \"",
                                                tensor.state->name(),
                                                "\" than the ranks it shares them with"));
    }
  }
  return global;
}

// Writes the states of one file to its temporary place; the caller commits.
absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
writeStates(const std::string &folder, absl::string_view file,
            const std::vector<StateTensor> &states, Executable &executable, Checksums &checksums) {
  std::vector<SafetensorsSpec> specs;
  for (const StateTensor &tensor : states)
    if (fileOf(tensor) == file)
      specs.push_back({tensor.state->name(), tensor.type, tensor.shape});
  // "pt" is how Hugging Face's loaders know that the names are PyTorch's.
  ST_ASSIGN_OR_RETURN(
      std::unique_ptr<SafetensorsWriter> writer,
      SafetensorsWriter::create(absl::StrCat(folder, "/", file), specs, {{"format", "pt"}}));
  for (const StateTensor &tensor : states) {
    if (fileOf(tensor) != file)
      continue;
    ST_ASSIGN_OR_RETURN(std::vector<uint8_t> global, gather(tensor, executable));
    checksums[tensor.state->name()] = checksum(global);
    ST_RETURN_IF_ERROR(writer->append(global));
  }
  return writer;
}

// By hand and not through Protobuf, whose maps have another order each time.
std::string printTrainer(const TrainerState &trainer, const Checksums &checksums) {
  std::string text = absl::StrFormat(
      "{\n \"format\": %d,\n \"step\": %d,\n \"examples\": %d,\n \"seed\": %d,\n \"crc32\": {",
      kFormat, trainer.step, trainer.examples, trainer.seed);
  absl::string_view separator = "\n  ";
  for (const auto &[name, value] : checksums) {
    absl::StrAppend(&text, separator, quoteJson(name), ": ", quoteJson(value));
    separator = ",\n  ";
  }
  return text + "\n }\n}\n";
}

absl::StatusOr<double> readCount(const google::protobuf::Struct &object, const std::string &name,
                                 double limit, const std::string &path) {
  const google::protobuf::Value *value = findField(object, name);
  if (!value || !value->has_number_value() || value->number_value() < 0 ||
      value->number_value() > limit || std::trunc(value->number_value()) != value->number_value())
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": \"", name, "\" must be a whole number from 0 to ", static_cast<int64_t>(limit)));
  return value->number_value();
}

absl::StatusOr<TrainerState> parseTrainer(const std::string &path, Checksums &checksums) {
  ST_ASSIGN_OR_RETURN(std::string text, readFile(path, kLargestTrainerFile));
  ST_ASSIGN_OR_RETURN(google::protobuf::Struct object, parseJsonObject(text, path));
  constexpr double kMostSteps = 1LL << 53;
  TrainerState trainer;
  ST_ASSIGN_OR_RETURN(double format, readCount(object, "format", kMostSteps, path));
  if (format != kFormat)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": format ", format, ", expected ", kFormat));
  ST_ASSIGN_OR_RETURN(trainer.step, readCount(object, "step", kMostSteps, path));
  ST_ASSIGN_OR_RETURN(trainer.examples, readCount(object, "examples", kMostSteps, path));
  ST_ASSIGN_OR_RETURN(trainer.seed, readCount(object, "seed", UINT32_MAX, path));
  if (const google::protobuf::Value *entries = findField(object, "crc32"))
    for (const auto &[name, value] : entries->struct_value().fields())
      checksums[name] = value.string_value();
  return trainer;
}

absl::Status checkTensor(const SafetensorsReader &file, const StateTensor &tensor,
                         const Checksums &checksums) {
  const std::string &name = tensor.state->name();
  auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tensor \"", name, "\"", what));
  };
  const SafetensorsTensor *found = file.find(name);
  if (!found)
    return error(" is missing");
  if (found->type != tensor.type || found->shape != tensor.shape)
    return error(absl::StrCat(" is ", describeType(found->type, found->shape), ", the model's is ",
                              describeType(tensor.type, tensor.shape)));
  auto it = checksums.find(name);
  if (it != checksums.end() && it->second != checksum(found->data))
    return error(absl::StrCat(" is damaged: it does not match its checksum in ", kTrainerFile));
  return absl::OkStatus();
}

// Every tensor of the program is in its file as it should be, and nothing else.
absl::Status checkFile(const SafetensorsReader &file, absl::string_view name,
                       const std::vector<StateTensor> &states, const Checksums &checksums) {
  size_t expected = 0;
  for (const StateTensor &tensor : states) {
    if (fileOf(tensor) != name)
      continue;
    ST_RETURN_IF_ERROR(checkTensor(file, tensor, checksums));
    ++expected;
  }
  if (file.tensors().size() == expected)
    return absl::OkStatus();
  for (const SafetensorsTensor &found : file.tensors())
    if (std::none_of(states.begin(), states.end(), [&](const StateTensor &tensor) {
          return fileOf(tensor) == name && tensor.state->name() == found.name;
        }))
      return absl::InvalidArgumentError(
          absl::StrCat(file.path(), ": tensor \"", found.name, "\" is not one of the model's"));
  return absl::OkStatus();
}

absl::Status scatter(const SafetensorsTensor &from, const StateTensor &tensor,
                     Executable &executable) {
  std::vector<uint8_t> local;
  for (const StateBlock &block : tensor.blocks) {
    local.resize(block.block.numBytes());
    toLocal(block.block, from.data.data(), local.data());
    for (const StateReplica &replica : block.replicas)
      ST_RETURN_IF_ERROR(executable.arena(replica.rank)->write(replica.offset, local));
  }
  return absl::OkStatus();
}

absl::Status systemError(const std::string &path, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
}

} // namespace

absl::StatusOr<std::unique_ptr<CheckpointFolder>> CheckpointFolder::claim(const std::string &path) {
  const bool made = ::mkdir(path.c_str(), 0777) == 0;
  if (!made && errno != EEXIST)
    return systemError(path, "cannot make the folder");
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path, made));
  // Neither a look at the permissions nor at the file system says as much as trying.
  for (absl::string_view file : {kModelFile, kTrainerFile})
    ST_RETURN_IF_ERROR(AtomicFile::create(absl::StrCat(path, "/", file)).status());
  return folder;
}

CheckpointFolder::~CheckpointFolder() {
  if (made)
    ::rmdir(path.c_str());
}

absl::Status CheckpointFolder::save(const proto::Executable &program,
                                    const std::vector<StateTensor> &states, Executable &executable,
                                    const TrainerState &trainer) {
  Checksums checksums;
  ST_ASSIGN_OR_RETURN(auto model, writeStates(path, kModelFile, states, executable, checksums));
  ST_ASSIGN_OR_RETURN(auto optimizer,
                      writeStates(path, kOptimizerFile, states, executable, checksums));
  std::vector<std::unique_ptr<AtomicFile>> texts;
  auto addText = [&](absl::string_view name, absl::string_view content) -> absl::Status {
    if (content.empty())
      return absl::OkStatus();
    ST_ASSIGN_OR_RETURN(auto file, AtomicFile::create(absl::StrCat(path, "/", name)));
    texts.push_back(std::move(file));
    return texts.back()->write(content);
  };
  ST_RETURN_IF_ERROR(addText("config.json", program.model().config_json()));
  ST_RETURN_IF_ERROR(addText("vocab.txt", program.model().vocab_txt()));
  ST_RETURN_IF_ERROR(addText(kTrainerFile, printTrainer(trainer, checksums)));

  // The trainer's state comes last: its checksums say that the rest belongs together.
  ST_RETURN_IF_ERROR(model->commit());
  made = false;
  ST_RETURN_IF_ERROR(optimizer->commit());
  for (std::unique_ptr<AtomicFile> &file : texts)
    ST_RETURN_IF_ERROR(file->commit());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CheckpointReader>>
CheckpointReader::open(const std::string &path, const std::vector<StateTensor> &states) {
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader);
  Checksums checksums;
  ST_ASSIGN_OR_RETURN(reader->trainerState,
                      parseTrainer(absl::StrCat(path, "/", kTrainerFile), checksums));
  for (absl::string_view name : {kModelFile, kOptimizerFile}) {
    ST_ASSIGN_OR_RETURN(auto file, SafetensorsReader::open(absl::StrCat(path, "/", name)));
    ST_RETURN_IF_ERROR(checkFile(*file, name, states, checksums));
    reader->files.push_back(std::move(file));
  }
  return reader;
}

absl::Status CheckpointReader::restore(const std::vector<StateTensor> &states,
                                       Executable &executable) const {
  for (const StateTensor &tensor : states)
    for (const std::unique_ptr<SafetensorsReader> &file : files)
      if (const SafetensorsTensor *found = file->find(tensor.state->name()))
        ST_RETURN_IF_ERROR(scatter(*found, tensor, executable));
  return absl::OkStatus();
}

} // namespace st
