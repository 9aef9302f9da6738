#include "backends/cuda/runtime/ProductChoices.h"

#include "lib/Support/AtomicFile.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <vector>

namespace st::cuda {
namespace {

constexpr size_t kBytes = sizeof(ProductAlgorithm::algorithm);

std::string cacheFolder() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string folder = variable("ST_CACHE_DIR"); !folder.empty())
    return folder;
  std::string parent = variable("XDG_CACHE_HOME");
  if (parent.empty() && !variable("HOME").empty())
    parent = variable("HOME") + "/.cache";
  return parent.empty() ? parent : parent + "/st";
}

/// What it says is left to whoever writes there.
void makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0777);
}

} // namespace

ProductChoices::ProductChoices(const std::string &gpu, size_t version) {
  const std::string folder = cacheFolder();
  if (folder.empty())
    return;
  std::string name = absl::StrCat("cublaslt-", version, "-", gpu);
  for (char &letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '-')
      letter = '_';
  path = absl::StrCat(folder, "/", name, ".txt");
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!read(text))
    chosen.clear();
}

bool ProductChoices::read(const std::string &text) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, '\t');
    ProductAlgorithm algorithm = {};
    uint64_t workspace = 0;
    if (parts.size() != 3 || parts[2].size() != 2 * kBytes ||
        !absl::SimpleAtoi(parts[1], &workspace))
      return false;
    const std::string bytes = absl::HexStringToBytes(parts[2]);
    std::memcpy(algorithm.algorithm, bytes.data(), kBytes);
    algorithm.workspaceBytes = workspace;
    chosen.emplace(parts[0], algorithm);
  }
  return true;
}

std::optional<ProductAlgorithm> ProductChoices::find(const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto it = chosen.find(key);
  return it == chosen.end() ? std::nullopt : std::optional<ProductAlgorithm>(it->second);
}

void ProductChoices::add(const std::string &key, const ProductAlgorithm &algorithm) {
  std::lock_guard<std::mutex> lock(mutex);
  chosen[key] = algorithm;
  hasNew = true;
}

void ProductChoices::save() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!hasNew || path.empty())
    return;
  hasNew = false;
  std::string text;
  for (const auto &[key, algorithm] : chosen)
    absl::StrAppend(
        &text, key, "\t", algorithm.workspaceBytes, "\t",
        absl::BytesToHexString({reinterpret_cast<const char *>(algorithm.algorithm), kBytes}),
        "\n");
  makeFolders(path);
  // One that cannot be written is missed by nobody but the next run's patience.
  (void)writeFileAtomically(path, text);
}

} // namespace st::cuda
