// Decides by rewriting whether a pair of graphs follows from known pairs, and by which steps.
//
// A pair is two graphs that may be equal (generator/sets/operator_set.h). Each output of a pair is
// an equation between terms: both sides are equal for all values of its variables for which both
// sides are well-formed. (In a well-formed term, the operands of each operator have types that the
// operator accepts.) Equations are used from the larger side to the smaller one in the order of
// TermStore::Greater, so rewriting ends in a normal form. (This is ordered rewriting: an equation
// without a larger side is used wherever it makes the term at hand smaller.) Terms with the same
// normal form are equal if the equations are true. Terms with different normal forms may be equal
// too; for such terms, Derive also tries one use of an equation, in either direction, on each side
// before it rewrites. All intermediate terms are well-formed at the sizes that the enumerated
// graphs have; other sizes are not considered. Not thread-safe.
//
// Normal forms are in derivation.cc, steps from one side to the other in derivation_steps.cc.
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

// Selects the pairs that a derivation may use.
struct DerivationOptions {
  enum Trust {
    kProved,    // proved pairs, and pairs that follow from them
    kGuarded,   // also pairs that were proved under a guard (a precondition)
    kSuspected  // also pairs that are refuted or unknown, or have no general form
  };
  Trust trust = kProved;
  // Whether split(concat(a, b)) always becomes a, b. If false, it becomes a, b only if the given
  // term already contains split(concat(a, b)), not if rewriting brought the split and the concat
  // together. Then a pair that merges operators by a concat and a split does not count as derived:
  // a rewriter that cannot invent a concat needs this pair.
  bool elimination = true;
};

// One use of a known pair.
struct DerivationStep {
  int pair = 0;           // the pair's number (Derivation::Add)
  bool backward = false;  // the pair is used from its target to its source
};

// Turns steps from source to target into steps from target to source.
void ReverseSteps(std::vector<DerivationStep>* steps);

class Derivation {
 public:
  // `set` must outlive this object.
  explicit Derivation(OperatorSet* set) : store_(set) { Clear(); }

  // Adds the pair under the next number and returns this number. The pair's inputs are variables.
  // `trust`: a derivation may use the pair if DerivationOptions::trust is this level or a later
  // one. `steps`: the derivation of a proved pair that follows from other pairs; empty if it
  // follows from none. `types`: the types of the pair's variables, or empty. If types are given and
  // the pair has one output, the equation between the normal forms of the pair's sides is added
  // too, under the next number. This equation is left out if a side is not well-formed, if the
  // normal forms are equal or are the sides themselves, or if one of them is too large.
  int Add(const Pair& pair, DerivationOptions::Trust trust, std::vector<DerivationStep> steps = {},
          std::vector<int> types = {});
  // Records that a proved pair follows from other pairs, by these steps.
  void SetDerived(int pair, std::vector<DerivationStep> steps);
  // Orders the variants by the pairs that are not suspected (generator/derivation/precedence.h).
  // Returns whether the order changed; if so, it has called Clear().
  bool ChoosePrecedence();
  // Forgets all terms except those of the pairs. Values from earlier calls become invalid.
  void Clear();

  // The numbers of the graph's outputs as values of store(). `types`: the types of the graph's
  // inputs. An output that is not well-formed has the number TermStore::kNone, which must not be
  // passed to the functions below.
  std::vector<int> Intern(const NumberedGraph& graph, const std::vector<int>& types);
  // The result of rewriting the value by the pairs that `options` allows, until none applies.
  int NormalForm(int value, DerivationOptions options);
  // Whether source and target, the values of two graphs' outputs, have the same normal forms,
  // output by output.
  bool AreJoined(const std::vector<int>& source, const std::vector<int>& target,
                 DerivationOptions options);

