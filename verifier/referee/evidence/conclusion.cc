#include "verifier/referee/evidence/conclusion.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sizes/assumptions.h"
#include "graph/sizes/condition_text.h"
#include "graph/sizes/specialize.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/zero_signs.h"
#include "verifier/normal_form/elements.h"

namespace lemma::referee {
namespace {

// Whether rounding a float that the graph computes may change a result a lot.
bool HasDiscontinuities(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    const bool reads_floats =
        std::any_of(node->inputs().begin(), node->inputs().end(),
                    [](const Value& v) { return IsFloat(v.dtype()) && !v.node().has_payload(); });
    if (!reads_floats) continue;
    auto definition = DefinitionOf(*node);
    if (!definition.ok() || prover::IsDiscontinuous(*definition)) return true;
  }
  return false;
}

bool HasInfiniteWeights(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) {
    return node->has_payload() && IsFloat(node->type(0).dtype) && !node->is_finite();
  });
}

std::string Coverage(const Graph& graph) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    parts.push_back(
        absl::StrCat(graph.input_names()[i], ": ", graph.inputs()[i].type().ToString()));
  }
  std::string text = absl::StrCat("the shapes ", absl::StrJoin(parts, ", "));
  parts.clear();
  for (const auto& [name, range] : DimsOf(graph)) {
    parts.push_back(absl::StrCat(range.least, " <= ", name));
    if (range.most < SizeRange::kNoLimit) absl::StrAppend(&parts.back(), " <= ", range.most);
  }
  if (parts.empty()) return text;
  for (const Guard& guard : AssumptionsOf(graph)) parts.push_back(ConditionText(guard));
  return absl::StrCat(text, ", for all ", absl::StrJoin(parts, ", "));
}

}  // namespace

std::string WhyNoProof(const Graph& before, const Graph& after) {
  for (size_t i = 0; i < before.inputs().size(); ++i) {
    if (!MayBeEmpty(before.inputs()[i].shape())) continue;
    return absl::StrCat("input ", before.input_names()[i],
                        " has no elements, which no proof covers");
  }
  std::set<std::string> known;
  for (const Guard& guard : AssumptionsOf(before)) known.insert(guard.ToString());
  for (const Guard& guard : AssumptionsOf(after)) {
    if (known.count(guard.ToString()) > 0) continue;
    return absl::StrCat(
        "the second model may not run at some sizes at which the first one does: it needs ",
        ConditionText(guard));
  }
  return "";
}

Conclusion ConclusionOf(const Graph& before, const Graph& after, const ProvedParts& parts) {
  Conclusion result;
  // A proof that is not bit exact takes values to be finite.
  if (parts.regions > 0 && (HasInfiniteWeights(before) || HasInfiniteWeights(after))) {
    result.problem = "a weight is infinite or NaN, which no proof of real numbers covers";
    return result;
  }
  result.contract = parts.contract;
  if (!parts.exact_weights) {
    result.contract = std::max(result.contract, FloatContract::kReassociates);
  }
  if (result.contract == FloatContract::kBitExact && parts.regions > 0 &&
      (DividesByZeroOfAnySign(before) || DividesByZeroOfAnySign(after))) {
    result.contract = FloatContract::kReassociates;
  }
  if (result.contract == FloatContract::kReassociates &&
      (HasDiscontinuities(before) || HasDiscontinuities(after))) {
    result.contract = FloatContract::kRealOnly;
  }
  result.coverage = absl::StrCat(Coverage(before), parts.condition);
  return result;
}

}  // namespace lemma::referee
