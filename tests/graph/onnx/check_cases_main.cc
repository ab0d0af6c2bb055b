// Runs the ONNX operator cases of a folder; see tools/check_onnx_cases.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/graph/onnx/case_pool.h"
#include "tests/graph/onnx/case_runner.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

constexpr int kProcesses = 2;
constexpr int kSecondsPerCase = 60;

// The folders at or below `root` that hold a model.onnx, in order of their names.
std::vector<std::string> FindCases(const std::string& root) {
  std::vector<std::string> cases;
  std::error_code error;
  if (fs::exists(fs::path(root) / "model.onnx", error)) cases.push_back(root);
  for (auto it = fs::recursive_directory_iterator(root, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (fs::exists(it->path() / "model.onnx")) cases.push_back(it->path().string());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

void PrintGroups(const char* title, const std::map<std::string, std::vector<std::string>>& groups) {
  std::vector<const std::pair<const std::string, std::vector<std::string>>*> sorted;
  sorted.reserve(groups.size());
  for (const auto& group : groups) sorted.push_back(&group);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->second.size() > b->second.size();
  });
  if (!sorted.empty()) std::printf("%s\n", title);
  for (const auto* group : sorted) {
    std::printf("%5zu  %s  (%s)\n", group->second.size(), group->first.c_str(),
                group->second.front().c_str());
  }
}

int Main(const std::string& root, bool verbose) {
  const std::vector<std::string> cases = FindCases(root);
  if (cases.empty()) {
    std::fprintf(stderr, "check_onnx_cases: no folder with a model.onnx below %s\n", root.c_str());
    return 2;
  }
  const std::vector<std::string> lines = RunIsolated(
      static_cast<int>(cases.size()), [&](int i) { return RunCase(cases[i]); }, kProcesses,
      kSecondsPerCase);
  std::map<std::string, std::vector<std::string>> refused, wrong;
  int passed = 0, refusals = 0, failures = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = fs::path(cases[i]).filename().string();
    if (verbose) std::printf("%s: %s\n", name.c_str(), lines[i].c_str());
    if (absl::StartsWith(lines[i], "pass")) {
      ++passed;
    } else if (absl::StartsWith(lines[i], "FAIL")) {
      ++failures;
      wrong[lines[i]].push_back(name);
    } else {
      ++refusals;
      refused[lines[i]].push_back(name);
    }
  }
  PrintGroups("refused, by reason (an example):", refused);
  PrintGroups("wrong:", wrong);
  std::printf("%zu cases: %d pass, %d refused, %d wrong\n", cases.size(), passed, refusals,
              failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  const bool verbose = argc == 3 && std::string(argv[2]) == "--verbose";
  if (argc != 2 && !verbose) {
    std::fprintf(stderr, "usage: check_cases FOLDER [--verbose]\n");
    return 2;
  }
  return lemma::Main(argv[1], verbose);
}
