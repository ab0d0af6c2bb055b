#include "tools/gpu/sampled_outputs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/random_values.h"
#include "runtime/tolerance.h"

namespace lemma::gpu {
namespace {

constexpr int64_t kSamples = 256;
constexpr int kHead = 4;  // norm, largest, and what elements and the norm moved
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
    double moved = 0, norm_moved = 0;
    for (const std::vector<Tensor>& other : nearby) {
      norm_moved = std::max(norm_moved, std::fabs(Summarize(other[k]).norm - summary.norm));
      for (int64_t i = 0; i < output.size(); ++i) {
        const double difference = std::fabs(other[k].AtDouble(i) - output.AtDouble(i));
        moved = std::isnan(difference) ? HUGE_VAL : std::max(moved, difference);
      }
    }
    if (!std::isfinite(summary.norm) || !std::isfinite(moved)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": not finite"));
    }
    std::vector<double> values = {summary.norm, summary.largest, moved, norm_moved};
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
  api::Random random(seed);
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

namespace {

// The samples of an output, and the differences that rounding may cause in elements and norm.
struct Known {
  absl::Span<const double> head, values;
  double rounding = 0, norm_rounding = 0;
};

absl::StatusOr<std::vector<Known>> Find(const Graph& graph, absl::Span<const Tensor> outputs,
                                        const NamedTensors& samples) {
  const std::vector<double> tolerances = RelativeTolerances(graph);
  std::vector<Known> result;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string& name = graph.output_names()[k];
    auto found = samples.tensors.find(name);
    if (found == samples.tensors.end() || found->second.dtype() != DType::kF64 ||
        found->second.size() != kHead + SamplesOf(outputs[k])) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": has no samples of this size"));
    }
    const auto data = found->second.data<double>();
    const double rounding = tolerances[k] * std::max(1.0, data[1]);
    result.push_back({data.subspan(0, kHead), data.subspan(kHead), rounding,
                      rounding * std::sqrt(static_cast<double>(outputs[k].size()))});
  }
  return result;
}

// The largest relative change of an output's norm beyond rounding.
double NormShare(const std::vector<Known>& known) {
  double share = 0;
  for (const Known& output : known) {
    const double moved = output.head[3] - output.norm_rounding;
    if (moved > 0) share = std::max(share, moved / std::max(output.head[0], 1e-300));
  }
  return share;
}

}  // namespace

absl::StatusOr<SampledDifference> CompareSamples(const Graph& graph,
                                                 absl::Span<const Tensor> outputs,
                                                 const NamedTensors& samples) {
  auto known = Find(graph, outputs, samples);
  if (!known.ok()) return known.status();
  const double norm_share = NormShare(*known);
  SampledDifference result;
  double worst_share = -1;
  auto take = [&](size_t k, double difference, double allowed) {
    if (std::isnan(difference)) difference = HUGE_VAL;
    const double share = difference == 0 ? 0 : difference / std::max(allowed, 1e-300);
    if (share <= worst_share) return;
    worst_share = share;
    result.worst.ok = difference <= allowed;
    result.worst.largest = difference;
    result.worst.allowed = allowed;
    result.worst.output = graph.output_names()[k];
  };
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& actual = outputs[k];
    const Known& expected = (*known)[k];
    double largest = 0;
    for (int64_t s = 0; s < SamplesOf(actual); ++s) {
      const double d = std::fabs(actual.AtDouble(Position(actual, s)) - expected.values[s]);
      largest = std::isnan(d) ? HUGE_VAL : std::max(largest, d);
    }
    take(k, largest, expected.rounding + kMovedShare * expected.head[2]);
    const double norms = std::fabs(Summarize(actual).norm - expected.head[0]);
    take(k, norms, expected.norm_rounding + kMovedShare * norm_share * expected.head[0]);
    ++result.outputs;
    if (!(largest <= expected.rounding && norms <= expected.norm_rounding)) {
      ++result.beyond_tolerance;
    }
  }
  return result;
}

}  // namespace lemma::gpu
