#include "plugins/pjrt/calls/PythonCalls.h"

#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/compile/ProgramRoles.h"
#include "plugins/pjrt/runtime/HostCallback.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <cstring>

namespace st::pjrt {

static std::mutex clientMutex;
static std::weak_ptr<PluginClient> lastClient;

void setLastClient(const std::shared_ptr<PluginClient> &client) {
  std::lock_guard<std::mutex> lock(clientMutex);
  lastClient = client;
}

static std::string quote(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

/// Sums over the tasks of all ranks.
static TaskWork sumWork(const StepWork &work) {
  TaskWork sum;
  for (const std::vector<TaskWork> &rank : work.ranks)
    for (const TaskWork &task : rank) {
      sum.macs += task.macs;
      sum.l1Bytes += task.l1Bytes;
      sum.l2Bytes += task.l2Bytes;
      sum.l3Bytes += task.l3Bytes;
      sum.sentBytes += task.sentBytes;
      sum.messages += task.messages;
      sum.instructions += task.instructions;
    }
  return sum;
}

static std::string printTrace(const StepTrace &trace) {
  std::string text = "[";
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const StepTrace::Span &span = trace.spans[i];
    const StepTrace::Row &row = trace.rows[static_cast<size_t>(span.row)];
    absl::StrAppend(&text, i ? "," : "", "{\"device\":", row.rank,
                    ",\"engine\":", quote(row.engine),
                    ",\"what\":", quote(trace.labels[static_cast<size_t>(span.label)]),
                    ",\"start\":", static_cast<double>(span.start) * 1e-12,
                    ",\"seconds\":", static_cast<double>(span.duration) * 1e-12, "}");
  }
  return text + "]";
}

/// JSON about the last run: times in seconds, bytes and operations over all devices.
static absl::StatusOr<std::string> lastStep(bool withTimeline) {
  std::shared_ptr<PluginClient> client;
  {
    std::lock_guard<std::mutex> lock(clientMutex);
    client = lastClient.lock();
  }
  std::shared_ptr<LoadedProgram> program = client ? client->lastProgram() : nullptr;
  if (!program)
    return absl::FailedPreconditionError("no program has run yet");
  StepTrace trace;
  ST_ASSIGN_OR_RETURN(StepTime time, program->timeStep(withTimeline ? &trace : nullptr));
  const TaskWork work = sumWork(time.work);
  std::string links;
  for (const LinkWork &link : time.work.links)
    absl::StrAppend(&links, links.empty() ? "" : ",", quote(link.name), ":", link.bytes);
  return absl::StrCat(
      "{\"program\":", quote(program->program().name()), ",\"devices\":", program->devices().size(),
      ",\"seconds\":", static_cast<double>(time.total) * 1e-12,
      ",\"lower_bound_seconds\":", static_cast<double>(time.lowerBound) * 1e-12,
      ",\"flops\":", 2 * work.macs, ",\"l1_bytes\":", work.l1Bytes, ",\"l2_bytes\":", work.l2Bytes,
      ",\"l3_bytes\":", work.l3Bytes, ",\"sent_bytes\":", work.sentBytes,
      ",\"messages\":", work.messages, ",\"instructions\":", work.instructions, ",\"links\":{",
      links, "}", withTimeline ? absl::StrCat(",\"timeline\":", printTrace(trace)) : "", "}");
}

} // namespace st::pjrt

/// The text, or the error after "error: ". The caller frees it with st_free.
static char *answer(const absl::StatusOr<std::string> &text) {
  return strdup(text.ok() ? text->c_str()
                          : absl::StrCat("error: ", text.status().message()).c_str());
}

/// Returns JSON, or an error as answer() does.
extern "C" char *st_last_step(int withTimeline) {
  return answer(st::pjrt::lastStep(withTimeline != 0));
}

/// Returns the roles of a program in StableHLO's text as JSON, or an error as answer() does.
extern "C" char *st_program_roles(const char *program) {
  return answer(st::pjrt::rolesOfProgram(program));
}

extern "C" void st_free(char *text) { free(text); }

/// Sets the handler of the callbacks of programs (runtime/HostCallback.h).
extern "C" void st_set_sharding_handler(st::pjrt::StShardingHandler handler) {
  st::pjrt::setShardingHandler(handler);
}

extern "C" void st_set_host_handler(st::pjrt::StHostHandler handler) {
  st::pjrt::setHostHandler(handler);
}