  // Steps that lead from source to target, output by output, by proved pairs that follow from no
  // other pairs; options.trust must be kProved. Neither pair number `except` nor pairs that follow
  // from this pair are used (-1: all pairs may be used). nullopt if no steps were found.
  std::optional<std::vector<DerivationStep>> Derive(const std::vector<int>& source,
                                                    const std::vector<int>& target,
                                                    DerivationOptions options, int except = -1);
  // AreJoined must be true for these arguments: rewriting leads from both sides to common normal
  // forms. Returns the number of the first pair in this rewriting that is not proved; -1 if all are
  // proved.
  int FirstSuspect(const std::vector<int>& source, const std::vector<int>& target,
                   DerivationOptions options);

  // The steps by which a pair follows from other proved pairs; empty if it follows from none.
  const std::vector<DerivationStep>& StepsOf(int pair) const { return known_[pair].steps; }

  TermStore& store() { return store_; }
  int num_pairs() const { return static_cast<int>(known_.size()); }

 private:
  static constexpr int kMostVariables = 16;
  using Bindings = std::array<int, kMostVariables>;
  struct Known {
    Pair pair;
    DerivationOptions::Trust trust = DerivationOptions::kProved;
    bool eliminates = false;            // one side consists of several variables only
    std::vector<DerivationStep> steps;  // by proved pairs
    std::vector<int> types;             // of the pair's variables, if given
    int normal_of = -1;  // if >= 0: `pair` consists of the normal forms of this pair's sides
  };
  // An equation used in one direction.
  struct Direction {
    int from = 0, to = 0;  // terms
    DerivationStep step;
    bool smaller = false;                       // `to` is smaller for all values of the variables
    bool normalizes = false;                    // `to` is not greater, so a normal form may use it
    std::array<int, kMostOperands> below = {};  // variants of the operands of `from`
  };
  // A pattern to be matched with a value, and the goals after it.
  struct Goal {
    int pattern, value;
    const Goal* next;
  };
  // One normalization. With a trace, results are cached in `memo` only.
  struct Run {
    DerivationOptions options;
    int except = -1;
    // Whether the term is the given one, not the result of a step. With
    // DerivationOptions::elimination = false, only a split of a concat in the given term is
    // eliminated.
    bool is_given_term = true;
    std::vector<DerivationStep>* trace = nullptr;
    absl::flat_hash_map<int, int> memo;
  };

  int Append(const Pair& pair, DerivationOptions::Trust trust, std::vector<DerivationStep> steps);
  void AddNormalForms(int pair);
  void AddDirections(int pair);
  int PatternOf(const NumberedGraph& graph, int value);
  bool IsUsable(int pair, const Run& run, bool elimination) const;
  bool MayMatch(const Direction& direction, const TermStore::Node& node) const;
  template <class Done>
  bool Match(const Goal* goal, const Done& done);
  int Replacement(int pattern);
  bool SameDims(int a, int b);
  int Normalize(int value, Run* run);
  int Remember(int value, int form, Run* run);
  int RewriteRoot(int value, bool elimination, Run* run);
  int Trace(int value, DerivationOptions options, int except, bool is_given_term,
            std::vector<DerivationStep>* trace);
  void ForEachNeighbor(int value, const Run& run,
                       absl::FunctionRef<void(int, DerivationStep)> visit);
  bool DeriveOne(int source, int target, DerivationOptions options, int except,
                 std::vector<DerivationStep>* steps);
  std::vector<DerivationStep> Expanded(const std::vector<DerivationStep>& steps) const;

  // A known normal form. Valid while `epoch` is the current epoch_ of its DerivationOptions.
  struct Memo {
    int epoch = 0, value = 0;
  };
  static constexpr int kNumOptions = 6;
  static int NumberOf(DerivationOptions options) {
    return 2 * options.trust + (options.elimination ? 1 : 0);
  }
  TermStore store_;
  std::vector<Known> known_;
  std::vector<Direction> directions_;
  // By the root's variant and output of `from`: numbers in directions_.
  std::vector<std::vector<int>> by_root_;
  std::array<std::vector<Memo>, kNumOptions> memo_;  // by NumberOf(options), then by value
  std::array<int, kNumOptions> epoch_ = {};
  Bindings bound_ = {};
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_DERIVATION_H_
