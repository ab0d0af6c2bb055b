// ONNX's operator cases that come twice, as an operator and as its function body in other
// operators: proved equal at their shapes, against the golden file of what became of each.
//
//   bazel test //tests/verifier:onnx_pairs_test
//   bazel run //tests/verifier:onnx_pairs_test -- --case=softmax_axis_0     one pair
//   bazel run //tests/verifier:onnx_pairs_test -- --update=$PWD/tests/golden/onnx_pairs.txt
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "graph/builder.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"
#include "gtest/gtest.h"
#include "verifier/prover.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

constexpr char kData[] = "/usr/share/libonnx-testdata/data/node";
constexpr char kGolden[] = "tests/golden/onnx_pairs.txt";
constexpr int kPairs = 122;
constexpr int kLeastProved = 90;

// Why a pair is not proved, where the prover's own words would say less.
const std::map<std::string, std::string> kReasons = {
    {"hardswish", "the operator has 1/6, its body 1/6 rounded to f32"},
};
constexpr char kWindow[] =
    "constants, computed in f64 and rounded once, against f32 arithmetic step by step";

std::string update_path;

std::vector<std::string> ListPairs() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kData, error)) {
    std::string name = entry.path().filename().string();
    if (!absl::EndsWith(name, "_expanded")) continue;
    name = name.substr(5, name.size() - 14);  // without "test_" and "_expanded"
    if (fs::exists(fs::path(kData) / ("test_" + name))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The values that the case gives to its inputs, by the names the model has for them.
std::map<std::string, Tensor> InputValues(const fs::path& directory,
                                          const std::vector<std::string>& names) {
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < names.size(); ++i) {
    const fs::path path = directory / "test_data_set_0" / absl::StrCat("input_", i, ".pb");
    auto tensor = ReadTensorProto(path.string());
    if (tensor.ok()) values[names[i]] = tensor->tensor;
  }
  return values;
}

// The graph with constants for inputs.
Graph Bound(const Graph& graph, const std::map<std::string, Tensor>& values) {
  GraphBuilder builder(graph.name());
  std::map<const Node*, std::vector<Value>> moved;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.inputs()[i];
    Value declared = builder.Input(graph.input_names()[i], input.type());
    auto value = values.find(graph.input_names()[i]);
    moved[&input.node()] = {value == values.end() ? declared : builder.Constant(value->second)};
  }
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() == Node::Kind::kInput) continue;
    if (!node->is_op()) moved[node.get()] = {Value(node, 0)};
    if (!node->is_op()) continue;
    std::vector<Value> operands;
    for (const Value& v : node->inputs()) operands.push_back(moved.at(&v.node())[v.output()]);
    moved[node.get()] = *builder.Ops(node->op().name, operands, node->attrs());
  }
  for (size_t o = 0; o < graph.outputs().size(); ++o) {
    const Value& v = graph.outputs()[o];
    builder.Output(graph.output_names()[o], moved.at(&v.node())[v.output()]);
  }
  return *std::move(builder).Build();
}

std::string Why(const absl::Status& status) {
  const std::string message(status.message());
  const size_t at = message.find("unsupported: ");
  return absl::StrReplaceAll(at == std::string::npos ? message : message.substr(at), {{"\n", " "}});
}

struct Pair {
  std::string problem;  // empty: both were imported
  Graph a, b;
  bool at_values = false;  // shapes depend on the inputs' values, which are those of the case
};

// An import that needs values of inputs to tell its shapes gets those of the case.
Pair Import(const std::string& name) {
  Pair pair;
  Graph* graphs[] = {&pair.a, &pair.b};
  for (int side = 0; side < 2; ++side) {
    const fs::path directory =
        fs::path(kData) / absl::StrCat("test_", name, side == 0 ? "" : "_expanded");
    const std::string path = (directory / "model.onnx").string();
    auto model = ImportOnnx(path);
    const bool opaque = model.ok() && !model->opaque.empty();
    if (absl::IsUnimplemented(model.status()) || opaque) {
      ImportOptions options;
      std::vector<std::string> names = {"x"};
      if (absl::StartsWith(name, "range")) names = {"start", "limit", "delta"};
      options.input_values = InputValues(directory, names);
      auto again = ImportOnnx(path, options);
      if (again.ok() && again->opaque.empty()) {
        pair.at_values = true;
        again->graph = Bound(again->graph, options.input_values);
        model = std::move(again);
      }
    }
    if (!model.ok()) {
      pair.problem = Why(model.status());
      return pair;
    }
    if (!model->opaque.empty()) {
      pair.problem = Why(absl::UnimplementedError(model->opaque.front()));
      return pair;
    }
    *graphs[side] = model->graph;
  }
  return pair;
}

bool SameImport(const Graph& a, const Graph& b) { return a.outputs() == b.outputs(); }

std::string Judge(const std::string& name, bool verbose) {
  Pair pair = Import(name);
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
  const std::vector<std::string> names = ListPairs();
  ASSERT_EQ(names.size(), kPairs) << "below " << kData << "; install libonnx-testdata";
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
