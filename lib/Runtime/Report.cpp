#include "lib/Runtime/Report.h"
#include "lib/Runtime/State/TensorLayout.h"
#include "lib/Runtime/StepPhases.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace st {
namespace {

std::string printMebibytes(int64_t bytes) {
  return printFigure(static_cast<double>(bytes) / (1 << 20), 1);
}

// JSON has no NaN and no infinity.
std::string printMetric(double value, int digits) {
  return std::isfinite(value) ? absl::StrFormat("%.*g", digits, value) : "null";
}

struct MemoryOfDevice {
  int64_t ranks = 0, arena = 0, scratch = 0, host = 0;
  std::map<std::string, int64_t> classes;
};

std::string printStragglersJson(const StragglerReport &report) {
  std::string text;
  for (const Straggler &straggler : report.slow)
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    absl::StrFormat("{\"process\": %d, \"host\": %s, \"devices\": \"%s\", "
                                    "\"slowdown\": %.3f, \"steps\": %d}",
                                    straggler.process, quoteJson(straggler.host),
                                    printRanges(straggler.devices), straggler.slowdown,
                                    report.steps));
  return absl::StrCat("[", text, "]");
}

/// For a table: the first and the last of many ranges, and the count.
std::string printFewRanges(const std::vector<int64_t> &numbers) {
  constexpr size_t kMaxShown = 8, kFirst = 3;
  const std::string text = printRanges(numbers);
  const std::vector<absl::string_view> ranges = absl::StrSplit(text, ',');
  if (ranges.size() <= kMaxShown)
    return text;
  return absl::StrCat(absl::StrJoin(absl::MakeConstSpan(ranges).first(kFirst), ","), ",...,",
                      ranges.back(), " (", numbers.size(), ")");
}

} // namespace

std::string printRanges(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;)
      ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", numbers[begin]);
    if (end - begin > 1)
      absl::StrAppend(&text, "-", numbers[end - 1]);
  }
  return text;
}

std::string printTable(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const std::vector<std::string> &row : rows) {
    absl::StrAppendFormat(&out, "%-*s", static_cast<int>(widths[0]), row[0]);
    for (size_t i = 1; i < row.size(); ++i)
      absl::StrAppendFormat(&out, "  %*s", static_cast<int>(widths[i]), row[i]);
    out += '\n';
  }
  return out;
}

std::string printMilliseconds(int64_t picoseconds) {
  constexpr double kPicosecondsPerMillisecond = 1e9;
  return printFigure(static_cast<double>(picoseconds) / kPicosecondsPerMillisecond);
}

std::string printExactMilliseconds(int64_t picoseconds) {
  std::string text = absl::StrFormat("%d.%09d", picoseconds / 1000000000, picoseconds % 1000000000);
  text.erase(std::max(text.find_last_not_of('0'), text.find('.') + 3) + 1);
  return text;
}

std::string printStep(const StepReport &report) {
  const std::string simulated =
      report.simulatedPicoseconds
          ? absl::StrCat("sim ", printMilliseconds(*report.simulatedPicoseconds), " ms  ")
          : "";
  return absl::StrFormat("step %d  loss %.9g  %shost %s s\n", report.step, report.loss, simulated,
                         printFigure(report.hostSeconds, 3));
}

std::string printStepJson(const StepReport &report) {
  std::string line =
      absl::StrFormat("{\"step\": %d, \"loss\": %s, \"lr\": %s", report.step,
                      printMetric(report.loss, 9), printMetric(report.learningRate, 17));
  if (report.simulatedPicoseconds)
    absl::StrAppend(&line, ", \"sim_ms\": ", printExactMilliseconds(*report.simulatedPicoseconds));
  absl::StrAppendFormat(&line, ", \"host_s\": %.6f, \"data_s\": %.6f", report.hostSeconds,
                        report.dataSeconds);
  if (report.batch)
    absl::StrAppend(&line, ", \"batch_size\": ", *report.batch);
  for (const auto &[name, value] : report.metrics)
    absl::StrAppend(&line, ", ", quoteJson(name), ": ", printMetric(value, 9));
  if (report.stragglers && !report.stragglers->slow.empty())
    absl::StrAppend(&line, ", \"stragglers\": ", printStragglersJson(*report.stragglers));
  return line + "}\n";
}

