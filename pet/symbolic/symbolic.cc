#include "pet/symbolic/symbolic.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "pet/mutants/layout_move.h"
#include "pet/regions/region.h"
#include "pet/rule.h"
#include "pet/symbolic/open_sizes.h"
#include "pet/symbolic/product_count.h"
#include "pet/symbolic/size_formula.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::pet {
namespace {

// Visits all numbers in a rule without symbols, in a fixed order.
template <class Visit>
Term WithIntegers(const Term& term, const Visit& visit) {
  if (term.kind() == Term::Kind::kInt) return visit(term.integer());
  if (term.kind() != Term::Kind::kList) return term;
  std::vector<Term> items;
  for (const Term& item : term.args()) items.push_back(WithIntegers(item, visit));
  return Term::List(std::move(items), std::vector<bool>(term.args().size(), false));
}

template <class Visit>
void ReplaceIntegers(Substitution* rule, const Visit& visit) {
  for (PatternVar& var : rule->vars) var.dims = WithIntegers(var.dims, visit);
  for (Pattern* side : {&rule->source, &rule->target}) {
    for (PatternNode& node : side->nodes) {
      if (node.op == nullptr) node.dims = WithIntegers(node.dims, visit);
      for (auto& [name, term] : node.attrs) term = WithIntegers(term, visit);
    }
  }
}

// The text of a rule without its numbers.
std::string FormOf(Substitution rule) {
  ReplaceIntegers(&rule, [](int64_t) { return Term(0); });
  return PrintRule(rule);
}

// Boxes that cover the positions outside a region.
std::vector<Box> Outside(const Region& region) {
  std::vector<Box> outside;
  ForEachPosition(WholeBox(region.shape), [&](const std::vector<int64_t>& index) {
    if (region.Contains(index)) return;
    Box box;
    for (int64_t i : index) box.push_back({i, 1, 1});
    outside.push_back(std::move(box));
  });
  return MergeBoxes(std::move(outside));
}

// The rules and numbers at one assignment of sizes.
struct Instance {
  std::vector<Substitution> rules;  // one for each box on which the graphs agree
  std::vector<std::string> forms;
  std::vector<int64_t> numbers;  // of all rules, then of the boxes that agree, then of the others
  std::vector<Box> agrees, differs;
  std::vector<Count> counts;
};

class Lifting {
 public:
  // `counts`: make rules about counts where the graphs differ; otherwise rules that they agree.
  Lifting(const OpenSizes& open, const Recipe& recipe, bool counts)
      : open_(open), recipe_(recipe), counts_(counts) {}

  // The rules are returned by ways().
  absl::StatusOr<SymbolicRegion> Run() {
    Sizes base;
    for (size_t s = 0; s < open_.count(); ++s) {
      base.push_back(std::min(open_.value(s), 3 + static_cast<int64_t>(s % 3)));
    }
    LEMMA_ASSIGN_OR_RETURN(instance_, At(base));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<SizeFormula> formulas, Fit(base));
    return Symbolic(base, formulas);
  }

  // The variants of each rule: as fitted, and with each size expressed as a smaller symbol plus 1.
  // In the latter the last row of a block is visibly inside the block.
  const std::vector<std::vector<Substitution>>& ways() const { return ways_; }

 private:
  absl::StatusOr<Instance> At(const Sizes& sizes) const {
    LEMMA_ASSIGN_OR_RETURN(const Graph original, open_.At(sizes));
    LEMMA_ASSIGN_OR_RETURN(const Graph mutant, ApplyRecipe(original, recipe_));
    LEMMA_ASSIGN_OR_RETURN(const Region region, FindRegion(original, mutant));
    Instance instance;
    if (counts_) {
      LEMMA_ASSIGN_OR_RETURN(instance.counts, CountsOf(original, mutant, region));
      LEMMA_RETURN_IF_ERROR(AddCountRules(original, mutant, &instance));
      return instance;
    }
    instance.agrees = Outside(region);
    instance.differs = region.differs;
    for (const Box& box : instance.agrees) {
      LEMMA_ASSIGN_OR_RETURN(const Graph source, OnBox(original, box));
      LEMMA_ASSIGN_OR_RETURN(const Graph target, OnBox(mutant, box));
      LEMMA_RETURN_IF_ERROR(AddRule(source, target, &instance));
    }
    for (const std::vector<Box>* boxes : {&instance.agrees, &instance.differs}) {
      for (const Box& box : *boxes) AddBox(box, &instance);
    }
    return instance;
  }

  static void AddBox(const Box& box, Instance* instance) {
    for (const Range& r : box) {
      instance->numbers.insert(instance->numbers.end(), {r.start, r.last() + 1, r.step});
    }
  }

