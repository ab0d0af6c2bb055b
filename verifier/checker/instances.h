// Enumerates the instances of a rule at small sizes: values of its symbols for which the source is
// well-formed and the precondition holds.
#ifndef LEMMA_VERIFIER_CHECKER_INSTANCES_H_
#define LEMMA_VERIFIER_CHECKER_INSTANCES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "rewrite/rules/substitution.h"
#include "verifier/checker/checker.h"

namespace lemma::checker {

struct Instance {
  SymbolValues symbols;                    // by symbol: a constant; reals may stay parameters
  std::vector<ExprType> inputs;            // types of the rule's variables
  std::vector<Definition> source, target;  // by pattern node
  bool target_exists = false;              // whether the target is well-formed too
};

// The meaning of a pattern node. `inputs`: types of the rule's variables. `before`: definitions of
// the pattern's earlier nodes. nullopt if the node is not well-formed or a term has no value.
std::optional<OpMeaning> MeaningAt(const PatternNode& node, const std::vector<ExprType>& inputs,
                                   const std::vector<Definition>& before,
                                   const SymbolValues& symbols);

// The part of a symbol's value that is fixed: the number, or the length and some elements of the
// list (nullopt for the other elements). nullopt in both fields: nothing is fixed.
struct Fixed {
  std::optional<int64_t> number;
  std::optional<std::vector<std::optional<int64_t>>> list;
};

// The values of symbols as text: "n = 3, s = [1, 2]". Leaves out reals that stay parameters.
std::string Describe(const Substitution& rule, const Instance& instance);

class Instances {
 public:
  // `fixed`: by symbol of the rule; empty: nothing is fixed. ForEach adds the work done to *work.
  // `rule` and `work` must outlive the object.
  Instances(const Substitution& rule, const Bounds& bounds, int64_t* work,
            std::vector<Fixed> fixed = {});

  // Calls `visit` for each instance, until `visit` returns false or
  // Bounds::work is used up. Visits the instances within the bounds in the
  // order of their weights, then instances of larger sizes if that is little
  // work. The weight says how far an instance's values are from usual ones,
  // such as 1 or an attribute's default. If half of Bounds::work is used up
  // before all these instances are visited, the other half goes to random
  // instances of sizes up to max_size(). Visits no instance twice. Must not be
  // called twice.
  void ForEach(const std::function<bool(const Instance&)>& visit);

  // The size up to which all instances were visited: Bounds::max_size, or more if that took little
  // work; 0 if the work did not suffice for Bounds::max_size.
  int64_t complete_size() const { return complete_size_; }
  // The largest size tried.
  int64_t max_size() const { return bounds_.max_size; }
  // The weight (see ForEach) up to which all instances were visited; -1: none. Valid only
  // if complete_size() is 0.
  int complete_weight() const { return complete_weight_; }
  // The number of visited instances that were drawn at random.
  int64_t drawn() const { return drawn_; }
  // A message that names a symbol for which no values are known, so that no instance can be made;
  // "" if there is no such symbol.
  const std::string& problem() const { return problem_; }

 private:
  // A step of the search: gives a symbol its value, computes the types of the rule's variables, or
  // defines a node of the source.
  struct Step {
    enum class Kind { kSymbol, kVars, kNode } kind = Kind::kSymbol;
    int symbol = 0;                  // kSymbol
    const AttrSpec* spec = nullptr;  // the attribute that has this symbol as its value; nullptr:
                                     // the symbol is part of a term
    bool is_size = false;            // the symbol occurs in dimensions of a variable or constant
    int node = 0;                    // kNode: the node; kSymbol: the node of `spec`
  };
  struct Choice {
    ExprAttr value;
    int weight = 0;
  };

  void AddSymbols(const Term& term, Step step);
  bool MustBeNumber(int symbol) const;
  bool IsDimension(int symbol) const;
  // Returns false to stop the search.
  bool Search(size_t step, int weight);
  bool VisitInstance();
  std::vector<Choice> Choices(const Step& step, int weight);
  std::vector<std::pair<int64_t, int>> Numbers(const Step& step, bool in_list) const;
  void Lists(const Step& step, int weight, std::vector<Choice>* out);
  std::optional<ExprAttr> Forced(int symbol) const;
  bool MayHold() const;
  bool Types();
  std::optional<Definition> NodeAt(const PatternNode& node, const std::vector<Definition>& before);

  const Substitution& rule_;
  Bounds bounds_;
  int64_t& work_;
  const std::vector<Fixed> fixed_;
  int64_t limit_ = 0;
  std::vector<Step> steps_;
  std::set<int> planned_;
  Instance now_;
  const std::function<bool(const Instance&)>* visit_ = nullptr;
  std::mt19937_64 random_{1};
  bool drawing_ = false, cut_ = false, found_ = false, stopped_ = false;
  std::set<std::string> seen_;
  int64_t complete_size_ = 0;
  int complete_weight_ = -1;
  int64_t drawn_ = 0;
  std::string problem_;
};

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_INSTANCES_H_
