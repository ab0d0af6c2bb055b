// Generates rules from an operator set: enumerates, compares, lifts, proves, drops derivable rules.
// The caller provides the prover; api/generation/generate.cc calls all this and writes the files.
#ifndef LEMMA_GENERATOR_RUN_GENERATE_H_
#define LEMMA_GENERATOR_RUN_GENERATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/enumeration/compact_graph.h"
#include "generator/enumeration/enumerator.h"
#include "generator/sets/operator_set.h"
#include "rewrite/rules/substitution.h"

namespace lemma::generator {

// The result of deciding a candidate.
struct Decision {
  enum class Answer { kProved, kGuarded, kRefuted, kUnknown };
  Answer answer = Answer::kUnknown;
  Substitution rule;   // with guard, contract and record, if it is proved
  std::string reason;  // a counterexample, or why the answer is unknown
};
// Decides rules and returns the decisions, in the order of the rules. The caller of Generate
// provides it. Returns Cancelled if interrupted.
using Prover =
    std::function<absl::StatusOr<std::vector<Decision>>(const std::vector<Substitution>&)>;

struct GenerateOptions {
  uint64_t seed = 1;
  int threads = 1;                                 // for comparing; results do not depend on it
  const std::atomic<bool>* interrupted = nullptr;  // true: end soon with Cancelled; not owned
  // Called now and then with text for people: the current activity ("comparing graphs"), the number
  // of items done, and the total.
  std::function<void(const std::string&, int64_t, int64_t)> progress;
};

struct GeneratedRule {
  Pair pair;             // that the rule was lifted from
  Substitution rule;     // proved, with guard, contract and record
  bool guarded = false;  // it needs a guard
  // Names of kept rules from which this rule follows, in order of use; then the rule is not needed.
  // Empty: the rule is needed.
  std::vector<std::string> follows_from;
};
// A candidate that did not become a rule.
struct Rejected {
  std::string text;              // the pair
  const char* word = "refuted";  // the kind of rejection
  std::string reason;            // for people
};

// Graphs with equal keys, smallest first; outputs correspond.
struct ValueClass {
  std::vector<CompactGraph> members;
};
// The result of an enumeration.
struct Enumerated {
  int max_ops = 0;
  std::vector<ValueClass> classes;
  EnumeratorStats stats;
};

struct GenerateStats {
  int64_t pairs = 0;       // two graphs of a class, or parts of these, with different normal forms
  int64_t candidates = 0;  // of these, distinct up to names
  int64_t unequal = 0;     // of `candidates`: unequal on further inputs
  int64_t derived = 0;     // of `candidates`: follow from rules proved before; not proved again
  int64_t waiting = 0;  // of `candidates`: need a guard or follow from an unproved one; not tried
  int64_t unliftable = 0;  // of `candidates`: without a rule for open sizes (OperatorSet::Lift)
  int64_t proved = 0, guarded = 0, refuted = 0, unknown = 0;  // by the prover's answer
  int64_t pruned = 0;  // proved, but derivable from the other rules
};

struct Generated {
  std::vector<GeneratedRule> rules;  // smaller ones first, named gen_1, gen_2, …
  std::vector<Rejected> rejected;
  GenerateStats stats;
};

// `progress` as in GenerateOptions. Deterministic for the same set and options.
absl::StatusOr<Enumerated> Enumerate(
    OperatorSet* set, const EnumeratorOptions& options,
    const std::function<void(const std::string&, int64_t, int64_t)>& progress = {});

// Deterministic for the same set, enumeration and seed, if the prover is.
absl::StatusOr<Generated> Generate(OperatorSet* set, const Enumerated& enumerated,
                                   const GenerateOptions& options, const Prover& prove);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_GENERATE_H_