  static absl::Status AddRule(const Graph& source, const Graph& target, Instance* instance) {
    LEMMA_ASSIGN_OR_RETURN(Substitution rule,
                           GroundRule(absl::StrCat("box", instance->rules.size()), source, target));
    ReplaceIntegers(&rule, [&](int64_t number) {
      instance->numbers.push_back(number);
      return Term(number);
    });
    instance->forms.push_back(FormOf(rule));
    instance->rules.push_back(std::move(rule));
    return absl::OkStatus();
  }

  static absl::Status AddCountRules(const Graph& original, const Graph& mutant,
                                    Instance* instance) {
    for (const Count& count : instance->counts) {
      for (bool of_mutant : {false, true}) {
        LEMMA_ASSIGN_OR_RETURN(const Graph ones, OverOnes(of_mutant ? mutant : original));
        LEMMA_ASSIGN_OR_RETURN(const Graph source, OnBox(ones, count.box));
        LEMMA_ASSIGN_OR_RETURN(
            const Graph target,
            Counted(original, count.box, of_mutant ? count.mutant : count.original));
        LEMMA_RETURN_IF_ERROR(AddRule(source, target, instance));
      }
    }
    for (const Count& count : instance->counts) {
      AddBox(count.box, instance);
      instance->numbers.insert(instance->numbers.end(), {count.original, count.mutant});
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Graph> OnBox(const Graph& graph, const Box& box) {
    const Value& output = graph.outputs()[0];
    if (box == WholeBox(output.shape())) return GraphOf(graph, output);
    Shape starts, sizes, steps;
    for (const Range& r : box) {
      starts.push_back(r.start);
      sizes.push_back(r.count);
      steps.push_back(r.count == 1 ? 1 : r.step);
    }
    LEMMA_ASSIGN_OR_RETURN(const Value slice, SliceOf(output, starts, sizes, steps));
    return GraphOf(graph, slice);
  }

  // The numbers at other sizes; an error if anything else changes.
  absl::StatusOr<std::vector<int64_t>> NumbersAt(const Sizes& sizes) {
    auto [it, is_new] = numbers_.try_emplace(sizes);
    if (!is_new) return it->second;
    LEMMA_ASSIGN_OR_RETURN(const Instance other, At(sizes));
    if (other.forms != instance_.forms || other.numbers.size() != instance_.numbers.size()) {
      return absl::InvalidArgumentError(
          "the mutant, or where it differs, has another form at other "
          "sizes");
    }
    return numbers_[sizes] = other.numbers;
  }

  // Fits each number by a polynomial that is linear in each size.
  absl::StatusOr<std::vector<SizeFormula>> Fit(const Sizes& base) {
    numbers_[base] = instance_.numbers;
    const size_t n = instance_.numbers.size();
    std::vector<std::vector<size_t>> depends(n);
    for (size_t s = 0; s < base.size(); ++s) {
      Sizes other = base;
      ++other[s];
      LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, NumbersAt(other));
      for (size_t i = 0; i < n; ++i) {
        if (numbers[i] != instance_.numbers[i]) depends[i].push_back(s);
      }
    }
    std::vector<SizeFormula> formulas(n);
    for (size_t i = 0; i < n; ++i) {
      LEMMA_ASSIGN_OR_RETURN(formulas[i], FitOne(base, i, depends[i]));
    }
    // Rejects fits that other sizes contradict.
    Sizes larger = base;
    for (size_t s = 0; s < base.size(); ++s) larger[s] += 2 + static_cast<int64_t>(s % 2);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, NumbersAt(larger));
    for (size_t i = 0; i < n; ++i) {
      if (ValueOf(formulas[i], larger) != numbers[i]) {
        return absl::InvalidArgumentError("a number is no sum of products of sizes");
      }
    }
    return formulas;
  }

