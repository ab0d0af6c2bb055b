#include "runtime/reference/definitions_referee.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/overflow.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma {
namespace {

// An execution may be this many times as far from the definitions as the largest of a few random
// disturbances.
constexpr double kAsFar = 4;

// Each float changed by up to `by` of itself.
std::vector<Tensor> Nearby(const std::vector<Tensor>& inputs, uint64_t seed, double by) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> factor(1 - by, 1 + by);
  std::vector<Tensor> near;
  for (const Tensor& t : inputs) {
    std::vector<double> values = t.ToDoubles();
    for (double& v : values) v *= IsFloat(t.dtype()) ? factor(random) : 1;
    near.push_back(*Tensor::FromDoubles(t.type(), values));
  }
  return near;
}

}  // namespace

DefinitionsReferee::DefinitionsReferee(Graph graph, std::vector<Tensor> inputs)
    : graph_(std::move(graph)), inputs_(std::move(inputs)), expected_(absl::UnknownError("")) {
  auto compiled = MakeReferenceBackend()->Compile(graph_, {});
  if (!compiled.ok()) {
    expected_ = compiled.status();
    return;
  }
  definitions_ = *std::move(compiled);
  expected_ = definitions_->Run(inputs_);
  tolerances_ = RelativeTolerances(graph_, definitions_->findings());
}

bool DefinitionsReferee::ExpectsNaN() const {
  return std::any_of(expected_->begin(), expected_->end(), [](const Tensor& t) {
    const std::vector<double> values = t.ToDoubles();
    return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  });
}

std::string DefinitionsReferee::FaultOf(const std::vector<Tensor>& actual, const Execution& run,
                                        bool* excused) const {
  if (actual.size() != expected_->size()) {
    return absl::StrCat(actual.size(), " outputs, expected ", expected_->size());
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::string off = FaultOfOutput(i, actual, run, excused); off != "") return off;
  }
  return "";
}

std::string DefinitionsReferee::FaultOfOutput(size_t output, const std::vector<Tensor>& actual,
                                              const Execution& run, bool* excused) const {
  const double tolerance = tolerances_[output];
  const Difference d = Compare(actual[output], (*expected_)[output], tolerance);
  if (d.within) return "";
  if (!IsSensitive(actual, output) && !AgreesNearby(run, output) && !Overflows(actual, output) &&
      !AgreesInFloat(actual, output)) {
    return absl::StrCat("output ", output, ": ", d.ToString(), ", tolerance ", tolerance);
  }
  if (excused != nullptr) *excused = true;
  return "";
}

double DefinitionsReferee::Distance(const std::vector<Tensor>& actual, size_t output) const {
  return Compare(actual[output], (*expected_)[output], tolerances_[output]).largest;
}

bool DefinitionsReferee::IsSensitive(const std::vector<Tensor>& actual, size_t output) const {
  double own = 0;
  for (uint64_t k = 0; k < 8; ++k) {
    const std::vector<Tensor> disturbed = Disturbed(k);
    if (disturbed.empty()) return false;
    own = std::max(own, Distance(disturbed, output));
  }
  return Distance(actual, output) <= kAsFar * own;
}

bool DefinitionsReferee::AgreesNearby(const Execution& run, size_t output) const {
  for (uint64_t k = 0; k < 6; ++k) {
    const std::vector<Tensor> near = Nearby(inputs_, k, 1e-3);
    const Outputs a = run(near), b = definitions_->Run(near);
    if (!a.ok() || !b.ok()) continue;
    if (Compare((*a)[output], (*b)[output], tolerances_[output]).within) return true;
  }
  return false;
}

bool DefinitionsReferee::Overflows(const std::vector<Tensor>& actual, size_t output) const {
  if (!AgreesWhereFinite(actual[output], (*expected_)[output], tolerances_[output])) return false;
  const auto nears = NearsOverflow(graph_, inputs_);
  return nears.ok() && *nears;
}

bool DefinitionsReferee::AgreesInFloat(const std::vector<Tensor>& actual, size_t output) const {
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < inputs_.size(); ++i) values[graph_.inputs()[i]] = inputs_[i];
  for (const NodePtr& node : graph_.nodes()) {
    if (node->has_payload()) values[Value(node, 0)] = node->payload();
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at(v));
    const auto is_double = [](const auto& x) { return x.dtype() == DType::kF64; };
    if (std::any_of(operands.begin(), operands.end(), is_double)) return false;
    auto results = EvaluateNodeInFloat(*node, operands);
    if (!results.ok()) return false;
    for (int k = 0; k < node->num_outputs(); ++k) values[Value(node, k)] = (*results)[k];
  }
  const Value& v = graph_.outputs()[output];
  return v.dtype() != DType::kF64 &&
         Compare(actual[output], values.at(v), tolerances_[output]).within;
}

// The outputs if each operator's operands are disturbed by up to the tolerance that
// runtime/tolerance.h allows them, and its result by that of its largest element: the error that a
// stable computation in f32 may have, however sensitive it is to its operands. Empty if a node has
// no definition, as an opaque one.
std::vector<Tensor> DefinitionsReferee::Disturbed(uint64_t seed) const {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(-1, 1);
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < inputs_.size(); ++i) values[graph_.inputs()[i]] = inputs_[i];
  for (const NodePtr& node : graph_.nodes()) {
    if (node->has_payload()) values[Value(node, 0)] = node->payload();
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at(v));
    const double error = AddedError(*node, definitions_->findings());
    for (Tensor& operand : operands) {
      if (error > 0) operand = Nearby({operand}, random(), error)[0];
    }
    const auto evaluated = EvaluateNode(*node, operands);
    if (!evaluated.ok()) return {};
    const std::vector<Tensor>& results = *evaluated;
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Tensor& result = results[k];
      std::vector<double> numbers = result.ToDoubles();
      double largest = 1;  // at least, as in Compare
      for (double x : numbers)
        largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
      const double step = error * largest;
      if (IsFloat(result.dtype()) && step > 0) {
        // Disturbs by chance, or rounds to multiples of the step, so that numbers near 0 become 0.
        for (double& x : numbers) {
          x = seed % 4 == 0 ? std::round(x / step) * step : x + share(random) * step;
        }
      }
      values[Value(node, k)] =
          IsFloat(result.dtype()) ? *Tensor::FromDoubles(result.type(), numbers) : result;
    }
  }
  std::vector<Tensor> outputs;
  for (const Value& v : graph_.outputs()) outputs.push_back(values.at(v));
  return outputs;
}

}  // namespace lemma
