#include <algorithm>
#include <utility>

#include "api/models/option_error.h"
#include "api/pet.h"
#include "pet/finder.h"

namespace lemma::api {

absl::StatusOr<std::vector<MutatedPart>> FindMutants(const Graph& graph,
                                                     const PetSearchOptions& options) {
  if (options.keep < 1 || options.look_at < 1 || options.max_ops < 1) {
    return OptionError("option keep, option look_at and option max_ops must be at least 1");
  }
  if (absl::Status s = CheckExecutionOptions(options.execution); !s.ok()) return s;
  optimizer::MeasureOptions measure;
  measure.deadline = options.deadline;
  measure.on_measure = options.on_measure;
  auto costs = MakeCosts(options.costs, options.execution, std::move(measure));
  if (!costs.ok()) return costs.status();
  pet::PetOptions pet;
  pet.candidates.cost = Nanoseconds(costs->model.get(), false);
  pet.candidates.estimate = Nanoseconds(costs->model.get(), true);
  pet.candidates.deadline = options.deadline;
  pet.candidates.keep = static_cast<int>(options.keep);
  pet.candidates.look_at = static_cast<int>(options.look_at);
  pet.subprograms.max_ops = static_cast<int>(options.max_ops);
  auto parts = pet::SubprogramsOf(graph, pet.subprograms);
  if (!parts.ok()) return parts.status();
  pet::PetFinder finder(pet);
  std::vector<MutatedPart> found;
  for (pet::Subprogram& part : *parts) {
    if (options.on_part) {
      options.on_part(static_cast<int>(found.size()) + 1, static_cast<int>(parts->size()));
    }
    auto candidates = finder.CandidatesOf(part.graph);
    if (!candidates.ok()) return candidates.status();
    found.push_back({std::move(part), *std::move(candidates)});
  }
  return found;
}

double PredictedGain(const MutatedPart& part, const pet::Candidate& candidate) {
  return static_cast<double>(part.candidates->original_cost) /
             static_cast<double>(std::max<int64_t>(candidate.cost, 1)) -
         1;
}

absl::StatusOr<pet::SymbolicRegion> ProveForAllSizes(const MutatedPart& part,
                                                     const pet::Candidate& candidate) {
  if (!candidate.mutant.recipe) {
    return absl::FailedPreconditionError("the mutant has no recipe for other sizes");
  }
  return pet::ProveForAllSizes(part.part.graph, *candidate.mutant.recipe);
}

const pet::Candidate* FirstThatDiffers(const std::vector<MutatedPart>& parts) {
  for (const MutatedPart& part : parts) {
    for (const pet::Candidate& candidate : part.candidates->found) {
      if (!candidate.region.empty()) return &candidate;
    }
  }
  return nullptr;
}

}  // namespace lemma::api
