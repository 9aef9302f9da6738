#include "plugins/pjrt/runtime/Options.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cstdlib>

namespace st::pjrt {

namespace {

struct Source {
  const std::map<std::string, std::string> &given;

  /// Empty if not set.
  std::string find(const std::string &name) const {
    if (auto it = given.find(name); it != given.end())
      return it->second;
    const char *value = std::getenv(absl::StrCat("ST_", absl::AsciiStrToUpper(name)).c_str());
    return value ? value : "";
  }

  absl::Status read(const std::string &name, int least, int &value) const {
    const std::string text = find(name);
    if (text.empty())
      return absl::OkStatus();
    int parsed = 0;
    if (!absl::SimpleAtoi(text, &parsed) || parsed < least)
      return absl::InvalidArgumentError(absl::StrCat("ST_", absl::AsciiStrToUpper(name), "=", text,
                                                     ": expected a number of at least ", least));
    value = parsed;
    return absl::OkStatus();
  }
};

} // namespace

absl::StatusOr<PluginOptions> readOptions(const std::map<std::string, std::string> &given) {
  for (const auto &[name, value] : given)
    if (name != "target" && name != "devices" && name != "host_threads" && name != "report" &&
        name != "explain")
      return absl::InvalidArgumentError(
          absl::StrCat("client option \"", name,
                       "\": expected target, devices, host_threads, report or explain"));
  const Source source{given};
  PluginOptions options;
  if (std::string target = source.find("target"); !target.empty())
    options.target = target;
  ST_RETURN_IF_ERROR(source.read("devices", 1, options.devices));
  ST_RETURN_IF_ERROR(source.read("host_threads", 0, options.hostThreads));
  options.reportFolder = source.find("report");
  options.explainFolder = source.find("explain");
  return options;
}

} // namespace st::pjrt
