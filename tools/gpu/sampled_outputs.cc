#include "tools/gpu/sampled_outputs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/random_values.h"
#include "runtime/tolerance.h"

namespace lemma::gpu {
namespace {

constexpr int64_t kSamples = 256;
constexpr int kHead = 3;  // norm, largest, moved
constexpr double kMovedShare = 4;

int64_t SamplesOf(const Tensor& tensor) { return std::min(tensor.size(), kSamples); }

int64_t Position(const Tensor& tensor, int64_t sample) {
  return sample * tensor.size() / SamplesOf(tensor);
}

struct Summary {
  double norm = 0, largest = 0;
};

Summary Summarize(const Tensor& tensor) {
  Summary summary;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = tensor.AtDouble(i);
    summary.norm += x * x;
    summary.largest = std::max(summary.largest, std::fabs(x));
  }
  summary.norm = std::sqrt(summary.norm);
  return summary;
}

}  // namespace

absl::StatusOr<NamedTensors> SampleOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                                           absl::Span<const std::vector<Tensor>> nearby) {
  NamedTensors samples;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string& name = graph.output_names()[k];
    const Tensor& output = outputs[k];
    const Summary summary = Summarize(output);
    double moved = 0;
    for (const std::vector<Tensor>& other : nearby) {
      for (int64_t i = 0; i < output.size(); ++i) {
        moved = std::max(moved, std::fabs(other[k].AtDouble(i) - output.AtDouble(i)));
      }
    }
    if (!std::isfinite(summary.norm) || !std::isfinite(moved)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": not finite"));
    }
    std::vector<double> values = {summary.norm, summary.largest, moved};
    for (int64_t s = 0; s < SamplesOf(output); ++s) {
      values.push_back(output.AtDouble(Position(output, s)));
    }
    auto tensor = Tensor::FromDoubles({DType::kF64, {static_cast<int64_t>(values.size())}}, values);
    if (!tensor.ok()) return tensor.status();
    samples.tensors[name] = *std::move(tensor);
  }
  return samples;
}

absl::StatusOr<std::vector<Tensor>> Nearby(absl::Span<const Tensor> inputs, uint64_t seed) {
  cli::Random random(seed);
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    if (!IsFloat(input.dtype())) {
      result.push_back(input);
      continue;
    }
    std::vector<double> values = input.ToDoubles();
    for (double& x : values) x *= 1 + random.Uniform(-0x1p-20, 0x1p-20);
    auto moved = Tensor::FromDoubles(input.type(), values);
    if (!moved.ok()) return moved.status();
    result.push_back(*std::move(moved));
  }
  return result;
}

absl::StatusOr<SampledDifference> CompareSamples(const Graph& graph,
                                                 absl::Span<const Tensor> outputs,
                                                 const NamedTensors& samples) {
  const std::vector<double> tolerances = RelativeTolerances(graph);
  SampledDifference result;
  double worst_share = -1;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string& name = graph.output_names()[k];
    const Tensor& actual = outputs[k];
    auto found = samples.tensors.find(name);
    if (found == samples.tensors.end() || found->second.size() != kHead + SamplesOf(actual)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": has no samples of this size"));
    }
    const absl::Span<const double> expected = found->second.data<double>();
    double largest = 0;
    for (int64_t s = 0; s < SamplesOf(actual); ++s) {
      const double difference =
          std::fabs(actual.AtDouble(Position(actual, s)) - expected[kHead + s]);
      largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
    }
    // The norms of two tensors differ by at most the norm of their difference.
    const double norms = std::fabs(Summarize(actual).norm - expected[0]) /
                         std::sqrt(static_cast<double>(std::max<int64_t>(actual.size(), 1)));
    largest = std::isnan(norms) ? HUGE_VAL : std::max(largest, norms);
    const double rounding = tolerances[k] * std::max(1.0, expected[1]);
    const double allowed = rounding + kMovedShare * expected[2];
    ++result.outputs;
    if (largest > rounding) ++result.beyond_tolerance;
    const double share = largest == 0 ? 0 : largest / std::max(allowed, 1e-300);
    if (share <= worst_share) continue;
    worst_share = share;
    result.worst = {largest <= allowed, largest, allowed, name};
  }
  return result;
}

}  // namespace lemma::gpu
