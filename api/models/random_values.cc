#include "api/models/random_values.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/rebuild.h"
#include "graph/training_state.h"

namespace lemma::api {

uint64_t Random::Next() {
  uint64_t value = Mix64(state_);
  state_ += 0x9e3779b97f4a7c15u;
  return value;
}

double Random::Uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(Next() >> 11) * 0x1p-53;
}

double Random::Normal() {
  // The method of Box and Muller; 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(0, 1)));
  return radius * std::cos(6.283185307179586 * Uniform(0, 1));
}

namespace {

// Values of `type`, each made by `draw`.
template <class Draw>
absl::StatusOr<Tensor> Fill(const TensorType& type, const Draw& draw) {
  if (type.dtype == DType::kF32) {
    auto tensor = Tensor::Allocate(type);
    if (!tensor.ok()) return tensor.status();
    for (float& x : tensor->mutable_data<float>()) x = static_cast<float>(draw());
    return tensor;
  }
  auto zeros = Tensor::Allocate(type);  // before gigabytes of doubles are tried
  if (!zeros.ok()) return zeros.status();
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  for (double& x : values) x = draw();
  return Tensor::FromDoubles(type, values);
}

// The name that the first operator that reads the value gives this operand: "w", "scale", …
absl::flat_hash_map<Value, std::string> Roles(const Graph& graph) {
  absl::flat_hash_map<Value, std::string> roles;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    const std::vector<std::string>& names = node->op().input_names;
    for (size_t i = 0; i < node->inputs().size() && !names.empty(); ++i) {
      roles.try_emplace(node->inputs()[i], names[std::min(i, names.size() - 1)]);
    }
  }
  return roles;
}

absl::StatusOr<Tensor> RandomWeight(const TensorType& type, const std::string& role,
                                    Random* random) {
  if (absl::StrContains(role, "var") || role == "scale" || role == "gamma") {
    return Fill(type, [&] { return random->Uniform(0.5, 1.5); });
  }
  double deviation = 0.1;
  if (type.rank() >= 2) {
    const double fan_in = type.rank() == 2
                              ? static_cast<double>(std::max(type.shape[0], type.shape[1]))
                              : static_cast<double>(type.num_elements()) /
                                    static_cast<double>(std::max<int64_t>(1, type.shape[0]));
    deviation = std::sqrt(2 / std::max(1.0, fan_in));
  }
  return Fill(type, [&] { return deviation * random->Normal(); });
}

constexpr int64_t kMostCompared = 16;  // more are data

// The graph's input whose integers `v` holds, in another shape or type perhaps; -1 if there is
// none.
int SourceOf(Value v) {
  while (v.node().is_op() && v.node().inputs().size() == 1 && IsInteger(v.dtype())) {
    v = Value(v.node().inputs()[0]);
  }
  const bool is_input = v.node().kind() == Node::Kind::kInput && IsInteger(v.dtype());
  return is_input ? v.node().input_index() : -1;
}

// By input: the constants that it is compared with, in the order of the graph.
std::vector<std::vector<int64_t>> Compared(const Graph& graph) {
  std::vector<std::vector<int64_t>> result(graph.inputs().size());
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() || node->inputs().size() != 2 || node->type(0).dtype != DType::kBool) {
      continue;
    }
    for (const int side : {0, 1}) {
      const int input = SourceOf(node->inputs()[side]);
      const Value& other = node->inputs()[1 - side];
      if (input < 0 || !other.node().has_payload() || !IsInteger(other.dtype())) continue;
      const Tensor& constants = other.node().payload();
      std::vector<int64_t>& known = result[static_cast<size_t>(input)];
      for (int64_t i = 0; i < constants.size() && constants.size() <= kMostCompared; ++i) {
        if (!absl::c_linear_search(known, constants.AtInt(i))) known.push_back(constants.AtInt(i));
      }
    }
  }
  return result;
}

