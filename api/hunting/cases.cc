#include "api/hunting/cases.h"

#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/hunting/idioms.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "base/hash.h"
#include "graph/rebuild.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/rewrite_filter.h"
#include "rewrite/derivation/random_rewrites.h"
#include "rewrite/matching/instantiate.h"

namespace lemma::hunt {
namespace {

constexpr int64_t kSearchSteps = 60;
constexpr int kLeastOpset = 7, kOpsets = 18;
constexpr int64_t kIntRange = 3;         // of random integers
constexpr uint64_t kInstances = 4;       // of a rule that are drawn until one is small
constexpr int64_t kMostElements = 4096;  // of a value, for the definitions take their time

bool IsSmall(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    for (const TensorType& type : node->types()) {
      if (type.num_elements() > kMostElements) return false;
    }
  }
  return true;
}

RandomGraphOptions GraphOptions(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = seed % 2 == 0 ? 8 : 4;
  options.most_elements = kMostElements;
  options.allowed = [](const OpDef& op) { return op.onnx_export != nullptr; };
  // For other types engines have few kernels.
  options.allowed_type = [seed](DType dtype) {
    return seed % 3 != 0 || dtype == DType::kF32 || dtype == DType::kI64 || dtype == DType::kBool;
  };
  return options;
}

int OpsetFor(uint64_t seed) {
  return seed % 4 < 2 ? Subject().opset : kLeastOpset + static_cast<int>(seed % kOpsets);
}

Tensor Positive(const Tensor& tensor) {
  std::vector<double> values = tensor.ToDoubles();
  for (double& value : values) value = std::fabs(value) + 0.125;
  return *Tensor::FromDoubles(tensor.type(), values);
}

absl::StatusOr<std::vector<Tensor>> InputsFor(const Graph& graph, uint64_t seed) {
  auto inputs = api::RandomInputs(graph, seed, kIntRange);
  if (!inputs.ok() || seed % 2 == 0) return inputs;
  for (Tensor& input : *inputs) {
    if (IsFloat(input.dtype())) input = Positive(input);
  }
  return inputs;
}

// Weights without values get those of `known` or, if it has none, random ones, which go there.
absl::StatusOr<Graph> WithWeights(const Graph& graph, uint64_t seed,
                                  std::map<std::string, Tensor>* known) {
  ValueMap replacements;
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() != Node::Kind::kWeight || node->has_payload()) continue;
    auto values = known->find(node->name());
    if (values == known->end()) {
      auto random = api::RandomInput(node->type(0), HashString(node->name(), seed), kIntRange);
      if (!random.ok()) return random.status();
      const bool positive = IsFloat(node->type(0).dtype) && seed % 4 > 0;  // it may be a variance
      values = known->emplace(node->name(), positive ? Positive(*random) : *random).first;
    }
    replacements[Value(node, 0)] =
        Value(Node::Weight(node->name(), node->type(0), values->second), 0);
  }
  return ReplaceValues(graph, replacements);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cases>> Cases::Create(CaseOptions options) {
  std::unique_ptr<Cases> cases(new Cases(std::move(options)));
  if (cases->options_.rules.empty()) return cases;
  auto rules = RuleSet::Create(cases->options_.rules);
  if (!rules.ok()) return rules.status();
  cases->rule_set_ = *std::move(rules);
  return cases;
}

absl::StatusOr<Case> Cases::Make(int64_t index) const {
  const uint64_t seed = HashCombine(options_.seed, static_cast<uint64_t>(index));
  const auto files = static_cast<int64_t>(options_.models.size());
  if (index < files) return OfFile(options_.models[index], seed);
  const int64_t kind = (index - files) % 4;
  if (kind == 1 || (kind == 2 && options_.rules.empty())) return WithIdioms(seed);
  if (kind == 0 || options_.rules.empty()) return Random(seed);
  return kind == 2 ? OfRule(seed) : Rewritten(seed);
}

Case Cases::Random(uint64_t seed) const {
  RandomGraph random = MakeRandomGraph(seed, GraphOptions(seed));
  Case made;
  made.source = "random model";
  made.subjects.push_back({std::move(random.graph), std::move(random.inputs), OpsetFor(seed)});
  return made;
}

