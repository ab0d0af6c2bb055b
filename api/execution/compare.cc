#include "api/execution/compare.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text_table.h"
#include "runtime/tolerance.h"

namespace lemma::api {

OutputDifference CompareOutputs(const Graph& graph, absl::Span<const Tensor> actual,
                                absl::Span<const Tensor> expected, const RunFindings& findings,
                                codegen::ProductPrecision precision) {
  const std::vector<double> tolerances = RelativeTolerances(graph, findings, precision);
  OutputDifference worst;
  double worst_share = -1;
  int64_t elements = 0, finite = 0;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Difference d = Compare(actual[i], expected[i], tolerances[i]);
    const double allowed = tolerances[i] * d.scale;
    elements += d.elements;
    finite += d.finite;
    // An output beyond its tolerance outweighs any output within it.
    double share = d.largest == 0 ? 0 : d.largest / (allowed > 0 ? allowed : 1e-300);
    if (!d.within) share += 1e300;
    if (share <= worst_share) continue;
    worst_share = share;
    worst.ok = d.within;
    worst.largest = d.largest;
    worst.allowed = allowed;
    worst.output = graph.output_names()[i];
  }
  worst.elements = elements;
  worst.finite = finite;
  return worst;
}

std::string OutputDifference::ToString() const {
  if (!compared()) {
    return absl::StrCat("nothing was compared: all ", elements, " values are infinite or NaN");
  }
  const std::string of = finite == elements
                             ? absl::StrCat(finite, " values")
                             : absl::StrCat(finite, " finite values (", elements, " in all)");
  return absl::StrCat("largest difference ", FormatError(largest), " of ", of, ", allowed ",
                      FormatError(allowed), " (", output, ")",
                      excuse.empty() ? "" : absl::StrCat("; no fault: ", excuse));
}

}  // namespace lemma::api