  absl::StatusOr<SizeFormula> FitOne(const Sizes& base, size_t i,
                                     const std::vector<size_t>& symbols) {
    if (symbols.size() > 4) return absl::InvalidArgumentError("a number depends on many sizes");
    std::vector<int64_t> values(1u << symbols.size());
    for (size_t set = 0; set < values.size(); ++set) {
      Sizes at = base;
      for (size_t b = 0; b < symbols.size(); ++b) at[symbols[b]] += (set >> b) & 1;
      LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, NumbersAt(at));
      values[set] = numbers[i];
    }
    return Interpolated(std::move(values), base, symbols);
  }

  // All sizes unchanged, then each size lessened by 1.
  std::vector<Sizes> Lessened() const {
    std::vector<Sizes> all = {Sizes(open_.count(), 0)};
    for (size_t s = 0; s < open_.count(); ++s) {
      all.push_back(all[0]);
      all.back()[s] = 1;
    }
    return all;
  }

  // Replaces the rule's numbers by formulas, from *next on, in symbols for the sizes minus `less`.
  static absl::StatusOr<Substitution> Generalized(Substitution rule, const Sizes& base,
                                                  const Sizes& less,
                                                  const std::vector<SizeFormula>& formulas,
                                                  size_t* next) {
    for (size_t s = 0; s < base.size(); ++s) {
      rule.symbols.push_back({SizeName(s), SymbolKind::kInt});
      rule.where.push_back(
          {Term::Symbol(SizeName(s), static_cast<int>(s)), Relation::kGe, Term(base[s] - less[s])});
    }
    ReplaceIntegers(&rule, [&](int64_t) { return TermOf(Shifted(formulas[(*next)++], less)); });
    // Parsing checks the requirements on rules.
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> read, ParseRules(PrintRule(rule)));
    return std::move(read[0]);
  }

  absl::StatusOr<SymbolicRegion> Symbolic(const Sizes& base,
                                          const std::vector<SizeFormula>& formulas) {
    SymbolicRegion result;
    size_t next = 0;
    for (const Substitution& rule : instance_.rules) {
      ways_.emplace_back();
      size_t after = next;
      for (const Sizes& less : Lessened()) {
        after = next;
        LEMMA_ASSIGN_OR_RETURN(Substitution general,
                               Generalized(rule, base, less, formulas, &after));
        ways_.back().push_back(std::move(general));
      }
      next = after;
    }
    auto boxes = [&](const std::vector<Box>& at, std::vector<std::string>* text) {
      for (const Box& box : at) {
        std::vector<std::string> ranges;
        for (size_t d = 0; d < box.size(); ++d, next += 3) {
          ranges.push_back(RangeText(&formulas[next]));
        }
        text->push_back(absl::StrCat("[", absl::StrJoin(ranges, ", "), "]"));
      }
    };
    boxes(instance_.agrees, &result.agreeing_boxes);
    boxes(instance_.differs, &result.differing_boxes);
    for (const Count& count : instance_.counts) {
      boxes({count.box}, &result.counted_boxes);
      const SizeFormula &original = formulas[next], &mutant = formulas[next + 1];
      next += 2;
      absl::StrAppend(&result.counted_boxes.back(), ": ", TermOf(original).ToString(), " and ",
                      TermOf(mutant).ToString());
      if (!NeverEqual(original, mutant, base)) {
        return absl::InvalidArgumentError("the numbers of products may be equal");
      }
    }
    return result;
  }

  const OpenSizes& open_;
  const Recipe& recipe_;
  const bool counts_;
  Instance instance_;  // at the base sizes
  std::map<Sizes, std::vector<int64_t>> numbers_;
  std::vector<std::vector<Substitution>> ways_;
};

// Chooses for each rule the first variant that is proved, or the first variant if none is.
void Prove(const std::vector<std::vector<Substitution>>& rules, const ProverOptions& options,
           std::vector<Substitution>* chosen, std::vector<Verdict>* verdicts) {
  for (const std::vector<Substitution>& ways : rules) {
    chosen->push_back(ways[0]);
    verdicts->push_back(ProveRule(ways[0], options));
    for (size_t way = 1; way < ways.size() && !IsProved(verdicts->back()); ++way) {
      Verdict verdict = ProveRule(ways[way], options);
      if (!IsProved(verdict)) continue;
      chosen->back() = ways[way];
      verdicts->back() = std::move(verdict);
    }
  }
}

}  // namespace

bool SymbolicRegion::proved() const {
  return std::all_of(verdicts.begin(), verdicts.end(), IsProved);
}

bool SymbolicRegion::differs_proved(size_t box) const {
  return IsProved(count_verdicts[2 * box]) && IsProved(count_verdicts[2 * box + 1]);
}

absl::StatusOr<SymbolicRegion> ProveForAllSizes(const Graph& original, const Recipe& recipe,
                                                const ProverOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const OpenSizes open, OpenSizes::Of(original, recipe));
  Lifting agreement(open, recipe, false);
  LEMMA_ASSIGN_OR_RETURN(SymbolicRegion region, agreement.Run());
  Prove(agreement.ways(), options, &region.rules, &region.verdicts);
  if (region.differing_boxes.empty()) return region;
  Lifting difference(open, recipe, true);
  auto counted = difference.Run();
  if (!counted.ok()) {
    region.not_counted = std::string(counted.status().message());
    return region;
  }
  region.counted_boxes = std::move(counted->counted_boxes);
  Prove(difference.ways(), options, &region.counts, &region.count_verdicts);
  return region;
}

}  // namespace lemma::pet
