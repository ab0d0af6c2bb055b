#include "tests/runtime/ort/exceptions.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
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

// Whether a power of two of these may exceed 31 bits.
bool HasUnboundedPower(const Tensor& base, const Tensor& exponent) {
  double largest = 0, most = 0;
  Any(base, [&](double x) { return largest = std::max(largest, std::fabs(x)), false; });
  const bool is_negative = Any(exponent, [&](double x) { return most = std::max(most, x), x < 0; });
  return is_negative || most * std::log2(std::max(largest, 1.0)) >= 31;
}

// Whether `x`, cut off towards 0, is outside of the integer type.
bool IsBeyond(DType dtype, double x) {
  const int bits = static_cast<int>(SizeOf(dtype)) * 8 - (IsUnsigned(dtype) ? 0 : 1);
  const double end = std::ldexp(1.0, bits), least = IsUnsigned(dtype) ? 0 : -end;
  return std::isnan(x) || std::trunc(x) < least || std::trunc(x) >= end;
}

// The place that each update of a scatter changes, as one number.
std::vector<int64_t> Places(const Node& node, const Tensor& x, const Tensor& indices) {
  const bool is_nd = node.IsOp("scatter_nd");
  std::vector<int64_t> places;
  auto wrapped = [](int64_t i, int64_t size) { return i < 0 ? i + size : i; };
  if (is_nd) {
    const int64_t width = indices.shape().back();
    for (int64_t row = 0; row * width < indices.size(); ++row) {
      int64_t place = 0;
      for (int64_t k = 0; k < width; ++k) {
        place = place * x.shape()[k] + wrapped(indices.AtInt(row * width + k), x.shape()[k]);
      }
      places.push_back(place);
    }
    return places;
  }
  const int rank = x.type().rank();
  const int axis = static_cast<int>((node.Int("axis") + rank) % rank);
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t at = rest % indices.shape()[d];
      rest /= indices.shape()[d];
      place += stride * (d == axis ? wrapped(indices.AtInt(i), x.shape()[d]) : at);
      stride *= x.shape()[d];
    }
    places.push_back(place);
  }
  return places;
}

bool HasDuplicates(std::vector<int64_t> places) {
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

// Whether a product of some of these may exceed 31 bits.
bool HasUnboundedProduct(const Tensor& tensor) {
  double bits = 0;
  Any(tensor, [&](double x) { return bits += std::log2(std::max(std::fabs(x), 1.0)), false; });
  return bits >= 31;
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
  const DType to = node.type(0).dtype;
  if (op == "cast" && IsInteger(to) && IsFloat(operands[0].dtype()) &&
      Any(operands[0], [to](double x) { return IsBeyond(to, x); })) {
    return "open: a float becomes an integer that its type does not hold";
  }
  if ((op == "scatter_nd" || op == "scatter_elements") && node.String("reduction") == "none" &&
      HasDuplicates(Places(node, operands[0], operands[1]))) {
    return "open: two updates of one element";
  }
  if (op == "pow" && IsInteger(to) && HasUnboundedPower(operands[0], operands[1])) {
    return "open: a power that its integer type does not hold";
  }
  // cumprod is exported as ReduceProd.
  if ((op == "reduce_prod" || op == "cumprod") && IsInteger(to) &&
      HasUnboundedProduct(operands[0])) {
    return "open: a product that its integer type does not hold";
  }
  if (kExtremes.count(op) > 0 && HasNaN(operands[0])) return "fault: extremes lose NaN";
  // These are exported as ReduceMax and ReduceMin.
  if ((op == "scatter_nd" || op == "scatter_elements") &&
      (node.String("reduction") == "max" || node.String("reduction") == "min") &&
      (HasNaN(operands[0]) || HasNaN(operands[2]))) {
    return "fault: extremes lose NaN";
  }
  if (op == "top_k" && HasNaN(operands[0])) return "open: the place of NaN in an order";
  if (op == "lrn" && HasNotFinite(operands[0])) {
    return "fault: LRN's running sum keeps what is not finite";
  }
  if ((op == "conv2d" || op == "conv_transpose2d") && HasNotFinite(operands[1])) {
    return "open: padding times weights that are not finite";
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
  }
  return "";
}

}  // namespace lemma
