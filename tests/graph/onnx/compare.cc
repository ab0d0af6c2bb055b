#include "tests/graph/onnx/compare.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/tolerance.h"

namespace lemma {
namespace {

bool RoundsReals(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (node->IsOp("round")) return true;
  }
  return false;
}

std::string MismatchOf(const Tensor& actual, const Tensor& expected, double relative_tolerance,
                       double integer_slack) {
  if (actual.type() != expected.type()) {
    return absl::StrCat("is ", actual.type().ToString(), ", expected ", expected.type().ToString());
  }
  double tolerance = expected.dtype() == DType::kBool ? 0 : integer_slack;
  if (IsFloat(expected.dtype())) {
    double scale = 0;
    for (double v : expected.ToDoubles()) {
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    }
    tolerance = relative_tolerance * scale;
  }
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.AtDouble(i), e = expected.AtDouble(i);
    const bool same = std::isnan(e) ? std::isnan(a) : a == e || std::abs(a - e) <= tolerance;
    if (!same) {
      return absl::StrCat("element ", i, " is ", a, ", expected ", e, " +- ", tolerance);
    }
  }
  return "";
}

}  // namespace

std::string Mismatch(const Graph& graph, absl::Span<const Tensor> actual,
                     absl::Span<const Tensor> expected, double slack, const RunFindings& findings) {
  if (actual.size() < expected.size()) return "too few outputs";
  const std::vector<double> tolerances = RelativeTolerances(graph, findings);
  const double integer_slack = RoundsReals(graph) ? 1 : 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    std::string mismatch = MismatchOf(actual[i], expected[i], tolerances[i] + slack, integer_slack);
    if (!mismatch.empty()) return absl::StrCat("output ", i, " ", mismatch);
  }
  return "";
}

}  // namespace lemma
