// Random graphs exported to ONNX: ONNX Runtime against the definitions as typed.
//
// Skipped where ONNX Runtime is not installed. Other graphs in each run unless
// --test_arg=--first_seed=N; --test_arg=--graphs=N runs so many. A failure prints its seed and the
// graph.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/hunting/message_kind.h"
#include "graph/examples/random_graph.h"
#include "graph/onnx/export.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/definitions_referee.h"
#include "tests/runtime/ort/engine.h"
#include "tests/runtime/ort/exceptions.h"
#include "tests/runtime/seeded_main.h"

namespace lemma {
namespace {

constexpr int64_t kGraphs = 2000;

RandomGraphOptions Exportable(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = seed % 2 == 0 ? 8 : 4;
  options.allowed = [](const OpDef& op) { return op.onnx_export != nullptr; };
  // For other types ONNX Runtime has few kernels.
  options.allowed_type = [seed](DType dtype) {
    switch (dtype) {
      case DType::kF32:
      case DType::kI64:
      case DType::kBool:
        return true;
      case DType::kBF16:
        return false;  // its interface for Node has no such tensors
      default:
        return seed % 3 != 0;
    }
  };
  return options;
}

// Whether ONNX Runtime calls the model invalid, and not only lacks a kernel or rejects input
// values.
bool IsInvalidModel(const absl::Status& status) {
  return absl::StrContains(status.message(), "This is an invalid model") ||
         absl::StrContains(status.message(), "ShapeInferenceError") ||
         absl::IsInternal(status);  // it crashed
}

using Counts = std::map<std::string, int>;
int Print(const char* what, const Counts& counts) {
  int all = 0;
  for (const auto& [why, count] : counts) {
    std::printf("%s: %d x %s\n", what, count, why.c_str());
    all += count;
  }
  return all;
}

class OrtDifferential : public testing::TestWithParam<const char*> {
 protected:
  // Fails the test if ONNX Runtime's outputs differ without a known reason.
  void Check(uint64_t seed, int opset, OrtEngine* ort) {
    const RandomGraph random = MakeRandomGraph(seed, Exportable(seed));
    const std::string what =
        absl::StrCat("seed ", seed, ", operator set ", opset, "\n", PrintGraph(random.graph));
    ExportOptions options;
    options.info.opset = opset;
    const auto model = ExportOnnx(random.graph, options);
    if (!model.ok()) {
      ++not_exported_[hunt::MessageKind(model.status().message())];
      return;
    }
    const DefinitionsReferee referee(random.graph, random.inputs);
    if (!referee.expected().ok()) {  // an index outside its tensor
      ++without_values_;
      return;
    }
    auto run = [&](const std::vector<Tensor>& inputs) { return ort->Run(*model, inputs); };
    const auto actual = run(random.inputs);
    if (!actual.ok()) {
      ASSERT_TRUE(!IsInvalidModel(actual.status()) || !WhyRefused(random.graph).empty())
          << actual.status() << ", " << what;
      ++refused_[hunt::MessageKind(actual.status().message())];
      return;
    }
    ASSERT_EQ(actual->size(), random.graph.outputs().size()) << what;
    bool excused = false;
    for (size_t i = 0; i < actual->size(); ++i) {
      const std::string off = referee.FaultOfOutput(i, *actual, run, &excused);
      if (off.empty()) continue;
      const auto known = OrtExceptions(random.graph, random.inputs)[i];
      ASSERT_FALSE(known.empty()) << off << ", " << what;
      ++known_[*known.begin()];
    }
    excused_ += excused ? 1 : 0;
    ++compared_;
  }

  // Runs random graphs, each at the operator set that `opset_of` gives for its seed.
  void CheckAll(const std::vector<std::string>& options, int64_t graphs,
                const std::function<int(uint64_t)>& opset_of) {
    auto ort = OrtEngine::Start(options);
    if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
    ASSERT_TRUE(ort.ok()) << ort.status();
    const uint64_t first = Seeds().first_seed;
    const int64_t wanted = Seeds().graphs > 0 ? Seeds().graphs : graphs;
    for (uint64_t seed = first; seed < first + static_cast<uint64_t>(wanted); ++seed) {
      Check(seed, opset_of(seed), ort->get());
      if (HasFatalFailure()) return;
    }
    const int not_exported = Print("not exported", not_exported_);
    const int refused = Print("refused", refused_);
    const int known = Print("other values", known_);
    std::printf(
        "%d graphs compared, %d without values, %d not exported, %d refused; %d outputs with other "
        "values that are known, %d differences that rounding explains\n",
        compared_, without_values_, not_exported, refused, known, excused_);
    EXPECT_GE(compared_, 2 * wanted / 3);
    EXPECT_LE(known, compared_ / 20 + 2);
    EXPECT_LE(excused_, compared_ / 20 + 2);
  }

 private:
  int compared_ = 0, without_values_ = 0, excused_ = 0;
  Counts not_exported_, refused_, known_;
};

// At each of its optimization levels.
TEST_P(OrtDifferential, OnnxRuntimeComputesWhatTheDefinitionsSay) {
  CheckAll({"--optimize", GetParam()}, kGraphs, [](uint64_t) { return 17; });
}

TEST_P(OrtDifferential, InEveryOperatorSet) {
  CheckAll({"--optimize", GetParam()}, kGraphs, [](uint64_t seed) {
    return 7 + static_cast<int>(seed % 18);  // to 24
  });
}

INSTANTIATE_TEST_SUITE_P(Levels, OrtDifferential, testing::Values("disabled", "all"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma
