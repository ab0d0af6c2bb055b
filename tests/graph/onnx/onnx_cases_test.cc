// All operator cases that come with ONNX, against the golden file of what became of each.
//
//   bazel test //tests/graph/onnx:onnx_cases_test
//   bazel run //tests/graph/onnx:onnx_cases_test -- --case=test_add       one case, in this process
//   bazel run //tests/graph/onnx:onnx_cases_test -- --case=/DIR/test_add  one that is not Debian's
//   bazel run //tests/graph/onnx:onnx_cases_test -- --update=$PWD/tests/golden/onnx_cases.txt
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/case_pool.h"
#include "tests/graph/onnx/case_runner.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

constexpr char kData[] = "/usr/share/libonnx-testdata/data";
constexpr char kGolden[] = "tests/golden/onnx_cases.txt";
constexpr int kProcesses = 2;
constexpr int kSecondsPerCase = 30;
constexpr int kLeastNodePasses = 480;

// Cases whose expected outputs are not what their own nodes say.
const std::map<std::string, std::string> kWrongCases = {
    {"node/test_adam_multiple",
     "contradiction: made with epsilon = 0.01, the node leaves epsilon at its default"},
};

std::string update_path;

using Results = std::map<std::string, std::string>;  // "node/test_add" -> "pass"

bool Passes(absl::string_view result) { return result.rfind("pass", 0) == 0; }

std::vector<std::string> ListCases() {
  std::vector<std::string> cases;
  for (const char* category : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(kData) / category, error)) {
      cases.push_back(absl::StrCat(category, "/", entry.path().filename().string()));
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

Results RunAll() {
  std::vector<std::string> cases = ListCases();
  auto run = [&](int i) { return RunCase((fs::path(kData) / cases[i]).string()); };
  std::vector<std::string> lines =
      RunIsolated(static_cast<int>(cases.size()), run, kProcesses, kSecondsPerCase);
  Results results;
  for (size_t i = 0; i < cases.size(); ++i) {
    auto wrong = kWrongCases.find(cases[i]);
    const bool mismatch = lines[i].rfind("FAIL: output", 0) == 0;
    results[cases[i]] = mismatch && wrong != kWrongCases.end() ? wrong->second : lines[i];
  }
  return results;
}

Results ReadGolden() {
  Results golden;
  std::ifstream file(kGolden);
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    golden[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return golden;
}

int CountPasses(const Results& results, absl::string_view category) {
  int count = 0;
  for (const auto& [name, result] : results) {
    count += Passes(result) && name.rfind(std::string(category), 0) == 0;
  }
  return count;
}

void WriteGolden(const Results& results, const std::string& path) {
  std::ofstream file(path);
  file << "# What becomes of ONNX's operator cases; see tests/graph/onnx/onnx_cases_test.cc.\n";
  for (const auto& [name, result] : results) file << name << ": " << result << "\n";
}

// Which operators would add most.
void PrintSummary(const Results& results) {
  std::map<std::string, int> reasons;
  for (const auto& [name, result] : results) {
    if (!Passes(result)) ++reasons[result];
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(-count, reason);
  std::sort(sorted.begin(), sorted.end());
  std::printf("%d of %d cases pass, %d of category node\n", CountPasses(results, ""),
              static_cast<int>(results.size()), CountPasses(results, "node/"));
  for (const auto& [count, reason] : sorted) std::printf("%5d  %s\n", -count, reason.c_str());
}

TEST(OnnxCasesTest, NoCaseIsLost) {
  Results results = RunAll();
  ASSERT_FALSE(results.empty()) << "no cases below " << kData << "; install libonnx-testdata";
  PrintSummary(results);
  if (!update_path.empty()) WriteGolden(results, update_path);
  const Results golden = update_path.empty() ? ReadGolden() : results;
  for (const auto& [name, result] : results) {
    auto before = golden.find(name);
    const bool passed = before != golden.end() && Passes(before->second);
    EXPECT_TRUE(!passed || Passes(result)) << name << " passed before, now: " << result;
    EXPECT_FALSE(passed && before->second == "pass" && result != "pass") << name << ": " << result;
    EXPECT_NE(result.rfind("FAIL", 0), 0u) << name << ": " << result;
  }
  EXPECT_GE(CountPasses(results, "node/"), kLeastNodePasses);
  EXPECT_GE(CountPasses(results, ""), CountPasses(golden, "")) << "the count may only rise";
}

TEST(OnnxCasesTest, DamagedModelsDoNotCrash) {
  constexpr uint64_t kSeed = 20;
  constexpr int kCopies = 50;
  std::vector<std::string> cases = ListCases();
  auto run = [&](int i) {
    return DamageCase((fs::path(kData) / cases[i]).string(), kCopies, kSeed + i);
  };
  std::vector<std::string> lines =
      RunIsolated(static_cast<int>(cases.size()), run, kProcesses, kSecondsPerCase);
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(lines[i], "pass") << cases[i] << ", seed " << kSeed + i;
  }
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    if (absl::ConsumePrefix(&flag, "--update=")) lemma::update_path = std::string(flag);
    if (!absl::ConsumePrefix(&flag, "--case=")) continue;
    if (absl::StartsWith(flag, "/")) {
      std::printf("%s: %s\n", std::string(flag).c_str(), lemma::RunCase(std::string(flag)).c_str());
    }
    for (const std::string& name : lemma::ListCases()) {
      if (name.substr(name.find('/') + 1) != flag && name != flag) continue;
      std::printf("%s: %s\n", name.c_str(),
                  lemma::RunCase(absl::StrCat(lemma::kData, "/", name)).c_str());
    }
    return 0;
  }
  return RUN_ALL_TESTS();
}
