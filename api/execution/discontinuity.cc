#include "api/execution/discontinuity.h"

#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "api/execution/compare.h"
#include "runtime/reference/reference.h"

namespace lemma::api {
namespace {

constexpr int kOthers = 6;

absl::StatusOr<bool> Agree(const Graph& graph, Executable* a, Executable* b,
                           absl::Span<const Tensor> inputs) {
  auto x = a->Run(inputs), y = b->Run(inputs);
  if (!x.ok()) return x.status();
  if (!y.ok()) return y.status();
  return CompareOutputs(graph, *y, *x, a->findings()).ok;
}

// The largest difference of an output, in units of its tolerance.
double Distance(const Graph& graph, absl::Span<const Tensor> actual,
                absl::Span<const Tensor> expected, const RunFindings& findings) {
  const OutputDifference difference = CompareOutputs(graph, actual, expected, findings);
  return difference.largest == 0 ? 0 : difference.largest / difference.allowed;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> NearInputs(absl::Span<const Tensor> inputs, int seed,
                                               double by) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(1 - by, 1 + by);
  std::vector<Tensor> near;
  for (const Tensor& t : inputs) {
    if (!IsFloat(t.dtype())) {
      near.push_back(t);
      continue;
    }
    std::vector<double> values(t.size());
    for (int64_t i = 0; i < t.size(); ++i) values[i] = t.AtDouble(i) * factor(random);
    absl::StatusOr<Tensor> changed = Tensor::FromDoubles(t.type(), values);
    if (!changed.ok()) return changed.status();
    near.push_back(*std::move(changed));
  }
  return near;
}

absl::StatusOr<bool> AgreesNearby(const Graph& graph, Executable* expected, Executable* actual,
                                  absl::Span<const Tensor> inputs) {
  for (int k = 0; k < kOthers; ++k) {
    absl::StatusOr<std::vector<Tensor>> near = NearInputs(inputs, k, 1e-3);
    if (!near.ok()) return near.status();
    absl::StatusOr<bool> agree = Agree(graph, expected, actual, *near);
    if (!agree.ok() || *agree) return agree;
  }
  return false;
}

absl::StatusOr<bool> DifferByADiscontinuity(const Graph& before, Executable* run_before,
                                            const Graph& after, Executable* run_after,
                                            absl::Span<const Tensor> inputs, int threads) {
  const std::unique_ptr<Backend> reference = MakeReferenceBackend(BetweenOperators::kUnrounded);
  CompileOptions options;
  options.threads = threads;
  auto a = reference->Compile(before, options), b = reference->Compile(after, options);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  auto exact = (*a)->Run(inputs), same = (*b)->Run(inputs);
  auto x = run_before->Run(inputs), y = run_after->Run(inputs);
  for (const auto* outputs : {&exact, &same, &x, &y}) {
    if (!outputs->ok()) return outputs->status();
  }
  const RunFindings& findings = (*a)->findings();
  if (!CompareOutputs(before, *same, *exact, findings).ok) return false;
  const double distance = Distance(before, *x, *exact, findings);
  const bool crossed = distance > 1 && std::isfinite(distance);
  if (crossed && Distance(before, *y, *exact, findings) <= kMostTimesAsFar * distance) return true;
  return AgreesNearby(before, run_before, run_after, inputs);
}

}  // namespace lemma::api
