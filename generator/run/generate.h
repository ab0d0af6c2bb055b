// Generates rules from an operator set: enumerates graphs, compares them, lifts pairs to rules,
// lets a prover decide the rules, and marks rules that can be derived from the others. The caller
// provides the prover: api/generation/generate.cc calls these functions and writes the files.
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
  // kGuarded: proved under a guard (a precondition on sizes and attributes).
  enum class Answer { kProved, kGuarded, kRefuted, kUnknown };
  Answer answer = Answer::kUnknown;
  // If the answer is kProved or kGuarded: the rule with its guard, float contract and proof record.
  Substitution rule;
  std::string reason;  // a counterexample, or why the answer is unknown
};
// Decides rules and returns the decisions, one for each rule, in the order of the rules. Cancelled
// if interrupted.
using Prover =
    std::function<absl::StatusOr<std::vector<Decision>>(const std::vector<Substitution>&)>;

struct GenerateOptions {
  uint64_t seed = 1;
  const std::atomic<bool>* interrupted = nullptr;  // true: end soon with Cancelled; may be null
  // Called from time to time, for people, with the current activity ("comparing graphs"), the
  // number of items done, and the number of all items (0: unknown). May be empty.
  std::function<void(const std::string&, int64_t, int64_t)> progress;
};

struct GeneratedRule {
  Pair pair;             // the pair that was lifted to the rule
  Substitution rule;     // proved, with its guard, float contract and proof record
  bool guarded = false;  // whether the rule has a guard
  // The names of the needed rules from which this rule follows, in the order of their use. Empty:
  // this rule is needed.
  std::vector<std::string> follows_from;
};
// A candidate that did not become a rule.
struct Rejected {
  std::string text;              // the pair, as text
  const char* word = "refuted";  // or "unknown", "not tried", "no general form"
  std::string reason;            // for people
};

// Graphs that may be equal, smallest first: a class of the enumerator, or both sides of an identity
// (generator/enumeration/enumerator.h). Output k of one member corresponds to output k of another.
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
  int64_t pairs = 0;       // pairs of graphs of one class, or of their parts, that do not follow
                           // from known pairs
  int64_t candidates = 0;  // distinct pairs, up to names, and more general pairs made from them
  int64_t unequal = 0;     // of `candidates`: unequal on further inputs
  int64_t derived = 0;     // of `candidates`: follow from proved rules; not counted in `proved`
  // Candidates that were not tried. The number of attempts is limited for candidates that need a
  // guard, and for candidates that follow from pairs that have a guard or are not proved.
  int64_t not_tried = 0;
  int64_t unliftable = 0;  // of `candidates`: cannot be lifted to a rule (OperatorSet::Lift)
  int64_t proved = 0, guarded = 0, refuted = 0, unknown = 0;  // by the prover's answer
  int64_t pruned = 0;  // of `proved`: derivable from the other rules (GeneratedRule::follows_from)
};

struct Generated {
  std::vector<GeneratedRule> rules;  // in the order in which they were proved: gen_1, gen_2, …
  std::vector<Rejected> rejected;
  GenerateStats stats;
};

// Enumerates the graphs of the set and their classes. `progress` as in GenerateOptions. The same
// set and options always give the same result. Errors as in Enumerator::Run.
absl::StatusOr<Enumerated> Enumerate(
    OperatorSet* set, const EnumeratorOptions& options,
    const std::function<void(const std::string&, int64_t, int64_t)>& progress = {});

// Makes rules from the classes of an enumeration over `set`. The same set, enumeration, seed and
// decisions of the prover always give the same result. Errors are Cancelled, or errors of the
// prover and the set.
absl::StatusOr<Generated> Generate(OperatorSet* set, const Enumerated& enumerated,
                                   const GenerateOptions& options, const Prover& prove);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_GENERATE_H_
