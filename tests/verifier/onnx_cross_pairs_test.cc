// Each ONNX operator is compared with the function bodies of all other operators of its types, most
// of which are different functions. The prover's answers must agree with the reference executor.
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/base/repetitions.h"
#include "tests/verifier/onnx_pairs.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

constexpr int64_t kMaxElements = 600;
constexpr int kSamples = 12;

std::string Types(const Graph& graph) {
  std::string text;
  for (const Value& v : graph.inputs()) absl::StrAppend(&text, v.type().ToString(), " ");
  for (const Value& v : graph.outputs()) absl::StrAppend(&text, "-> ", v.type().ToString());
  return text;
}

// Labels of all five classes, each at least once; any reals.
std::vector<Tensor> Draw(const Graph& graph, std::mt19937_64* random) {
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) {
    std::vector<double> data(v.type().num_elements());
    for (double& x : data) {
      x = IsInteger(v.dtype()) ? static_cast<double>((*random)() % 5)
                               : static_cast<double>((*random)() % 4096) / 1024 - 2;
    }
    inputs.push_back(*Tensor::FromDoubles(v.type(), data));
  }
  return inputs;
}

// Whether the graphs differ on some sample.
bool Differ(const Graph& a, const Graph& b) {
  auto x = MakeReferenceBackend()->Compile(a, {}), y = MakeReferenceBackend()->Compile(b, {});
  EXPECT_TRUE(x.ok() && y.ok());
  std::mt19937_64 random(7);
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::vector<Tensor> inputs = Draw(a, &random);
    auto p = (*x)->Run(inputs), q = (*y)->Run(inputs);
    if (!p.ok() || !q.ok()) continue;
    for (size_t o = 0; o < p->size(); ++o) {
      for (int64_t i = 0; i < (*p)[o].size(); ++i) {
        const double s = (*p)[o].AtDouble(i), t = (*q)[o].AtDouble(i);
        if (std::isnan(s) && std::isnan(t)) continue;
        if (!(std::abs(s - t) <= 1e-4 * (1 + std::abs(s) + std::abs(t)))) return true;
      }
    }
  }
  return false;
}

TEST(OnnxCrossPairsTest, VerdictsAgreeWithExecution) {
  std::map<std::string, std::vector<std::pair<std::string, OnnxPair>>> by_types;
  for (const std::string& name : ListOnnxPairs()) {
    OnnxPair pair = ImportOnnxPair(name);
    if (!pair.problem.empty() || pair.at_values) continue;
    int64_t elements = 0;
    for (const Value& v : pair.a.inputs()) elements += v.type().num_elements();
    if (elements <= kMaxElements) by_types[Types(pair.a)].emplace_back(name, pair);
  }
  const int every = WholeOr(1, 3);
  int pairs_seen = 0, proved = 0, refuted = 0, unknown = 0;
  for (const auto& [types, pairs] : by_types) {
    for (const auto& [name, operator_of] : pairs) {
      for (const auto& [other, body_of] : pairs) {
        if (name == other || Types(operator_of.a) != Types(body_of.b)) continue;
        if (pairs_seen++ % every != 0) continue;
        const Verdict verdict = ProveGraphs(operator_of.a, body_of.b);
        const bool differ = Differ(operator_of.a, body_of.b);
        const std::string what = absl::StrCat(name, ", ", other, ": ", ToString(verdict));
        EXPECT_FALSE(IsProved(verdict) && differ) << what;
        EXPECT_FALSE(IsRefuted(verdict) && !differ) << what;
        if (!IsProved(verdict) && !IsRefuted(verdict)) {
          ++unknown;
          std::printf("%s\n", what.substr(0, 160).c_str());
        }
        proved += IsProved(verdict);
        refuted += IsRefuted(verdict);
        if (!differ) continue;
        // It is not proved with refutation switched off either.
        ProverOptions options;
        options.samples = 0;
        EXPECT_FALSE(IsProved(ProveGraphs(operator_of.a, body_of.b, options))) << what;
      }
    }
  }
  std::printf("%d proved, %d refuted, %d unknown\n", proved, refuted, unknown);
  EXPECT_GT(proved, 20 / every);
  EXPECT_GT(refuted, 50 / every);
}

}  // namespace
}  // namespace lemma
