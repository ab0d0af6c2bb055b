// Imports FlexAttention, whose subgraphs change scores and probabilities.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/transformer/core.h"
#include "graph/onnx/imported_node.h"
#include "graph/onnx/structural.h"

namespace lemma {
namespace {

using namespace structural;  // NOLINT: helpers of the importers of nodes with subgraphs
using Results = absl::StatusOr<std::vector<Result>>;

// The result of a subgraph with one input and one output.
absl::StatusOr<Value> CallSubgraph(ModelImporter& importer, const onnx::GraphProto& graph,
                                   const Scope& scope, const Value& x) {
  if (graph.input_size() != 1 || graph.output_size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("subgraph ", graph.name(), " must have one input and one output"));
  }
  Scope inner = Inside(scope);
  inner.values[graph.input(0).name()] = x;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Result> results, importer.ImportSubgraph(graph, &inner));
  const Value y = results[0].value;
  if (!y || y.type() != x.type()) {
    return absl::InvalidArgumentError(absl::StrCat("subgraph ", graph.name(), " must give ",
                                                   x.type().ToString(),
                                                   y ? ", not " + y.type().ToString() : ""));
  }
  return y;
}

absl::Status CheckKnown(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    const bool graph = name == "score_mod" || name == "prob_mod";
    if (graph ? !attribute.has_g() : name != "scale" && name != "softmax_precision") {
      return Unsupported(node, absl::StrCat("attribute ", name));
    }
  }
  return node.input_size() == 3 ? absl::OkStatus() : Unsupported(node, "inputs besides Q, K and V");
}

}  // namespace

// Scores are computed in f32, or in f64 if the inputs are f64.
Results ImportFlexAttention(ModelImporter& importer, const onnx::NodeProto& node,
                            const Scope& scope) {
  LEMMA_RETURN_IF_ERROR(CheckKnown(node));
  LEMMA_ASSIGN_OR_RETURN(auto imported, ImportedNode::Make(&importer, node, scope, 1));
  ops::OnnxBuild b(*imported);
  ops::AttentionCore core;
  const Value q = b.Input(0);
  if (!q) return b.status();
  const DType wide = q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  core.softmax = wide;
  if (imported->FindAttr("softmax_precision") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(int64_t number, imported->Int("softmax_precision"));
    LEMMA_ASSIGN_OR_RETURN(core.softmax, ops::FromOnnxNumber(*imported, number));
  }
  LEMMA_ASSIGN_OR_RETURN(core.scale, imported->Float("scale", ops::DefaultScale(q)));
  core.q = b.Cast(q, wide);
  core.k = b.Cast(b.Input(1), wide);
  core.v = b.Cast(b.Input(2), core.softmax);
  auto by = [&](const char* name) -> std::function<Value(const Value&)> {
    const onnx::GraphProto* graph = FindGraph(node, name);
    if (graph == nullptr) return nullptr;
    return [&importer, &scope, &b, graph](const Value& x) {
      return x ? b.Take(CallSubgraph(importer, *graph, scope, x)) : x;
    };
  };
  core.score_mod = by("score_mod");
  core.prob_mod = by("prob_mod");
  const Value y = b.Cast(Attend(*imported, b, core).y, q.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Result>{y};
}

}  // namespace lemma
