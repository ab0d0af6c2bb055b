#include "api/optimization/mutants.h"

#include <algorithm>
#include <utility>

#include "api/models/random_values.h"
#include "pet/rule.h"
#include "verifier/certificate/mutant.h"

namespace lemma::api {
namespace {

absl::StatusOr<CertificateMutant> ForCertificate(const pet::PetRule& rule) {
  auto mutant = pet::GroundRule(rule.rule.name, rule.original, rule.candidate.mutant.graph);
  if (!mutant.ok()) return mutant.status();
  CertificateMutant entry{*std::move(mutant), {}};
  for (const pet::Box& box : rule.candidate.region.differs) {
    CertificateMutant::Box& ranges = entry.differs.emplace_back();
    for (const pet::Range& r : box) ranges.push_back({r.start, r.count, r.step});
  }
  return entry;
}

}  // namespace

pet::PetOptions PetOptionsOf(optimizer::CostModel* costs, const Deadline& deadline) {
  pet::PetOptions options;
  options.candidates.cost = Nanoseconds(costs, false);
  options.candidates.estimate = Nanoseconds(costs, true);
  options.candidates.look_at = 12;  // each is measured
  options.candidates.deadline = deadline;
  return options;
}

absl::StatusOr<int> AddMutants(const Graph& graph, pet::PetFinder* finder, SearchRun* run) {
  run->Begin(SearchRun::Stage::kMutants);
  auto rules = finder->RulesFor(graph);
  if (!rules.ok()) return rules.status();
  int added = 0;
  for (const pet::PetRule& rule : *rules) {
    const bool known = std::any_of(
        run->mutants.begin(), run->mutants.end(),
        [&](const CertificateMutant& mutant) { return mutant.rule.name == rule.rule.name; });
    if (known) continue;
    auto mutant = ForCertificate(rule);
    if (!mutant.ok()) return mutant.status();
    Substitution corrected = rule.rule;
    auto contract = certificate::ContractOfSums(corrected, DrawSeed());
    if (!contract.ok()) continue;  // lemma check would not follow
    corrected.contract = corrected.proof.contract = *contract;
    run->mutants.push_back(*std::move(mutant));
    run->file.rules.push_back(std::move(corrected));
    ++added;
  }
  return added;
}

absl::Status TakeMutants(const Certificate& certificate, SearchRun* run) {
  for (const CertificateMutant& mutant : certificate.mutants) {
    for (const Substitution& rule : certificate.rules) {
      if (rule.name != mutant.rule.name) continue;
      auto checked = certificate::CheckMutant(rule, mutant, DrawSeed(), run->execution.threads);
      if (!checked.ok()) return checked.status();
      run->file.rules.push_back(rule);
      run->mutants.push_back(mutant);
    }
  }
  return absl::OkStatus();
}

std::vector<CertificateMutant> MutantsOf(const std::vector<Substitution>& used,
                                         const std::vector<CertificateMutant>& known) {
  std::vector<CertificateMutant> mutants;
  for (const Substitution& rule : used) {
    for (const CertificateMutant& mutant : known) {
      if (mutant.rule.name == rule.name) mutants.push_back(mutant);
    }
  }
  return mutants;
}

}  // namespace lemma::api