// Puts constants into `tensor`, which holds random integers. A single element takes them in turn
// with its random value and their successors; one of many takes a constant with probability 1/2.
absl::StatusOr<Tensor> WithConstants(const Tensor& tensor, const std::vector<int64_t>& constants,
                                     uint64_t seed, size_t input) {
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < tensor.size(); ++i) elements.push_back(tensor.AtInt(i));
  if (elements.size() == 1) {
    std::vector<int64_t> choices = constants;
    choices.push_back(elements[0]);
    for (int64_t constant : constants) choices.push_back(constant + 1);
    elements[0] = choices[(seed + choices.size() - 1) % choices.size()];
  } else {
    Random random(HashCombine(HashString("constants", seed), input));
    for (int64_t& element : elements) {
      const uint64_t drawn = random.Next();
      if (drawn % 2 == 0) element = constants[drawn / 2 % constants.size()];
    }
  }
  return Tensor::FromInts(tensor.type(), elements);
}

}  // namespace

uint64_t DrawSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32 | device()) >> 2;
}

absl::StatusOr<Tensor> RandomInput(const TensorType& type, uint64_t seed, int64_t integer_range) {
  Random random(seed);
  if (type.dtype == DType::kF8E8M0) {  // no number is negative
    return Fill(type, [&] { return std::abs(random.Normal()); });
  }
  if (IsReal(type.dtype)) return Fill(type, [&] { return random.Normal(); });
  const double range = type.dtype == DType::kBool ? 2 : static_cast<double>(integer_range);
  return Fill(type, [&] { return std::floor(random.Uniform(0, range)); });
}

absl::StatusOr<std::vector<Tensor>> RandomInputs(const Graph& graph, uint64_t seed,
                                                 int64_t integer_range) {
  std::vector<Tensor> inputs;
  const std::vector<std::vector<int64_t>> compared = Compared(graph);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    auto tensor = RandomInput(graph.inputs()[i].type(), HashCombine(seed, i), integer_range);
    if (tensor.ok() && !compared[i].empty()) {
      tensor = WithConstants(*tensor, compared[i], seed, i);
    }
    if (!tensor.ok()) {
      return absl::Status(tensor.status().code(), absl::StrCat("input '", graph.input_names()[i],
                                                               "': ", tensor.status().message()));
    }
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

absl::StatusOr<std::vector<Tensor>> RandomStepInputs(const Graph& graph, uint64_t seed,
                                                     int64_t integer_range) {
  const absl::flat_hash_map<Value, std::string> roles = Roles(graph);
  auto inputs = RandomInputs(graph, seed, integer_range);
  if (!inputs.ok()) return inputs;
  std::vector<bool> is_state(inputs->size());
  for (const StatePair& pair : StatePairs(graph)) is_state[pair.input] = true;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const Value& input = graph.inputs()[i];
    const std::string& name = graph.input_names()[i];
    absl::StatusOr<Tensor> values = (*inputs)[i];
    if (name == "lr") {
      values = Tensor::Filled(input.type(), 1e-3);
    } else if (IsFloat(input.dtype()) && is_state[i]) {
      auto role = roles.find(input);
      Random random(HashString(name, seed));
      values = RandomWeight(input.type(), role == roles.end() ? "" : role->second, &random);
    }
    if (!values.ok()) return values.status();
    (*inputs)[i] = *std::move(values);
  }
  return inputs;
}

absl::StatusOr<Graph> ReseedWeights(const Graph& graph, uint64_t seed) {
  const absl::flat_hash_map<Value, std::string> roles = Roles(graph);
  ValueMap replacements;
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() != Node::Kind::kWeight || !IsFloat(node->type(0).dtype)) continue;
    const Value weight(node, 0);
    auto role = roles.find(weight);
    Random random(HashString(node->name(), seed));
    auto values = RandomWeight(weight.type(), role == roles.end() ? "" : role->second, &random);
    if (!values.ok()) return values.status();
    replacements[weight] = Value(Node::Weight(node->name(), weight.type(), *std::move(values)), 0);
  }
  return ReplaceValues(graph, replacements);
}

}  // namespace lemma::api
