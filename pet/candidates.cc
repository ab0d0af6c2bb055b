#include "pet/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/status_macros.h"
#include "pet/corrector.h"

namespace lemma {
namespace {

// A mutant with what it may cost before it is corrected.
struct Priced {
  Mutant mutant;
  int64_t estimate = 0;
};

absl::StatusOr<std::vector<Priced>> PricedMutants(const Graph& original,
                                                  const CandidateOptions& options) {
  std::vector<Priced> priced;
  absl::Status status;
  LEMMA_RETURN_IF_ERROR(ForEachMutant(original, options.mutants, [&](Mutant mutant) {
    auto estimate = options.estimate(mutant.graph);
    status = estimate.status();
    if (status.ok()) priced.push_back({std::move(mutant), *estimate});
    return status.ok();
  }));
  LEMMA_RETURN_IF_ERROR(status);
  std::stable_sort(priced.begin(), priced.end(),
                   [](const Priced& a, const Priced& b) { return a.estimate < b.estimate; });
  return priced;
}

// The mutant made equal, and proved to be, though not tested yet; nullopt if it differs too widely
// or is too large.
absl::StatusOr<std::optional<Candidate>> Corrected(const Graph& original, Mutant mutant,
                                                   const CandidateOptions& options) {
  RegionOptions untested = options.regions;
  untested.field_test = false;
  auto region = FindRegion(original, mutant.graph, untested);
  if (absl::IsResourceExhausted(region.status())) return std::nullopt;
  if (!region.ok()) return region.status();
  const auto positions = static_cast<double>(NumElements(region->shape));
  if (static_cast<double>(region->positions) > options.max_differs * positions) return std::nullopt;
  Candidate candidate{std::move(mutant), *std::move(region), {}, "none needed", 0};
  candidate.corrected = candidate.mutant.graph;
  if (candidate.region.empty()) return candidate;
  const std::vector<Box>& boxes = candidate.region.differs;
  auto value = Overwritten(original.outputs()[0], candidate.mutant.graph.outputs()[0], boxes);
  if (!value.ok()) return value.status();
  candidate.corrected = original.WithOutputs({*value});
  candidate.corrector =
      absl::StrCat("overwrite ", boxes.size(), boxes.size() == 1 ? " box" : " boxes");
  auto rest = FindRegion(original, candidate.corrected, untested);
  if (absl::IsResourceExhausted(rest.status())) return std::nullopt;
  if (!rest.ok()) return rest.status();
  if (!rest->empty()) return std::nullopt;
  return candidate;
}

// Both proofs again, with the field test.
absl::Status Test(const Graph& original, const RegionOptions& options, Candidate* candidate) {
  LEMMA_ASSIGN_OR_RETURN(candidate->region, FindRegion(original, candidate->mutant.graph, options));
  LEMMA_ASSIGN_OR_RETURN(const Region rest, FindRegion(original, candidate->corrected, options));
  return rest.empty() ? absl::OkStatus()
                      : absl::InternalError("a corrected mutant differs from its original");
}

}  // namespace

absl::StatusOr<Candidates> FindCandidates(const Graph& original, const CandidateOptions& options) {
  Candidates result;
  LEMMA_ASSIGN_OR_RETURN(result.original_cost, options.cost(original));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Priced> priced, PricedMutants(original, options));
  result.mutants = static_cast<int64_t>(priced.size());
  for (Priced& p : priced) {
    if (result.looked_at == options.look_at) break;
    ++result.looked_at;
    LEMMA_ASSIGN_OR_RETURN(std::optional<Candidate> candidate,
                           Corrected(original, std::move(p.mutant), options));
    if (!candidate) continue;
    LEMMA_ASSIGN_OR_RETURN(candidate->cost, options.cost(candidate->corrected));
    result.found.push_back(*std::move(candidate));
  }
  std::stable_sort(result.found.begin(), result.found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  if (static_cast<int>(result.found.size()) > options.keep) {
    result.found.erase(result.found.begin() + options.keep, result.found.end());
  }
  for (Candidate& candidate : result.found) {
    LEMMA_RETURN_IF_ERROR(Test(original, options.regions, &candidate));
  }
  return result;
}

}  // namespace lemma
