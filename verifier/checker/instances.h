// The instances of a rule at small sizes: values of its symbols for which the source is well-formed
// and the precondition holds.
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
  SymbolValues symbols;                    // constants, but for reals that stay parameters
  std::vector<ExprType> inputs;            // of the rule's variables
  std::vector<Definition> source, target;  // one for each node of the pattern
  bool target_exists = false;              // whether the target is well-formed too
};

// What a pattern's node means over operands of those types, of which the definitions of nodes
// before it are part; nullopt if it is not well-formed, or has no value.
std::optional<OpMeaning> MeaningAt(const PatternNode& node, const std::vector<ExprType>& inputs,
                                   const std::vector<Definition>& before,
                                   const SymbolValues& symbols);

// A symbol's value, as far as it is fixed.
struct Fixed {
  std::optional<int64_t> number;
  std::optional<std::vector<std::optional<int64_t>>> list;
};

// "n = 3, s = [1, 2]"
std::string Describe(const Substitution& rule, const Instance& instance);

class Instances {
 public:
  // `fixed`: for each symbol; empty if none is.
  Instances(const Substitution& rule, const Bounds& bounds, int64_t* work,
            std::vector<Fixed> fixed = {});

  // Calls `visit` until it returns false or the work is used up: first with all instances in the
  // order of their weight (how far values are above the least ones), and once half of the work is
  // used, with instances drawn from all those within the bounds.
  void ForEach(const std::function<bool(const Instance&)>& visit);

  // The size up to which all instances were visited: that of the bounds, or more if there was
  // little to look at; 0 if that was too much.
  int64_t complete_size() const { return complete_size_; }
  int64_t max_size() const { return bounds_.max_size; }
  int complete_weight() const { return complete_weight_; }  // -1: none
  int64_t drawn() const { return drawn_; }
  // Why there can be none.
  const std::string& problem() const { return problem_; }

 private:
  struct Step {
    enum class Kind { kSymbol, kVars, kNode } kind = Kind::kSymbol;
    int symbol = 0;                  // kSymbol
    const AttrSpec* spec = nullptr;  // the attribute whose value it is; nullptr: of part of a term
    bool is_size = false;            // it stands in a variable's dimensions
    int node = 0;                    // kNode, and where a symbol's attribute belongs
  };
  struct Choice {
    ExprAttr value;
    int weight = 0;
  };

  void AddSymbols(const Term& term, Step step);
  bool MustBeNumber(int symbol) const;
  bool IsDimension(int symbol) const;
  // False: stop altogether.
  bool Search(size_t step, int weight);
  bool Leaf();
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
