#include "graph/checker.h"

#include <set>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/op_table.h"

namespace lemma {
namespace {

absl::Status Broken(const Graph& graph, absl::string_view what) {
  return absl::InternalError(absl::StrCat("graph ", graph.name(), ": ", what));
}

// The violated invariant of an operator node; empty if there is none.
std::string ProblemOf(const Node& node) {
  if (&node.op() == FindOp("opaque")) return "";
  auto attrs = CompleteAttrs(node.op(), node.attrs());
  if (!attrs.ok()) return std::string(attrs.status().message());
  if (attrs->size() != node.attrs().size()) return "attributes are missing";
  auto types = InferTypes(node.op(), node.input_types(), node.attrs());
  if (!types.ok()) return std::string(types.status().message());
  if (*types == node.types()) return "";
  std::string text = "its types are";
  for (const TensorType& type : node.types()) absl::StrAppend(&text, " ", type.ToString());
  text += ", inferred are";
  for (const TensorType& type : *types) absl::StrAppend(&text, " ", type.ToString());
  return text;
}

std::string LeafProblem(const Graph& graph, const Node& node) {
  if (node.num_outputs() != 1) return "a leaf has one output";
  if (node.has_payload() && node.payload().type() != node.type(0)) {
    return "the payload is of another type";
  }
  if (node.kind() == Node::Kind::kConstant && !node.has_payload()) return "it has no payload";
  if (node.kind() != Node::Kind::kInput) return "";
  int index = node.input_index();
  bool known = index >= 0 && index < static_cast<int>(graph.inputs().size()) &&
               &graph.inputs()[index].node() == &node;
  return known ? "" : absl::StrCat("it is input ", index, ", which is another");
}

absl::Status CheckNames(const Graph& graph, const std::vector<std::string>& names, size_t count,
                        absl::string_view what) {
  if (names.size() != count) return Broken(graph, absl::StrCat(what, "s without a name"));
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      return Broken(graph, absl::StrCat("two ", what, "s are named ", name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGraph(const Graph& graph) {
  LEMMA_RETURN_IF_ERROR(CheckNames(graph, graph.input_names(), graph.inputs().size(), "input"));
  LEMMA_RETURN_IF_ERROR(CheckNames(graph, graph.output_names(), graph.outputs().size(), "output"));
  absl::flat_hash_set<const Node*> seen;
  int number = 0, ops = 0;
  for (const NodePtr& node : graph.nodes()) {
    std::string where = absl::StrCat("node ", number++);
    if (node->is_op()) {
      ++ops;
      absl::StrAppend(&where, " (", node->op().name, ")");
    }
    for (const Value& input : node->inputs()) {
      if (seen.count(&input.node()) == 0) {
        return Broken(graph, absl::StrCat(where, ": an operand does not come before it"));
      }
      if (input.output() < 0 || input.output() >= input.node().num_outputs()) {
        return Broken(graph, absl::StrCat(where, ": an operand does not exist"));
      }
    }
    std::string problem = node->is_op() ? ProblemOf(*node) : LeafProblem(graph, *node);
    if (!problem.empty()) return Broken(graph, absl::StrCat(where, ": ", problem));
    if (!seen.insert(node.get()).second) {
      return Broken(graph, absl::StrCat(where, ": it is there twice"));
    }
  }
  if (ops != graph.num_ops()) return Broken(graph, "operators are miscounted");
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& output = graph.outputs()[i];
    if (seen.count(&output.node()) == 0 || output.output() >= output.node().num_outputs()) {
      return Broken(graph, absl::StrCat("output ", graph.output_names()[i], " is not in it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSameInterface(const Graph& before, const Graph& after) {
  LEMMA_RETURN_IF_ERROR(CheckGraph(after));
  auto compare = [&](const std::vector<Value>& a, const std::vector<Value>& b,
                     const std::vector<std::string>& a_names,
                     const std::vector<std::string>& b_names, absl::string_view what) {
    if (a_names != b_names) return Broken(after, absl::StrCat(what, "s have other names"));
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].type() == b[i].type()) continue;
      return Broken(after, absl::StrCat(what, " ", a_names[i], " was ", a[i].type().ToString(),
                                        " and is ", b[i].type().ToString()));
    }
    return absl::OkStatus();
  };
  LEMMA_RETURN_IF_ERROR(
      compare(before.inputs(), after.inputs(), before.input_names(), after.input_names(), "input"));
  return compare(before.outputs(), after.outputs(), before.output_names(), after.output_names(),
                 "output");
}

}  // namespace lemma
