#include "api/proofs/by_regions.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/referee.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "rewrite/matching/apply.h"

namespace lemma::api {
namespace {

// A region is smaller than a whole claim.
constexpr int64_t kPartsOfWork = 10;
constexpr double kNoTimeLimit = 1e7;  // seconds: the proofs' limits on work end the comparison

using Types = std::map<std::string, TensorType>;

Types WeightsWithoutValues(const Graph& graph) {
  Types types;
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() == Node::Kind::kWeight && !node->has_payload()) {
      types.emplace(node->name(), node->type(0));
    }
  }
  return types;
}

// `graph` with the names of `like`, and with more inputs in the place of these weights.
absl::StatusOr<Graph> WithInputs(const Graph& graph, const Graph& like, const Types& weights) {
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(like.input_names()[i], graph.inputs()[i].type());
  }
  std::map<std::string, Value> inputs;
  for (const auto& [name, type] : weights) {
    inputs[name] = builder.Input(absl::StrCat("weight ", name), type);
  }
  std::vector<std::pair<Value, Value>> replaced;
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() != Node::Kind::kWeight || node->has_payload()) continue;
    auto input = inputs.find(node->name());
    if (input == inputs.end() || input->second.type() != node->type(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight ", node->name(), " has another type in the other graph"));
    }
    replaced.emplace_back(Value(node, 0), input->second);
  }
  Graph changed = graph;
  if (!replaced.empty()) {
    const MatchIndex index(graph);
    LEMMA_ASSIGN_OR_RETURN(changed, Replace(index, replaced));
  }
  for (size_t o = 0; o < changed.outputs().size(); ++o) {
    builder.Output(like.output_names()[o], changed.outputs()[o]);
  }
  return std::move(builder).Build();
}

Verdict VerdictOf(const Graph& a, const Graph& b, const referee::RefereeResult& result) {
  switch (result.answer) {
    case referee::Answer::kProved: {
      Proved proved = result.evidence;
      proved.contract = result.contract;
      proved.coverage = result.coverage;
      proved.id = ProofId(a, b);
      return proved;
    }
    case referee::Answer::kRefuted: {
      const referee::Refutation& refutation = *result.refutation;
      Refuted refuted;
      for (size_t o = 0; o < a.output_names().size(); ++o) {
        if (a.output_names()[o] == refutation.output) refuted.output = static_cast<int>(o);
      }
      refuted.index = refutation.index;
      refuted.source = refutation.before;
      refuted.target = refutation.after;
      return refuted;
    }
    case referee::Answer::kUnknown:
    case referee::Answer::kDifferentInterface:
      break;
  }
  return Unknown{result.reason};
}

bool HaveOneType(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return x.type() == y.type(); });
}

}  // namespace

bool HaveOneInterface(const Graph& a, const Graph& b) {
  return HaveOneType(a.inputs(), b.inputs()) && HaveOneType(a.outputs(), b.outputs());
}

absl::StatusOr<Verdict> ProveByRegions(const Graph& a, const Graph& b,
                                       const ProverOptions& options) {
  Types weights = WeightsWithoutValues(a);
  for (const auto& weight : WeightsWithoutValues(b)) weights.insert(weight);
  LEMMA_ASSIGN_OR_RETURN(const Graph before, WithInputs(a, a, weights));
  LEMMA_ASSIGN_OR_RETURN(const Graph after, WithInputs(b, a, weights));
  RefereeOptions referee;
  referee.seed = static_cast<int64_t>(options.seed);
  referee.work = std::max<int64_t>(1, options.work / kPartsOfWork);
  referee.time_limit = kNoTimeLimit;
  referee.interrupted = options.interrupted;
  referee.keep_obligations = options.keep_obligations;
  LEMMA_ASSIGN_OR_RETURN(const RefereeResult result, Referee(before, after, referee));
  return VerdictOf(a, b, result.verdict);
}

}  // namespace lemma::api
