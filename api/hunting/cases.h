// Makes the models that a hunt gives to an engine.
#ifndef LEMMA_API_HUNTING_CASES_H_
#define LEMMA_API_HUNTING_CASES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/hunting/subject.h"
#include "graph/examples/random_graph.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/substitution.h"

namespace lemma::hunt {

// One model, or two models that are equal by Lemma's rules and have the same inputs with the same
// values. A subject is a model with values for its inputs.
struct Case {
  std::string source;  // "random model", "rule NAME", the path of a file, …
  std::vector<Subject> subjects;
};

struct CaseOptions {
  uint64_t seed = 1;
  std::vector<Substitution> rules;  // proved rules; empty: no cases that need rules (Cases::Make)
  std::vector<std::string> models;  // paths of models, which are the first cases
};

class Cases {
 public:
  // InvalidArgument if a rule cannot be matched.
  static absl::StatusOr<std::unique_ptr<Cases>> Create(CaseOptions options);

  // Case number `index`, from 0; equal options give equal cases. For some numbers no valid model is
  // made; then Make returns NotFound, and the caller goes on with the next number. The first
  // num_files() cases are the files of the options, each with the model that Lemma's optimization
  // makes of it, if rules apply; errors of these cases begin with the path.
  //
  // After the models of files, each of these four kinds is a quarter of the cases:
  //   - random models over the whole operator table;
  //   - idioms (idioms.h), alone or inside a random model;
  //   - both sides of a rule;
  //   - a model in which rules match, and the result of Lemma's search or of a few random rewrites.
  // Without rules, the first two kinds are half of the cases each.
  absl::StatusOr<Case> Make(int64_t index) const;
  int64_t num_files() const { return static_cast<int64_t>(options_.models.size()); }

 private:
  explicit Cases(CaseOptions options) : options_(std::move(options)) {}

  absl::StatusOr<Case> OfFile(const std::string& path, uint64_t seed) const;
  Case Random(uint64_t seed) const;
  absl::StatusOr<Case> WithIdioms(uint64_t seed) const;
  absl::StatusOr<Case> OfRule(uint64_t seed) const;
  absl::StatusOr<Case> Rewritten(uint64_t seed) const;
  // Rewrites the first subject, by Lemma's search or by a few random rewrites, and appends the
  // result as the second subject. Appends nothing if no rule was applied.
  absl::Status AddOptimized(Case* made, uint64_t seed) const;

  const CaseOptions options_;
  std::unique_ptr<RuleSet> rule_set_;
};

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_CASES_H_
