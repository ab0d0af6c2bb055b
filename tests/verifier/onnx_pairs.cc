#include "tests/verifier/onnx_pairs.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/builder.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

constexpr char kData[] = "/usr/share/libonnx-testdata/data/node";

// The case's values for its inputs, by the model's names for them.
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

// The graph with its inputs replaced by constants.
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

}  // namespace

std::vector<std::string> ListOnnxPairs() {
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

OnnxPair ImportOnnxPair(const std::string& name) {
  OnnxPair pair;
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
      options.computes_result_sizes = true;
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

}  // namespace lemma
