#include "verifier/referee/certificate/execution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "verifier/certificate/run_graphs.h"
#include "verifier/referee/evidence/other_roundings.h"

namespace lemma::referee {
namespace {

using certificate::RandomValues;
using Rows = std::vector<std::vector<double>>;  // by output: its elements

constexpr double kTimes = 4;
constexpr uint64_t kDraws = 4;

// The outputs of `a`, and those of `b` on the same inputs. Weights keep their values.
absl::StatusOr<std::pair<Rows, Rows>> Execute(const Graph& a, const Graph& b, RandomValues random) {
  std::vector<Value> wanted = a.outputs();
  wanted.insert(wanted.end(), b.outputs().begin(), b.outputs().end());
  for (const Graph* graph : {&a, &b}) {
    for (const NodePtr& node : graph->nodes()) {
      if (node->has_payload()) random.kept.insert(node.get());
    }
  }
  auto rows = certificate::Evaluate<double>(wanted, {}, random);
  if (absl::IsOutOfRange(rows.status())) {
    random.zeros = true;
    rows = certificate::Evaluate<double>(wanted, {}, random);
  }
  if (!rows.ok()) return rows.status();
  const auto middle = rows->begin() + static_cast<std::ptrdiff_t>(a.outputs().size());
  return std::pair(Rows(rows->begin(), middle), Rows(middle, rows->end()));
}

double Largest(const Rows& rows) {
  double largest = 0;
  for (const auto& row : rows) {
    for (const double x : row) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
  }
  return largest;
}

// The largest difference; infinite if an element of `b` is not finite where that of `a` is, or is
// another infinity.
double Difference(const Rows& a, const Rows& b) {
  double largest = 0;
  for (size_t o = 0; o < a.size(); ++o) {
    for (size_t i = 0; i < a[o].size(); ++i) {
      const double x = a[o][i], y = b[o][i];
      if (x == y || std::isnan(x)) continue;
      if (std::isinf(x) && std::isfinite(y)) continue;
      if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, std::abs(x - y));
    }
  }
  return largest;
}

absl::Status Agree(const Graph& before, const Graph& after, double relative,
                   const RandomValues& random) {
  LEMMA_ASSIGN_OR_RETURN(const auto both, Execute(before, after, random));
  const double difference = Difference(both.first, both.second);
  double tolerance = relative * std::max(1.0, Largest(both.first));
  if (difference <= tolerance) return absl::OkStatus();
  if (!std::isfinite(difference)) {
    return absl::FailedPreconditionError("the second model gives infinities or NaN");
  }
  // Numbers of both graphs may be equal but for their rounding, and the model may amplify it.
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    LEMMA_ASSIGN_OR_RETURN(const auto other,
                           Execute(after, WithOtherRoundings(after, draw), random));
    const double response = Difference(other.first, other.second);
    if (std::isfinite(response)) tolerance = std::max(tolerance, kTimes * response);
  }
  if (difference <= tolerance) return absl::OkStatus();
  return absl::FailedPreconditionError("the outputs differ on random inputs");
}

}  // namespace

absl::Status AgreeOnRandomInputs(const Graph& before, const Graph& after, double tolerance,
                                 uint64_t seed, int threads) {
  RandomValues random;
  random.seed = seed;
  random.threads = threads;
  for (const bool positive : {true, false}) {
    random.positive = positive;
    LEMMA_RETURN_IF_ERROR(Agree(before, after, tolerance, random));
  }
  return absl::OkStatus();
}

}  // namespace lemma::referee
