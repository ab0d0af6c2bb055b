// ONNX's operator cases that exist twice, as an operator and as its function body in other
// operators: proved equal at their shapes. A golden file states the answer for each.
//
//   bazel test //tests/verifier:onnx_pairs_test
//   bazel run //tests/verifier:onnx_pairs_test -- --case=softmax_axis_0     one pair
//   bazel run //tests/verifier:onnx_pairs_test -- --update=$PWD/tests/golden/onnx_pairs.txt
#include "tests/verifier/onnx_pairs.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

constexpr char kGolden[] = "tests/golden/onnx_pairs.txt";
constexpr int kPairs = 122;
constexpr int kLeastProved = 90;

// Why a pair is not proved, if the prover's own words say less.
const std::map<std::string, std::string> kReasons = {
    {"celu",
     "max(0, x) + min(0, ...) against a choice by the sign of x: exp(x) < 1 is no law here"},
    {"hardswish", "the operator has 1/6, its body 1/6 rounded to f32"},
};
constexpr char kWindow[] =
    "constants, computed in f64 and rounded once, against f32 arithmetic step by step";

std::string update_path;

bool SameImport(const Graph& a, const Graph& b) { return a.outputs() == b.outputs(); }

std::string Judge(const std::string& name, bool verbose) {
  const OnnxPair pair = ImportOnnxPair(name);
  if (!pair.problem.empty()) return pair.problem;
  const Verdict verdict = ProveGraphs(pair.a, pair.b);
  if (verbose) std::printf("%s\n", ToString(verdict).c_str());
  std::string line;
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    line = absl::StrCat("proved, ", Name(proved->contract));
  } else if (IsRefuted(verdict)) {
    line = "REFUTED";
  } else {
    auto reason = kReasons.find(name);
    line = absl::StrCat("unknown: ", absl::StrContains(name, "window") ? kWindow
                                     : reason != kReasons.end()
                                         ? reason->second
                                         : std::get<Unknown>(verdict).reason.substr(0, 60));
  }
  if (SameImport(pair.a, pair.b)) absl::StrAppend(&line, ", by the same import");
  if (pair.at_values) absl::StrAppend(&line, ", for the inputs' values");
  return line;
}

std::map<std::string, std::string> ReadGolden() {
  std::map<std::string, std::string> golden;
  std::ifstream file(kGolden);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    golden[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return golden;
}

TEST(OnnxPairsTest, NoProofIsLost) {
  const std::vector<std::string> names = ListOnnxPairs();
  ASSERT_EQ(names.size(), kPairs) << "install libonnx-testdata";
  const auto golden = ReadGolden();
  std::map<std::string, std::string> results;
  std::map<std::string, int> counts;
  int proved = 0;
  for (const std::string& name : names) {
    const auto start = std::chrono::steady_clock::now();
    std::string& result = results[name] = Judge(name, false);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%-60s %6.2f s  %s\n", name.c_str(), seconds.count(), result.c_str());
    ++counts[result];
    proved += absl::StartsWith(result, "proved");
    EXPECT_FALSE(absl::StartsWith(result, "REFUTED")) << name;
    auto before = golden.find(name);
    if (update_path.empty()) {
      ASSERT_NE(before, golden.end()) << name;
      EXPECT_EQ(result, before->second) << name;
    }
  }
  for (const auto& [result, count] : counts) std::printf("%4d  %s\n", count, result.c_str());
  EXPECT_GE(proved, kLeastProved);
  if (update_path.empty()) return;
  std::ofstream file(update_path);
  file
      << "# ONNX operators against their function bodies; see tests/verifier/onnx_pairs_test.cc.\n";
  for (const auto& [name, result] : results) file << name << ": " << result << "\n";
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    if (absl::ConsumePrefix(&flag, "--update=")) lemma::update_path = std::string(flag);
    if (!absl::ConsumePrefix(&flag, "--case=")) continue;
    std::printf("%s\n", lemma::Judge(std::string(flag), true).c_str());
    return 0;
  }
  return RUN_ALL_TESTS();
}
