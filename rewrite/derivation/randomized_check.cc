#include "rewrite/derivation/randomized_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/expr/field.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma {
namespace {

Field Convert(double value, const Field*) { return Field::FromDouble(value); }
double Convert(double value, const double*) { return value; }

// Computes every value of a graph as a dense array of numbers.
template <class Number>
class GraphEvaluator {
 public:
  // `round`: rounds to f32 after every operator.
  GraphEvaluator(const Graph& graph, bool round) : graph_(graph), round_(round) {}

  absl::StatusOr<std::vector<std::vector<Number>>> Run(
      const std::vector<std::vector<Number>>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs()[i]] = inputs[i];
    for (const NodePtr& node : graph_.nodes()) {
      if (node->has_payload()) {
        std::vector<Number>& row = values_[Value(node, 0)];
        for (double v : node->payload().ToDoubles()) {
          row.push_back(Convert(v, static_cast<const Number*>(nullptr)));
        }
      } else if (node->is_op()) {
        LEMMA_RETURN_IF_ERROR(Apply(node));
      }
    }
    std::vector<std::vector<Number>> outputs;
    for (const Value& v : graph_.outputs()) outputs.push_back(values_.at(v));
    return outputs;
  }

 private:
  absl::Status Apply(const NodePtr& node) {
    LEMMA_ASSIGN_OR_RETURN(Definition definition, DefinitionOf(*node));
    LEMMA_ASSIGN_OR_RETURN(LoopProgram program, CompileLoops(definition));
    std::vector<TensorView> inputs;
    for (const Value& v : node->inputs()) {
      inputs.push_back({values_.at(v).data(), std::nullopt, DenseStrides(v.shape())});
    }
    std::vector<std::vector<Number>> rows(node->num_outputs());
    std::vector<MutableTensorView> outputs;
    for (int i = 0; i < node->num_outputs(); ++i) {
      rows[i].resize(static_cast<size_t>(node->type(i).num_elements()));
      outputs.push_back({rows[i].data(), std::nullopt, DenseStrides(node->type(i).shape)});
    }
    LEMMA_RETURN_IF_ERROR(lemma::Run<Number>(program, inputs, outputs));
    for (int i = 0; i < node->num_outputs(); ++i) {
      if constexpr (std::is_same_v<Number, double>) {
        if (round_) {
          for (double& v : rows[i]) v = static_cast<float>(v);
        }
      }
      values_[Value(node, i)] = std::move(rows[i]);
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  bool round_;
  absl::flat_hash_map<Value, std::vector<Number>> values_;
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return state_ = Mix64(state_ + 1); }

 private:
  uint64_t state_;
};

// Integers stay small, so that they may serve as indices and truth values.
Field RandomNumber(Random& random, DType dtype, bool, const Field*) {
  if (!IsFloat(dtype)) return Field(static_cast<int64_t>(random.Next() % 2));
  return Field::FromRaw(random.Next() % Field::kPrime);
}
// In [-2, 2], or in (0, 2] for functions of positive numbers; exact in f32.
double RandomNumber(Random& random, DType dtype, bool positive, const double*) {
  if (!IsFloat(dtype)) return static_cast<double>(random.Next() % 2);
  double v = static_cast<double>(random.Next() % (1 << 20) + 1) / (1 << 19);
  return positive || random.Next() % 2 == 0 ? v : -v;
}

template <class Number>
std::vector<std::vector<Number>> RandomInputs(const Graph& graph, Random& random, bool positive) {
  std::vector<std::vector<Number>> inputs;
  for (const Value& v : graph.inputs()) {
    auto& row = inputs.emplace_back();
    for (int64_t i = 0; i < v.type().num_elements(); ++i) {
      row.push_back(RandomNumber(random, v.dtype(), positive, static_cast<const Number*>(nullptr)));
    }
  }
  return inputs;
}

bool SameBits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

// Rounding to f32 between operators may cost a few digits of the largest number.
bool Near(double a, double b, double scale) {
  if (!std::isfinite(a) || !std::isfinite(b)) return true;  // the field decides
  return std::abs(a - b) <= 1e-3 * std::max(scale, 1.0);
}

class InstanceTest {
 public:
  InstanceTest(const Substitution& rule, const Graph& source, const Graph& target)
      : rule_(rule), source_(source), target_(target) {}

