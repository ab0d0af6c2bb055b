#include "tests/runtime/ort/exceptions.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "graph/onnx/left_open/left_open.h"
#include "runtime/reference/all_values.h"

namespace lemma {
namespace {

template <typename Predicate>
bool Any(const Tensor& tensor, Predicate holds) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (holds(tensor.AtDouble(i))) return true;
  }
  return false;
}

bool HasNaN(const Tensor& tensor) {
  return Any(tensor, [](double x) { return std::isnan(x); });
}
bool HasNotFinite(const Tensor& tensor) {
  return Any(tensor, [](double x) { return !std::isfinite(x); });
}

// Operators that look for a largest or least element.
const std::set<std::string> kExtremes = {
    "reduce_max",       "reduce_min",          "argmax",          "argmin", "max_pool2d", "hardmax",
    "max_pool2d_index", "max_pool2d_gradient", "reduce_logsumexp"};

// Operators whose kernels compute a*x + b from their parameters.
const std::set<std::string> kNormalizations = {"batch_norm", "batch_norm_training", "instance_norm",
                                               "group_norm", "layer_norm"};

bool HasNegativeAxis(const Node& node) {
  if (node.IsOp("argmax") || node.IsOp("argmin")) return node.Int("axis") < 0;
  if (node.attrs().count("axes") == 0) return false;
  const std::vector<int64_t>& axes = node.Ints("axes");
  return std::any_of(axes.begin(), axes.end(), [](int64_t axis) { return axis < 0; });
}

// Whether each mean is over a single element.
bool IsOfSingles(const Node& node, const Shape& shape) {
  const int64_t elements = NumElements(shape);
  if (node.IsOp("instance_norm")) return elements == shape[0] * shape[1];
  return node.IsOp("batch_norm_training") && elements == shape[1];
}

}  // namespace

std::string OrtException(const Node& node, absl::Span<const Tensor> operands) {
  if (operands.empty()) return "";
  const std::string& op = node.op().name;
  if (const std::string open = LeftOpen(node, operands); open != "") return "open: " + open;
  if (kExtremes.count(op) > 0 && HasNaN(operands[0])) return "fault: extremes lose NaN";
  // These are exported as ReduceMax and ReduceMin.
  if ((op == "scatter_nd" || op == "scatter_elements") &&
      (node.String("reduction") == "max" || node.String("reduction") == "min") &&
      (HasNaN(operands[0]) || HasNaN(operands[2]))) {
    return "fault: extremes lose NaN";
  }
  if (op == "lrn" && HasNotFinite(operands[0])) {
    return "fault: LRN's running sum keeps what is not finite";
  }
  if (kNormalizations.count(op) > 0 &&
      std::any_of(operands.begin(), operands.end(), HasNotFinite)) {
    return "fault: normalizations as a*x + b are NaN where a is not finite";
  }
  if (IsOfSingles(node, operands[0].shape())) {
    return "fault: normalizations as a*x + b lose digits where they are b";
  }
  if (op == "matmul" && node.type(0).rank() > 2 && operands[0].size() == 0) {
    return "fault: batches of matrix products over nothing are not written";
  }
  if (op == "max_pool2d" &&
      Any(operands[0], [](double x) { return std::isinf(x) && std::signbit(x); })) {
    return "fault: a maximum of nothing but -infinity is the least float";
  }
  if (op == "max_pool2d" && node.inputs()[0].node().IsOp("pad")) {
    return "fault: optimizations make a Pad by zeros the padding of a MaxPool, which is none";
  }
  if (op == "expand" && NumElements(node.type(0).shape) == 0 && operands[0].size() > 0) {
    return "fault: optimizations drop an Expand to nothing";
  }
  if (operands[0].size() == 0 && HasNegativeAxis(node)) {
    return "fault: reductions of nothing along a negative axis have another shape";
  }
  return "";
}

std::vector<std::set<std::string>> OrtExceptions(const Graph& graph,
                                                 absl::Span<const Tensor> inputs) {
  const auto values = AllValues(graph, inputs);
  std::vector<std::set<std::string>> of_outputs(graph.outputs().size());
  if (!values.ok()) return of_outputs;
  absl::flat_hash_map<const Node*, std::set<std::string>> reasons;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    std::set<std::string>& here = reasons[node.get()];
    for (const Value& v : node->inputs()) {
      operands.push_back(values->at(v));
      const auto before = reasons.find(&v.node());
      if (before != reasons.end()) here.insert(before->second.begin(), before->second.end());
    }
    if (std::string reason = OrtException(*node, operands); reason != "") here.insert(reason);
  }
  for (size_t i = 0; i < of_outputs.size(); ++i) {
    of_outputs[i] = reasons[&graph.outputs()[i].node()];
  }
  return of_outputs;
}

std::string WhyRefused(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() || node->inputs().empty() || node->inputs()[0].type().num_elements() != 0) {
      continue;
    }
    if (HasNegativeAxis(*node)) {
      return "fault: reductions of nothing along a negative axis have another shape";
    }
    if (node->IsOp("top_k")) return "fault: TopK of nothing ends the process";
    const Shape& shape = node->inputs()[0].shape();
    if (absl::StrContains(node->op().name, "pool") && shape.size() == 4 && shape[1] == 0) {
      return "fault: optimizations put a pooling of no channels into blocks of channels";
    }
  }
  return "";
}

}  // namespace lemma
