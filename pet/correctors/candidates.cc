#include "pet/correctors/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "pet/correctors/corrector.h"

namespace lemma::pet {
namespace {

// A mutant with an estimate of its cost before correction.
struct Priced {
  Mutant mutant;
  int64_t estimate = 0;
};

// The sum of a mutant that leaves a part out and that part.
absl::StatusOr<Graph> WithRest(const Graph& original, const Mutant& mutant) {
  LEMMA_ASSIGN_OR_RETURN(Value sum, Apply1("add", {mutant.graph.outputs()[0], mutant.rest}));
  return original.WithOutputs({std::move(sum)});
}

absl::StatusOr<int64_t> EstimateOf(const Graph& original, const Mutant& mutant,
                                   const CandidateOptions& options) {
  if (!mutant.rest) return options.estimate(mutant.graph);
  LEMMA_ASSIGN_OR_RETURN(const Graph whole, WithRest(original, mutant));
  return options.estimate(whole);
}

absl::StatusOr<std::vector<Priced>> PricedMutants(const Graph& original,
                                                  const CandidateOptions& options) {
  std::vector<Priced> priced;
  absl::Status status;
  LEMMA_RETURN_IF_ERROR(ForEachMutant(original, options.mutants, [&](Mutant mutant) {
    auto estimate = EstimateOf(original, mutant, options);
    status = estimate.status();
    if (status.ok()) priced.push_back({std::move(mutant), *estimate});
    return status.ok();
  }));
  LEMMA_RETURN_IF_ERROR(status);
  std::stable_sort(priced.begin(), priced.end(),
                   [](const Priced& a, const Priced& b) { return a.estimate < b.estimate; });
  return priced;
}

// Adds the part left out, or overwrites the boxes; `corrected` stays empty if these are too many.
absl::Status Correct(const Graph& original, const CandidateOptions& options, Candidate* candidate) {
  const Region& region = candidate->region;
  if (candidate->mutant.rest) {
    LEMMA_ASSIGN_OR_RETURN(candidate->corrected, WithRest(original, candidate->mutant));
    candidate->corrector = "add what was left out";
    return absl::OkStatus();
  }
  candidate->corrected = Graph();
  const auto most = options.max_differs * static_cast<double>(NumElements(region.shape));
  if (static_cast<double>(region.positions) > most) return absl::OkStatus();
  LEMMA_ASSIGN_OR_RETURN(
      Value value,
      Overwritten(original.outputs()[0], candidate->mutant.graph.outputs()[0], region.differs));
  candidate->corrected = original.WithOutputs({std::move(value)});
  const size_t boxes = region.differs.size();
  candidate->corrector = absl::StrCat("overwrite ", boxes, boxes == 1 ? " box" : " boxes");
  return absl::OkStatus();
}

// Corrects the mutant and proves the result equal, without the randomized check. nullopt if the
// mutant differs too widely or is too large.
absl::StatusOr<std::optional<Candidate>> Corrected(const Graph& original, Mutant mutant,
                                                   const CandidateOptions& options) {
  RegionOptions untested = options.regions;
  untested.compare_in_field = false;
  auto region = FindRegion(original, mutant.graph, untested);
  if (absl::IsResourceExhausted(region.status())) return std::nullopt;
  if (!region.ok()) return region.status();
  Candidate candidate{std::move(mutant), *std::move(region), {}, "none needed", 0};
  candidate.corrected = candidate.mutant.graph;
  if (candidate.region.empty()) return candidate;
  LEMMA_RETURN_IF_ERROR(Correct(original, options, &candidate));
  if (candidate.corrected.outputs().empty()) return std::nullopt;
  auto rest = FindRegion(original, candidate.corrected, untested);
  if (absl::IsResourceExhausted(rest.status())) return std::nullopt;
  if (!rest.ok()) return rest.status();
  if (!rest->empty()) return std::nullopt;
  return candidate;
}

// Repeats both proofs, now with the randomized check.
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
    if (result.looked_at == options.look_at || options.deadline.Passed()) break;
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
  std::vector<Candidate> tested;
  for (Candidate& candidate : result.found) {
    const absl::Status status = Test(original, options.regions, &candidate);
    if (absl::IsResourceExhausted(status)) continue;
    LEMMA_RETURN_IF_ERROR(status);
    tested.push_back(std::move(candidate));
  }
  result.found = std::move(tested);
  return result;
}

}  // namespace lemma::pet
