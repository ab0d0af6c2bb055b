// Random graphs exported to ONNX: ONNX Runtime against the definitions as typed.
//
// Skipped where ONNX Runtime is not installed. Other graphs in each run unless
// --test_arg=--first_seed=N; --test_arg=--graphs=N runs so many. A failure prints its seed and the
// graph.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/onnx/export.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/graph/random_graph.h"
#include "tests/runtime/definitions_referee.h"
#include "tests/runtime/ort_engine.h"
#include "tests/runtime/seeded_main.h"

namespace lemma {
namespace {

constexpr int64_t kGraphs = 2000;

RandomGraphOptions Exportable(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = seed % 2 == 0 ? 8 : 4;
  options.allowed = [](const OpDef& op) { return op.onnx_export != nullptr; };
  // What ONNX Runtime has kernels for, and now and then the others.
  options.allowed_type = [seed](DType dtype) {
    switch (dtype) {
      case DType::kF32:
      case DType::kI64:
      case DType::kBool:
        return true;
      case DType::kI32:
      case DType::kF64:
        return seed % 2 == 0;
      case DType::kBF16:
        return false;  // ONNX Runtime's interface for Node has no such tensors
      default:
        return seed % 3 != 0;
    }
  };
  return options;
}

TEST(OrtDifferential, OnnxRuntimeComputesWhatTheDefinitionsSay) {
  auto ort = OrtEngine::Start({"--optimize", "disabled"});
  if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
  ASSERT_TRUE(ort.ok()) << ort.status();
  const uint64_t first = Seeds().first_seed;
  const int64_t wanted = Seeds().graphs > 0 ? Seeds().graphs : kGraphs;
  int compared = 0, excused = 0, without_values = 0, bad = 0;
  std::map<std::string, int> not_exported, refused;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(wanted); ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, Exportable(seed));
    const auto model = ExportOnnx(random.graph);
    if (!model.ok()) {
      ++not_exported[std::string(model.status().message())];
      continue;
    }
    const DefinitionsReferee referee(random.graph, random.inputs);
    if (!referee.expected().ok()) {
      ++without_values;
      continue;
    }
    auto run = [&](const std::vector<Tensor>& inputs) { return (*ort)->Run(*model, inputs); };
    const auto actual = run(random.inputs);
    if (!actual.ok()) {
      ++refused[std::string(actual.status().message())];
      continue;
    }
    bool is_excused = false;
    const std::string off = referee.Off(*actual, run, &is_excused);
    if (off != "") {
      printf("BAD seed %lu %s\n%s\n", static_cast<unsigned long>(seed), off.c_str(), PrintGraph(random.graph).c_str());
      ++bad;
    }
    excused += is_excused;
    ++compared;
  }
  for (const auto& [why, count] : not_exported) printf("NOTEXP %d %s\n", count, why.c_str());
  for (const auto& [why, count] : refused) printf("REFUSED %d %s\n", count, why.c_str());
  printf("%d compared %d bad %d excused %d without\n", compared, bad, excused, without_values);
}

}  // namespace
}  // namespace lemma
