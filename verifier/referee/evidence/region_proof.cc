#include "verifier/referee/evidence/region_proof.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "graph/sizes/specialize.h"
#include "verifier/prover/graph_claim.h"
#include "verifier/referee/evidence/near_numbers.h"
#include "verifier/referee/evidence/one_sided.h"

namespace lemma::referee {
namespace {

// Whether each result is an element of an operand, possibly of another type.
bool OnlyConverts(const Node& node) {
  const auto definition = DefinitionOf(node);
  if (!definition.ok()) return false;
  return std::all_of(
      definition->tensors.begin(), definition->tensors.end(),
      [](const TensorExpr& tensor) { return tensor.body.kind() == ScalarExpr::Kind::kRead; });
}

// Whether an operator stores floats in a type that is narrower than the widest one that comes in;
// or, unless all operators are conversions, in 16 bits. In f16, 123456.7 is infinite and 1e-12 is
// 0: that is more than rounding.
bool Narrows(const Graph& before, const Graph& after) {
  constexpr int64_t kFull = 4;  // bytes of an f32
  int64_t widest = 0, narrowest = std::numeric_limits<int64_t>::max();
  bool converts = true;
  for (const Graph* graph : {&before, &after}) {
    for (const NodePtr& node : graph->nodes()) {
      converts &= !node->is_op() || OnlyConverts(*node);
      for (const TensorType& type : node->types()) {
        if (!IsFloat(type.dtype)) continue;
        if (node->is_op()) narrowest = std::min(narrowest, SizeOf(type.dtype));
        if (!node->is_op()) widest = std::max(widest, SizeOf(type.dtype));
      }
    }
  }
  return narrowest < widest || (narrowest < kFull && !converts);
}

}  // namespace

Verdict RegionProver::Prove(const RegionClaim& region, int64_t work) {
  const Key key = {region.before.outputs()[0], region.after.outputs()[0], region.finite,
                   region.near_numbers};
  auto it = known_.find(key);
  if (it != known_.end() && (IsProved(it->second.verdict) || it->second.work >= work)) {
    ++remembered_;
    return it->second.verdict;
  }
  ++proofs_;
  Verdict verdict = ProveAnew(region, work);
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    Join(*proved, &evidence_);
    proved->log = {};  // it may be long
  }
  known_[key] = {verdict, work};
  return verdict;
}

// The ranges of the region's symbolic dimensions, and the assumptions on them.
std::vector<Guard> RegionProver::RequirementsOn(const RegionClaim& region) const {
  std::map<std::string, SizeRange> dims = DimsOf(region.before);
  for (const auto& dim : DimsOf(region.after)) dims.insert(dim);
  std::vector<Guard> requirements;
  for (const auto& [name, range] : dims) {
    const IndexExpr dim = SymbolicDim(name, range);
    requirements.push_back(Le(range.least, dim));
    if (range.most < SizeRange::kNoLimit) requirements.push_back(Le(dim, range.most));
  }
  if (!dims.empty()) {
    requirements.insert(requirements.end(), assumptions_.begin(), assumptions_.end());
  }
  return requirements;
}

Verdict RegionProver::ProveAnew(const RegionClaim& region, int64_t work) const {
  if (std::string reason = ReadsElsewhere(region); !reason.empty()) return Unknown{reason};
  const OneSidedConversions conversions = ConversionsOf(region);
  if (conversions.to_half) {
    return Unknown{"only one model stores these integers in half precision, which rounds them"};
  }
  for (const Value& input : region.before.inputs()) {
    if (!MayBeEmpty(input.shape())) continue;
    return Unknown{"a value has no elements, which no proof covers"};
  }
  auto claim = prover::MakeClaim(region.before, region.after, false);
  if (!claim.ok()) return Unknown{std::string(claim.status().message())};
  // The statement's first inputs are the region's.
  for (size_t i = 0; i < region.finite.size(); ++i) {
    if (region.finite[i]) claim->statement.finite[i] = true;
  }
  claim->statement.requirements = RequirementsOn(region);
  ProverOptions options = options_;
  options.work = work;
  Verdict verdict = prover::ProveClaim(*claim, options);
  if (!IsProved(verdict) && region.near_numbers && UnifyNearNumbers(&claim->statement)) {
    options.strictest = FloatContract::kReassociates;
    verdict = prover::ProveClaim(*claim, options);
  }
  auto* proved = std::get_if<Proved>(&verdict);
  if (proved != nullptr && conversions.any) {
    proved->contract = std::max(proved->contract, FloatContract::kReassociates);
  }
  if (proved != nullptr && proved->contract == FloatContract::kRealOnly &&
      Narrows(region.before, region.after)) {
    return Unknown{"equal as real numbers, but some are stored in a narrower type"};
  }
  return verdict;
}

}  // namespace lemma::referee