absl::StatusOr<Case> Cases::WithIdioms(uint64_t seed) const {
  Case made;
  made.source = "model with patterns that engines fuse";
  if (seed % 3 > 0) {
    auto idiom = RandomIdiom(seed);
    if (!idiom) return absl::NotFoundError("not well-formed");
    auto inputs = InputsFor(*idiom, seed);
    if (!inputs.ok()) return inputs.status();
    made.subjects.push_back({*std::move(idiom), *std::move(inputs), OpsetFor(seed)});
    return made;
  }
  RandomGraphOptions options = GraphOptions(seed / 3);
  options.part = RandomIdiom;
  RandomGraph random = MakeRandomGraph(seed, options);
  made.subjects.push_back({std::move(random.graph), std::move(random.inputs), OpsetFor(seed)});
  return made;
}

absl::StatusOr<Case> Cases::OfRule(uint64_t seed) const {
  const Substitution& rule = options_.rules[seed % options_.rules.size()];
  std::optional<RuleInstance> instance;
  for (uint64_t k = 0; k < kInstances && !instance; ++k) {
    instance = DrawInstance(rule, HashCombine(seed, k));
    if (instance && !IsSmall(instance->source)) instance.reset();
  }
  if (!instance) return absl::NotFoundError(absl::StrCat("rule ", rule.name, ": no instance"));
  const VarsAs vars = seed % 3 == 0 ? VarsAs::kInputs : VarsAs::kRoles;
  Case made;
  made.source = absl::StrCat("rule ", rule.name);
  std::map<std::string, Tensor> weights;
  for (const Pattern* side : {&rule.source, &rule.target}) {
    auto graph = Instantiate(rule, *side, instance->assignment, vars);
    // The target need not be well-formed at every size.
    if (!graph.ok()) return absl::NotFoundError(graph.status().message());
    auto complete = WithWeights(*graph, seed, &weights);
    if (!complete.ok()) return complete.status();
    auto inputs = InputsFor(*complete, seed);
    if (!inputs.ok()) return inputs.status();
    made.subjects.push_back({*std::move(complete), *std::move(inputs), OpsetFor(seed)});
  }
  return made;
}

absl::StatusOr<Case> Cases::Rewritten(uint64_t seed) const {
  RandomGraphOptions options = GraphOptions(seed);
  options.operators = 10;
  options.part = [this](uint64_t part) { return RandomSource(options_.rules, part); };
  RandomGraph random = MakeRandomGraph(seed, options);
  Case made;
  made.source = "random model";
  made.subjects.push_back({std::move(random.graph), std::move(random.inputs), OpsetFor(seed)});
  const absl::Status added = AddOptimized(&made, seed);
  if (!added.ok()) return added;
  return made;
}

absl::Status Cases::AddOptimized(Case* made, uint64_t seed) const {
  if (rule_set_ == nullptr) return absl::OkStatus();
  const Subject& before = made->subjects[0];
  const auto rules = optimizer::Filtered(rule_set_.get(), optimizer::RewriteFilter());
  Graph after = before.graph;
  std::vector<std::string> steps;
  if (seed % 2 == 0) {
    const auto costs = optimizer::MakeAnalyticCostModel();
    optimizer::BacktrackingOptions options;
    options.limits.max_steps = kSearchSteps;
    auto found = optimizer::MakeBacktrackingSearch(rules.get(), costs.get(), options)
                     ->Run(before.graph, nullptr);
    if (!found.ok()) return found.status();
    after = found->best;
    for (const optimizer::RewriteStep& step : found->rewrites) steps.push_back(step.name);
  } else {
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < 1 + seed % 4; ++i) {
      auto next = lemma::Rewritten(after, *rules, &random);
      if (!next) break;
      after = std::move(next->after);
      steps.push_back(next->name);
    }
  }
  if (steps.empty()) return absl::OkStatus();
  auto folded = optimizer::FoldConstants(after);
  if (!folded.ok()) return folded.status();
  absl::StrAppend(&made->source, ", optimized by ", absl::StrJoin(steps, ", "));
  made->subjects.push_back({*std::move(folded), before.inputs, before.opset});
  return absl::OkStatus();
}

absl::StatusOr<Case> Cases::OfFile(const std::string& path, uint64_t seed) const {
  auto model = api::LoadModel(path, api::LoadOptions());
  if (!model.ok()) return model.status();
  std::map<std::string, Tensor> weights;
  auto graph = WithWeights(model->graph, seed, &weights);
  if (!graph.ok()) return api::Prefixed(path, graph.status());
  auto inputs = InputsFor(*graph, seed);
  if (!inputs.ok()) return api::Prefixed(path, inputs.status());
  Case made;
  made.source = path;
  made.subjects.push_back({*std::move(graph), *std::move(inputs), model->info.opset});
  const absl::Status added = AddOptimized(&made, seed & ~uint64_t{1});
  if (!added.ok()) return api::Prefixed(path, added);
  return made;
}

}  // namespace lemma::hunt
