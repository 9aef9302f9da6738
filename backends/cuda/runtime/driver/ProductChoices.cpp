#include "backends/cuda/runtime/driver/ProductChoices.h"

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
#include <utility>
#include <vector>

namespace st::cuda {
namespace {

constexpr size_t kBytes = sizeof(ProductAlgorithm::algorithm);
constexpr char kSeparate[] = "apart";

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

/// The later write reports errors.
void makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0777);
}

} // namespace

bool ProductChoice::operator==(const ProductChoice &other) const {
  return isSeparate == other.isSeparate &&
         algorithm.workspaceBytes == other.algorithm.workspaceBytes &&
         std::memcmp(algorithm.algorithm, other.algorithm.algorithm, kBytes) == 0;
}

std::shared_ptr<ProductChoices> ProductChoices::get(const std::string &gpu, size_t version) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<ProductChoices>> known;
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<ProductChoices> &entry = known[gpu];
  std::shared_ptr<ProductChoices> choices = entry.lock();
  if (!choices)
    entry = choices = std::make_shared<ProductChoices>(gpu, version);
  return choices;
}

ProductChoices::ProductChoices(const std::string &gpu, size_t version) {
  kind = absl::StrCat("cublaslt-", version, "-", gpu);
  for (char &letter : kind)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '-')
      letter = '_';
  const std::string folder = cacheFolder();
  if (folder.empty())
    return;
  path = absl::StrCat(folder, "/", kind, ".txt");
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!read(text, chosen))
    chosen.clear();
}

bool ProductChoices::read(absl::string_view text, Choices &choices) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, '\t');
    ProductChoice choice;
    uint64_t workspace = 0;
    if (parts.size() < 3 || parts.size() > 4 || parts[2].size() != 2 * kBytes ||
        !absl::SimpleAtoi(parts[1], &workspace) || (parts.size() == 4 && parts[3] != kSeparate))
      return false;
    const std::string bytes = absl::HexStringToBytes(parts[2]);
    std::memcpy(choice.algorithm.algorithm, bytes.data(), kBytes);
    choice.algorithm.workspaceBytes = workspace;
    choice.isSeparate = parts.size() == 4;
    choices[std::string(parts[0])] = choice;
  }
  return true;
}

std::string ProductChoices::write(const Choices &choices) {
  std::string text;
  for (const auto &[key, choice] : choices)
    absl::StrAppend(&text, key, "\t", choice.algorithm.workspaceBytes, "\t",
                    absl::BytesToHexString(
                        {reinterpret_cast<const char *>(choice.algorithm.algorithm), kBytes}),
                    choice.isSeparate ? "\t" : "", choice.isSeparate ? kSeparate : "", "\n");
  return text;
}

std::optional<ProductChoice> ProductChoices::find(const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto it = chosen.find(key);
  if (it == chosen.end())
    return std::nullopt;
  keys.insert(key);
  return it->second;
}

void ProductChoices::add(const std::string &key, const ProductChoice &choice) {
  std::lock_guard<std::mutex> lock(mutex);
  chosen[key] = choice;
  keys.insert(key);
  hasNew = true;
}

std::string ProductChoices::used() {
  std::lock_guard<std::mutex> lock(mutex);
  Choices found;
  for (const std::string &key : keys)
    found[key] = chosen[key];
  return absl::StrCat(kind, "\n", write(found));
}

bool ProductChoices::adopt(const std::string &text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  Choices others;
  if (parts.first != kind || !read(parts.second, others))
    return false;
  std::lock_guard<std::mutex> lock(mutex);
  bool changes = false;
  for (const auto &[key, choice] : others) {
    const auto it = chosen.find(key);
    const bool isOther = it == chosen.end() || !(it->second == choice);
    if (!isOther)
      continue;
    changes |= keys.count(key) != 0;
    chosen[key] = choice;
    hasNew = true;
  }
  return changes;
}

void ProductChoices::save() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!hasNew || path.empty())
    return;
  hasNew = false;
  makeFolders(path);
  // An error is ignored: if the file cannot be written, the next run only needs longer to choose.
  (void)writeFileAtomically(path, write(chosen));
}

} // namespace st::cuda
