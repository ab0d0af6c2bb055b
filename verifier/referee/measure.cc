#include "verifier/referee/measure.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "verifier/referee/evidence/other_roundings.h"
#include "verifier/referee/values.h"

namespace lemma::referee {
namespace {

// Rounding explains this many times the effect of another rounding of the weights, and this many
// units in the last place of the result.
constexpr double kTimes = 4, kUnits = 4;
constexpr uint64_t kDraws = 6;

// How much another rounding of the weights moves the result.
absl::StatusOr<double> Response(const Graph& graph, const Tensor& result,
                                absl::Span<const Tensor> inputs, const Runner& definition) {
  double largest = 0;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    auto moved = definition(WithOtherRoundings(graph, draw), inputs);
    if (!moved.ok()) return moved.status();
    largest = std::max(largest, DifferenceOf(result, (*moved)[0]).largest);
  }
  return largest;
}

}  // namespace

absl::StatusOr<RegionDifference> MeasureRegion(const Graph& before, const Region& region,
                                               size_t sample, const RefereeOptions& options) {
  const Sample& values = options.samples[sample];
  LEMMA_ASSIGN_OR_RETURN(const Graph a, AtSizes(region.before, values.sizes));
  LEMMA_ASSIGN_OR_RETURN(const Graph b, AtSizes(region.after, values.sizes));
  if (WorkOf(a) + WorkOf(b) > kMaxWork) {
    return absl::ResourceExhaustedError("too many operations");
  }
  // The definitions in double do not round what is stored in f16.
  for (const Graph* graph : {&a, &b}) {
    for (const NodePtr& node : graph->nodes()) {
      for (const TensorType& type : node->types()) {
        if (IsFloat(type.dtype) && SizeOf(type.dtype) < 4) {
          return absl::UnimplementedError("values in half precision");
        }
      }
    }
  }
  RegionDifference result;
  LEMMA_ASSIGN_OR_RETURN(result.inputs,
                         Evaluate(before, ValuesOf(region.inputs), values, options.run));
  const Runner& definition = options.definition;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> x, definition(a, result.inputs));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> y, definition(b, result.inputs));
  result.before_side = a;
  result.after_side = b;
  result.before = x[0];
  result.after = y[0];
  result.found = DifferenceOf(x[0], y[0]);
  const double units = kUnits * 0x1p-24 * result.found.scale;
  result.explained = units;
  if (result.found.largest <= units) return result;
  LEMMA_ASSIGN_OR_RETURN(const double of_a, Response(a, x[0], result.inputs, definition));
  LEMMA_ASSIGN_OR_RETURN(const double of_b, Response(b, y[0], result.inputs, definition));
  result.explained = kTimes * std::max(of_a, of_b) + units;
  return result;
}

}  // namespace lemma::referee
