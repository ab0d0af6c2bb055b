// What follows from pairs that are known, by rewriting.
//
// Each output of a pair is an equation between terms: whatever its variables stand for, where both
// sides are well-formed, they are equal. Equations are used from the larger side to the smaller one
// in the order of TermStore (ordered rewriting: one that could go either way is used where the
// terms at hand get smaller), so rewriting ends; a term that is left is its normal form. Terms of
// one normal form are equal if the equations are true. Two normal forms may well be equal too: for
// these, a few steps in either direction are tried. Every term on the way is well-formed at the
// sizes of the enumeration; other sizes are not looked at.
#ifndef LEMMA_GENERATOR_DERIVATION_DERIVATION_H_
#define LEMMA_GENERATOR_DERIVATION_DERIVATION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "generator/derivation/term_store.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

// What may be used. Trust: proved pairs and what follows from them; also pairs that hold under a
// guard; also pairs that are refuted or unknown.
// Without elimination, a split that undoes a concat is not dropped where rewriting brought the two
// together: what is left are pairs that a rewriter finds that cannot make a concat out of nothing.
struct Means {
  enum Trust { kProved, kGuarded, kSuspected };
  Trust trust = kProved;
  bool elimination = true;
};

// A use of a known pair; backward: from its target to its source.
struct DerivationStep {
  int pair = 0;
  bool backward = false;
};

// From the end to the beginning.
void ReverseSteps(std::vector<DerivationStep>* steps);

class Derivation {
 public:
  explicit Derivation(OperatorSet* set) : store_(set) { Clear(); }

  // Numbers the pair; its inputs are variables. `steps`: of a proved one that follows from others.
  // With the variables' types, what the pair says of normal forms is known too: where rewriting
  // takes apart what one of its sides is made of, that side is never met again.
  int Add(const Pair& pair, Means::Trust trust, std::vector<DerivationStep> steps = {},
          std::vector<int> types = {});
  // A proved pair that turned out to follow.
  void SetDerived(int pair, std::vector<DerivationStep> steps);
  // Orders the instances by what the pairs that are not suspected say
  // (generator/derivation/precedence.h). Whether anything changed.
  bool ChoosePrecedence();
  // Forgets all terms but those of the pairs.
  void Clear();

  // The outputs of a graph; `types` of its inputs.
  std::vector<int> Intern(const TermGraph& graph, const std::vector<int>& types);
  int NormalForm(int value, Means means);
  bool AreJoined(const std::vector<int>& source, const std::vector<int>& target, Means means);

  // Steps by proved pairs that follow from no others, which lead from source to target, output by
  // output; without pair `except`. nullopt if none were found.
  std::optional<std::vector<DerivationStep>> Derive(const std::vector<int>& source,
                                                    const std::vector<int>& target, Means means,
                                                    int except = -1);
  // The first pair that is not proved on the way from one to the other, which are joined.
  int FirstSuspect(const std::vector<int>& source, const std::vector<int>& target, Means means);

  // Of a derived pair, by proved ones.
  const std::vector<DerivationStep>& StepsOf(int pair) const { return known_[pair].steps; }

  TermStore& store() { return store_; }
  int num_pairs() const { return static_cast<int>(known_.size()); }

 private:
  static constexpr int kMostVariables = 16;
  using Bindings = std::array<int, kMostVariables>;
  struct Known {
    Pair pair;
    Means::Trust trust = Means::kProved;
    bool eliminates = false;            // one side is variables alone, several
    std::vector<DerivationStep> steps;  // of proved pairs
    std::vector<int> types;             // of its variables, if given
    int normal_of = -1;                 // the pair whose sides' normal forms these are
  };
  // An equation used in one direction.
  struct Direction {
    int from = 0, to = 0;  // terms
    DerivationStep step;
    bool smaller = false;  // `to` is smaller, whatever the variables stand for
    bool normalizes = false;
    std::array<int, kMostOperands> below = {};  // instances of the operands of `from`
  };
  struct Goal {
    int pattern, value;
    const Goal* next;
  };
  // One normalization. With a trace, nothing is remembered.
  struct Run {
    Means means;
    int except = -1;
    bool as_given = true;  // rather than made by a step: eliminations there were there before
    std::vector<DerivationStep>* trace = nullptr;
    absl::flat_hash_map<int, int> memo;
  };

  int Append(const Pair& pair, Means::Trust trust, std::vector<DerivationStep> steps);
  void AddNormalForms(int pair);
  void AddDirections(int pair);
  int PatternOf(const TermGraph& graph, int value);
  bool IsUsable(int pair, const Run& run, bool elimination) const;
  bool MayMatch(const Direction& direction, const TermStore::Node& node) const;
  template <class Done>
  bool Match(const Goal* goal, const Done& done);
  int Replacement(int pattern);
  bool SameDims(int a, int b);
  int Normalize(int value, Run* run);
  int Remember(int value, int form, Run* run);
  int RewriteRoot(int value, bool elimination, Run* run);
  int Trace(int value, Means means, int except, bool as_given, std::vector<DerivationStep>* trace);
  void ForEachNeighbour(int value, const Run& run,
                        absl::FunctionRef<void(int, DerivationStep)> visit);
  bool DeriveOne(int source, int target, Means means, int except,
                 std::vector<DerivationStep>* steps);
  std::vector<DerivationStep> Expanded(const std::vector<DerivationStep>& steps) const;

  struct Memo {
    int epoch = 0, value = 0;
  };
  static constexpr int kNumMeans = 6;
  static int NumberOf(Means means) { return 2 * means.trust + (means.elimination ? 1 : 0); }
  TermStore store_;
  std::vector<Known> known_;
  std::vector<Direction> directions_;
  std::vector<std::vector<int>> by_root_;  // by instance and output
  std::array<std::vector<Memo>, kNumMeans> memo_;
  std::array<int, kNumMeans> epoch_ = {};
  Bindings bound_ = {};
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_DERIVATION_H_