  // How the sides differ; nullopt if they do not.
  absl::StatusOr<std::optional<std::string>> Run(Random& random) {
    auto field_inputs = RandomInputs<Field>(source_, random, false);
    GraphEvaluator<Field> field_source(source_, false), field_target(target_, false);
    LEMMA_ASSIGN_OR_RETURN(auto a, field_source.Run(field_inputs));
    LEMMA_ASSIGN_OR_RETURN(auto b, field_target.Run(field_inputs));
    auto difference = Compare(a, b, [](Field x, Field y, size_t) { return x == y; });
    if (difference) return absl::StrCat("in the field, ", *difference);
    for (bool positive : {true, false}) {
      auto inputs = RandomInputs<double>(source_, random, positive);
      GraphEvaluator<double> real_source(source_, true), real_target(target_, true);
      LEMMA_ASSIGN_OR_RETURN(auto c, real_source.Run(inputs));
      LEMMA_ASSIGN_OR_RETURN(auto d, real_target.Run(inputs));
      std::vector<double> scale;
      for (const auto& row : c) {
        double largest = 0;
        for (double v : row) {
          if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
        }
        scale.push_back(largest);
      }
      bool exact = rule_.contract == FloatContract::kBitExact;
      difference = Compare(c, d, [&](double x, double y, size_t output) {
        return exact ? SameBits(x, y) : Near(x, y, scale[output]);
      });
      if (difference) return absl::StrCat(exact ? "bit for bit, " : "in double, ", *difference);
    }
    return std::optional<std::string>();
  }

 private:
  static std::string Text(Field v) { return v.ToString(); }
  static std::string Text(double v) { return ToString(AttrValue(v)); }

  template <class Number, class Same>
  std::optional<std::string> Compare(const std::vector<std::vector<Number>>& a,
                                     const std::vector<std::vector<Number>>& b, Same same) {
    for (size_t output = 0; output < a.size(); ++output) {
      for (size_t i = 0; i < a[output].size(); ++i) {
        if (same(a[output][i], b[output][i], output)) continue;
        return absl::StrCat("element ", i, " of output ", output, " (",
                            source_.outputs()[output].type().ToString(), ") is ",
                            Text(a[output][i]), ", the target's is ", Text(b[output][i]));
      }
    }
    return std::nullopt;
  }

  const Substitution& rule_;
  const Graph& source_;
  const Graph& target_;
};

bool SameTypes(const Graph& a, const Graph& b) {
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    if (a.outputs()[i].type() != b.outputs()[i].type()) return false;
  }
  return true;
}

bool HasElements(const Graph& graph) {
  for (const Value& v : graph.outputs()) {
    if (v.type().num_elements() > 0) return true;
  }
  return false;
}

}  // namespace

std::string Describe(const Substitution& rule, const Assignment& assignment) {
  std::string text;
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    if (!assignment.symbols[i]) continue;
    auto value = ToAttrValue(*assignment.symbols[i]);
    if (!value) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", rule.symbols[i].name, " = ", ToString(*value));
  }
  return text;
}

absl::StatusOr<RandomizedCheckResult> RandomizedCheck(const Substitution& rule,
                                                      const RandomizedCheckOptions& options) {
  RandomizedCheckResult result;
  InstanceSampler sampler(rule, options.seed);
  Random random(Mix64(options.seed));
  for (int tries = 0; tries < 8 * options.instances && result.instances < options.instances;
       ++tries) {
    std::optional<Assignment> assignment = sampler.Draw();
    if (!assignment) break;
    LEMMA_ASSIGN_OR_RETURN(Graph source, Instantiate(rule, rule.source, *assignment));
    auto target = Instantiate(rule, rule.target, *assignment);
    if (!target.ok() || !SameTypes(source, *target)) {
      ++result.not_applicable;
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(std::optional<std::string> difference,
                           InstanceTest(rule, source, *target).Run(random));
    if (difference) {
      std::string types;
      for (size_t i = 0; i < rule.vars.size(); ++i) {
        absl::StrAppend(&types, i ? ", " : "", rule.vars[i].name, ": ",
                        source.inputs()[i].type().ToString());
      }
      result.counterexample = absl::StrCat(rule.name, " at ", Describe(rule, *assignment), " with ",
                                           types, " (seed ", options.seed, "): ", *difference);
      return result;
    }
    ++(HasElements(source) ? result.instances : result.empty);
  }
  return result;
}

}  // namespace lemma
