// From an operator set to rules: enumerate, compare, lift, have proved, drop what follows.
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

// What became of a candidate.
struct Decision {
  enum class Answer { kProved, kGuarded, kRefuted, kUnknown };
  Answer answer = Answer::kUnknown;
  Substitution rule;   // with guard, contract and record, if it is proved
  std::string reason;  // a counterexample, or why nothing is known
};
// Decides the rules, in their order. Cancelled if interrupted.
using Prover =
    std::function<absl::StatusOr<std::vector<Decision>>(const std::vector<Substitution>&)>;

struct GenerateOptions {
  uint64_t seed = 1;
  int threads = 1;  // for comparing; the result does not depend on it
  const std::atomic<bool>* interrupted = nullptr;
  // What goes on, for people: "comparing graphs", how much is done and of how much.
  std::function<void(const std::string&, int64_t, int64_t)> progress;
};

struct GeneratedRule {
  Pair pair;
  Substitution rule;
  bool guarded = false;
  // Names of kept rules that give this one, in the order of their use, so that it is not needed;
  // empty: it is.
  std::vector<std::string> follows_from;
};
struct Rejected {
  std::string text;  // the pair
  const char* word = "refuted";
  std::string reason;
};

// Graphs whose keys are equal, smallest first; outputs correspond.
struct ValueClass {
  std::vector<CompactGraph> members;
};
// What an enumeration leaves for the rest.
struct Enumerated {
  int max_ops = 0;
  std::vector<ValueClass> classes;
  EnumeratorStats stats;
};

struct GenerateStats {
  int64_t pairs = 0;       // of graphs of a class with different normal forms; by parts
  int64_t candidates = 0;  // of them that differ in more than names
  int64_t unequal = 0;     // of them that were not equal on further inputs
  int64_t derived = 0;     // of them that followed from rules proved before, not proved
  int64_t waiting = 0;     // of them that follow from one that is not proved, not tried
  int64_t unliftable = 0, proved = 0, guarded = 0, refuted = 0, unknown = 0;
  int64_t pruned = 0;  // proved, but following from the others
};

struct Generated {
  std::vector<GeneratedRule> rules;  // smaller ones first, named gen_1, gen_2, …
  std::vector<Rejected> rejected;
  GenerateStats stats;
};

// `progress` as in GenerateOptions. Deterministic in the set and the options.
absl::StatusOr<Enumerated> Enumerate(
    OperatorSet* set, const EnumeratorOptions& options,
    const std::function<void(const std::string&, int64_t, int64_t)>& progress = {});

// Deterministic in the set, what was enumerated and the seed, if the prover is.
absl::StatusOr<Generated> Generate(OperatorSet* set, const Enumerated& enumerated,
                                   const GenerateOptions& options, const Prover& prove);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_GENERATE_H_