std::string printMemory(const proto::Executable &program) {
  std::map<int64_t, MemoryOfDevice> devices;
  std::vector<std::string> classes;
  bool usesHost = false;
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids()) {
      MemoryOfDevice &device = devices[id];
      ++device.ranks;
      device.arena += group.arena_bytes() + program.cuda().scratch_bytes();
      device.scratch += program.cuda().scratch_bytes();
      device.host += group.host_arena_bytes();
      usesHost |= group.host_arena_bytes() > 0;
      for (const proto::MemoryClass &memory : group.memory()) {
        if (memory.name() == "host")
          continue; // not counted in the device's peak
        if (std::find(classes.begin(), classes.end(), memory.name()) == classes.end())
          classes.push_back(memory.name());
        device.classes[memory.name()] += memory.bytes();
      }
    }
  std::vector<std::vector<std::string>> rows = {{"devices", "ranks"}};
  rows[0].insert(rows[0].end(), classes.begin(), classes.end());
  const bool hasScratch = program.cuda().scratch_bytes() > 0;
  if (hasScratch)
    rows[0].push_back("scratch");
  rows[0].push_back("peak MiB");
  if (usesHost)
    rows[0].push_back("on the host");
  std::map<std::vector<std::string>, size_t> rowOf; // by all but the devices
  std::vector<std::vector<int64_t>> sameDevices;    // of each row below the heading
  for (auto &[id, device] : devices) {
    std::vector<std::string> row = {absl::StrCat(device.ranks)};
    for (const std::string &name : classes)
      row.push_back(printMebibytes(device.classes[name]));
    if (hasScratch)
      row.push_back(printMebibytes(device.scratch));
    row.push_back(printMebibytes(device.arena));
    if (usesHost)
      row.push_back(printMebibytes(device.host));
    const auto [known, isNew] = rowOf.try_emplace(row, sameDevices.size());
    if (isNew) {
      row.insert(row.begin(), "");
      rows.push_back(std::move(row));
      sameDevices.emplace_back();
    }
    sameDevices[known->second].push_back(id);
  }
  for (size_t i = 0; i < sameDevices.size(); ++i)
    rows[i + 1][0] = printFewRanges(sameDevices[i]);
  return absl::StrCat("peak memory of each device in MiB\n", printTable(rows));
}

// The bytes of each class in the arena of a device.
static std::string printMemoryClassesJson(const proto::Group &group) {
  std::string text;
  for (const proto::MemoryClass &memory : group.memory())
    if (memory.name() != "host")
      absl::StrAppend(&text, text.empty() ? "" : ", ", quoteJson(memory.name()), ": ",
                      memory.bytes());
  return absl::StrCat("{", text, "}");
}

std::string printStepTimeJson(const StepTime &time, const proto::Executable &program,
                              const StepTimeline *timeline) {
  std::string devices, links, path;
  for (const LinkWork &link : time.work.links)
    absl::StrAppend(&links, links.empty() ? "" : ",", "\n  {\"name\": ", quoteJson(link.name),
                    ", \"bytes\": ", link.bytes,
                    ", \"busy_ms\": ", printExactMilliseconds(link.picoseconds), "}");
  if (timeline)
    path = absl::StrCat(
        " \"critical_path_ms\": ", printPhasesJson(criticalPathPhases(program, *timeline)), ",");
  int64_t messages = 0;
  for (const proto::Group &group : program.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
      int64_t parameters = 0;
      for (const proto::State &state : group.states())
        if (state.role() == "parameter")
          parameters += blockOf(state.global(), state.slice(), rank).numBytes();
      const StepTime::Rank &of = time.ranks[group.first_rank() + rank];
      messages += of.messages;
      TaskWork work;
      for (const TaskWork &task : time.work.ranks[group.first_rank() + rank]) {
        work.l1Bytes += task.l1Bytes;
        work.l2Bytes += task.l2Bytes;
        work.l3Bytes += task.l3Bytes;
        work.instructions += task.instructions;
      }
      absl::StrAppendFormat(
          &devices,
          "%s\n  {\"rank\": %d, \"device\": %d, \"stage\": %d, \"macs\": %d, \"messages\": %d, "
          "\"sent_bytes\": %d, \"parameter_bytes\": %d, \"arena_bytes\": %d, "
          "\"memory_bytes\": %s, \"host_arena_bytes\": %d, \"to_host_bytes\": %d, "
          "\"from_host_bytes\": %d, "
          "\"l1_bytes\": %d, \"l2_bytes\": %d, \"l3_bytes\": %d, \"l3_burst_bytes\": %d, "
          "\"instructions\": %d%s}",
          devices.empty() ? "" : ",", group.first_rank() + rank, group.device_ids(rank),
          group.stages_size() > 0 ? group.stages(0) : 0, of.macs, of.messages, of.sentBytes,
          parameters, group.arena_bytes(), printMemoryClassesJson(group), group.host_arena_bytes(),
          of.toHostBytes, of.fromHostBytes, work.l1Bytes, work.l2Bytes, work.l3Bytes, of.burstBytes,
          work.instructions,
          timeline ? absl::StrCat(", \"phases_ms\": ",
                                  printPhasesJson(rankPhases(
                                      program, *timeline, group.first_rank() + rank, time.total)))
                   : "");
    }
  return absl::StrFormat("{\"sim_ms\": %s, \"roofline_ms\": %s, \"serial_ms\": %s, "
                         "\"messages\": %d,%s \"devices\": [%s\n],\n \"links\": [%s\n]}\n",
                         printExactMilliseconds(time.total),
                         printExactMilliseconds(time.lowerBound),
                         printExactMilliseconds(time.serialSum), messages, path, devices, links);
}

absl::StatusOr<std::unique_ptr<LineFile>> LineFile::create(const std::string &path, bool appends) {
  struct stat info;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  const InPlace inPlace = writesInPlace(path);
  RemovedOnEarlyEnd note;
  int fd;
  if (inPlace.holds) {
    fd = openInPlace(path, inPlace);
  } else if (exists) {
    fd = ::open(path.c_str(), appends ? O_RDWR | O_APPEND | O_CLOEXEC : O_WRONLY | O_CLOEXEC);
  } else {
    note = RemovedOnEarlyEnd(path);
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  }
  if (fd < 0)
    return systemError(path, "cannot write", errno);
  return std::unique_ptr<LineFile>(
      new LineFile(path, fd, !exists, !inPlace.holds && !appends, std::move(note)));
}

// Returns true if the file ends within a line, as after a killed run.
bool LineFile::endsWithinLine() const {
  const off_t end = ::lseek(fd, 0, SEEK_END);
  char last = '\n';
  return end > 0 && ::pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

LineFile::~LineFile() {
  ::close(fd);
  if (isEmpty && isNew)
    ::unlink(path.c_str());
}

absl::Status LineFile::write(const std::string &line) {
  if (isEmpty && replaces && ::ftruncate(fd, 0) != 0)
    return systemError(path, "cannot write", errno);
  const bool breaksLine = isEmpty && !replaces && endsWithinLine();
  isEmpty = false;
  note.forget();
  if (breaksLine)
    ST_RETURN_IF_ERROR(write("\n"));
  for (size_t done = 0; done < line.size();) {
    ssize_t written = ::write(fd, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(path, "cannot write", errno);
    done += static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

} // namespace st
