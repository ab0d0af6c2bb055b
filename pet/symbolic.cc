#include "pet/symbolic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/builder.h"
#include "graph/ops/status_macros.h"
#include "pet/layout_move.h"
#include "pet/product_count.h"
#include "pet/region.h"
#include "pet/rule.h"
#include "rewrite/rule_text.h"

namespace lemma {
namespace {

using Sizes = std::vector<int64_t>;  // by symbol

// A dimension of a leaf.
struct LeafDim {
  size_t leaf = 0, dim = 0;
};

// A size that may be any: the dimensions that are `factor` times it.
struct OpenSize {
  std::vector<LeafDim> dims;
  int64_t factor = 1;
  int64_t value = 1;  // the size at hand
};

// All numbers of a rule without symbols, in one order.
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

// What a rule is besides its numbers.
std::string FormOf(Substitution rule) {
  ReplaceIntegers(&rule, [](int64_t) { return Term(0); });
  return PrintRule(rule);
}

// The boxes of the positions outside `boxes`.
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

// What there is at one assignment of sizes.
struct Instance {
  std::vector<Substitution> rules;  // one for each box on which the graphs agree
  std::vector<std::string> forms;
  std::vector<int64_t> numbers;  // of all rules, then of the boxes that agree, then of the others
  std::vector<Box> agrees, differs;
  std::vector<Count> counts;
};

// A number as a sum of products of sizes: coefficient by set of symbols.
using Formula = std::map<std::vector<size_t>, int64_t>;

class Lifting {
 public:
  // `counts`: of where the graphs differ, else of where they agree.
  Lifting(const Graph& original, const Recipe& recipe, bool counts)
      : original_(original), recipe_(recipe), counts_(counts) {
    for (const NodePtr& node : original.nodes()) {
      if (!node->is_op() && node->kind() != Node::Kind::kConstant) leaves_.emplace_back(node, 0);
    }
  }

  // The rules are in ways().
  absl::StatusOr<SymbolicRegion> Run() {
    LEMMA_RETURN_IF_ERROR(FindOpenSizes());
    Sizes base;
    for (const OpenSize& open : open_) {
      base.push_back(std::min(open.value, 3 + static_cast<int64_t>(base.size() % 3)));
    }
    LEMMA_ASSIGN_OR_RETURN(instance_, At(base));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Formula> formulas, Fit(base));
    return Symbolic(base, formulas);
  }

  // Each rule as it is, then in terms of each size less 1: so the last row of a block is a
  // row of the block, whatever its size, which is easier to see.
  const std::vector<std::vector<Substitution>>& ways() const { return ways_; }

 private:
  // The original with other sizes.
  absl::StatusOr<Graph> Resized(const std::vector<Shape>& shapes) const {
    LeafMap leaves;
    for (const NodePtr& node : original_.nodes()) {
      if (!node->is_op()) leaves[Value(node, 0)] = Value(node, 0);
    }
    GraphBuilder builder(original_.name());
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const Node& node = leaves_[i].node();
      const TensorType type = {leaves_[i].dtype(), shapes[i]};
      leaves[leaves_[i]] = node.kind() == Node::Kind::kInput
                               ? builder.Input(original_.input_names()[node.input_index()], type)
                               : builder.Weight(node.name(), type);
    }
    LEMMA_ASSIGN_OR_RETURN(Value y, Rebuilt(original_, leaves, {}, 1));
    builder.Output("y", std::move(y));
    return std::move(builder).Build();
  }

  std::vector<Shape> ShapesOf() const {
    std::vector<Shape> shapes;
    for (const Value& leaf : leaves_) shapes.push_back(leaf.shape());
    return shapes;
  }

  // Whether the original is well-formed with these dimensions doubled. Where the data are not among
  // them, one dimension of the result has to double with them: else it is a window's.
  bool MayDouble(const std::vector<LeafDim>& dims) const {
    std::vector<Shape> shapes = ShapesOf();
    bool data = false;
    for (const LeafDim& d : dims) {
      shapes[d.leaf][d.dim] *= 2;
      data = data || leaves_[d.leaf] == Data();
    }
    auto doubled = Resized(shapes);
    if (!doubled.ok()) return false;
    if (data) return true;
    const Shape &before = original_.outputs()[0].shape(), &after = doubled->outputs()[0].shape();
    int twice = 0, same = 0;
    for (size_t d = 0; d < before.size() && after.size() == before.size(); ++d) {
      twice += after[d] == 2 * before[d];
      same += after[d] == before[d];
    }
    return twice == 1 && same + 1 == static_cast<int>(before.size());
  }

  const Value& Data() const { return original_.inputs()[static_cast<size_t>(recipe_.data)]; }

  absl::Status FindOpenSizes() {
    std::vector<LeafDim> all;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      for (size_t dim = 0; dim < leaves_[leaf].shape().size(); ++dim) all.push_back({leaf, dim});
    }
    auto size = [&](const LeafDim& d) { return leaves_[d.leaf].shape()[d.dim]; };
    std::vector<bool> taken(all.size(), false);
    for (size_t i = 0; i < all.size(); ++i) {
      if (taken[i] || size(all[i]) < 2) continue;
      std::vector<std::vector<size_t>> groups = {{i}};
      for (size_t j = 0; j < all.size(); ++j) {
        if (j != i && !taken[j] && size(all[j]) == size(all[i])) groups.push_back({i, j});
      }
      for (const std::vector<size_t>& group : groups) {
        OpenSize open;
        for (size_t member : group) open.dims.push_back(all[member]);
        if (!MayDouble(open.dims)) continue;
        open.factor = FactorOf(open.dims);
        open.value = size(all[i]) / std::max<int64_t>(open.factor, 1);
        if (open.factor > 0 && open.value > 1) open_.push_back(open);
        for (size_t member : group) taken[member] = true;
        break;
      }
    }
    if (open_.empty()) return absl::InvalidArgumentError("no size is open");
    return absl::OkStatus();
  }

  // What the layout divides the dimensions by; 0 if they were padded for that.
  int64_t FactorOf(const std::vector<LeafDim>& dims) const {
    int64_t factor = 1;
    for (const LeafDim& d : dims) {
      if (leaves_[d.leaf] != Data()) continue;
      const auto dim = static_cast<int>(d.dim);
      for (const DigitMove& move : recipe_.layout.digits) {
        if (move.from == dim) factor *= move.factor;
      }
      for (const BlockMove& move : recipe_.layout.blocks) {
        if (move.from == dim) factor *= move.blocks;
      }
      if (leaves_[d.leaf].shape()[d.dim] % factor != 0) return 0;
    }
    return factor;
  }

  absl::StatusOr<Instance> At(const Sizes& sizes) const {
    std::vector<Shape> shapes = ShapesOf();
    for (size_t s = 0; s < open_.size(); ++s) {
      for (const LeafDim& d : open_[s].dims) shapes[d.leaf][d.dim] = open_[s].factor * sizes[s];
    }
    LEMMA_ASSIGN_OR_RETURN(const Graph original, Resized(shapes));
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

  // The numbers at other sizes, if all else is as it was.
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

  // Each number as a polynomial that is linear in each size: by differences.
  absl::StatusOr<std::vector<Formula>> Fit(const Sizes& base) {
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
    std::vector<Formula> formulas(n);
    for (size_t i = 0; i < n; ++i) {
      LEMMA_ASSIGN_OR_RETURN(formulas[i], FitOne(base, i, depends[i]));
    }
    // A guess that other sizes contradict is none.
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

  absl::StatusOr<Formula> FitOne(const Sizes& base, size_t i, const std::vector<size_t>& symbols) {
    if (symbols.size() > 4) return absl::InvalidArgumentError("a number depends on many sizes");
    // f(base + d) for d in {0, 1}^symbols, then coefficients of products of (s - base), then of s.
    Formula shifted;
    const unsigned all = 1u << symbols.size();
    std::vector<int64_t> values(all);
    for (unsigned set = 0; set < all; ++set) {
      Sizes at = base;
      for (size_t b = 0; b < symbols.size(); ++b) at[symbols[b]] += (set >> b) & 1;
      LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, NumbersAt(at));
      values[set] = numbers[i];
    }
    for (size_t b = 0; b < symbols.size(); ++b) {
      for (unsigned set = 0; set < all; ++set) {
        if ((set >> b) & 1) values[set] -= values[set & ~(1u << b)];
      }
    }
    for (size_t b = 0; b < symbols.size(); ++b) {
      for (unsigned set = 0; set < all; ++set) {
        if (!((set >> b) & 1)) values[set] -= base[symbols[b]] * values[set | (1u << b)];
      }
    }
    Formula formula;
    for (unsigned set = 0; set < all; ++set) {
      if (values[set] == 0) continue;
      std::vector<size_t> product;
      for (size_t b = 0; b < symbols.size(); ++b) {
        if ((set >> b) & 1) product.push_back(symbols[b]);
      }
      formula[product] = values[set];
    }
    return formula;
  }

  static int64_t ValueOf(const Formula& formula, const Sizes& sizes) {
    int64_t sum = 0;
    for (const auto& [product, coefficient] : formula) {
      int64_t term = coefficient;
      for (size_t s : product) term *= sizes[s];
      sum += term;
    }
    return sum;
  }

  static std::string NameOf(size_t symbol) { return absl::StrCat("n", symbol); }

  static Term TermOf(const Formula& formula) {
    std::optional<Term> sum;
    for (auto it = formula.rbegin(); it != formula.rend(); ++it) {
      std::optional<Term> term;
      const int64_t c = it->second;
      if (c != 1 || it->first.empty()) term = Term(c);
      for (size_t s : it->first) {
        Term symbol = Term::Symbol(NameOf(s), static_cast<int>(s));
        term = term ? Term::Call(TermFn::kMul, {*term, symbol}) : symbol;
      }
      sum = sum ? Term::Call(TermFn::kAdd, {*sum, *term}) : *term;
    }
    return sum.value_or(Term(0));
  }

  // "0:2 * n0", "n1 + -1" or "0:n0:2": of a range's start, end and step.
  static std::string RangeText(const Formula* range) {
    const std::string start = TermOf(range[0]).ToString();
    Formula last = range[1];
    if (--last[{}] == 0) last.erase(last.find({}));
    if (last == range[0]) return start;
    std::string text = absl::StrCat(start, ":", TermOf(range[1]).ToString());
    const std::string step = TermOf(range[2]).ToString();
    if (step != "1") absl::StrAppend(&text, ":", step);
    return text;
  }

  // Nothing, then 1 for each size.
  std::vector<Sizes> Lessened() const {
    std::vector<Sizes> all = {Sizes(open_.size(), 0)};
    for (size_t s = 0; s < open_.size(); ++s) {
      all.push_back(all[0]);
      all.back()[s] = 1;
    }
    return all;
  }

  // A rule whose numbers are the formulas from *next on, in symbols that are the sizes less `less`.
  static absl::StatusOr<Substitution> Generalized(Substitution rule, const Sizes& base,
                                                  const Sizes& less,
                                                  const std::vector<Formula>& formulas,
                                                  size_t* next) {
    for (size_t s = 0; s < base.size(); ++s) {
      rule.symbols.push_back({NameOf(s), SymbolKind::kInt});
      rule.where.push_back(
          {Term::Symbol(NameOf(s), static_cast<int>(s)), Relation::kGe, Term(base[s] - less[s])});
    }
    ReplaceIntegers(&rule, [&](int64_t) { return TermOf(Shifted(formulas[(*next)++], less)); });
    // The reader checks what a rule has to be.
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> read, ParseRules(PrintRule(rule)));
    return std::move(read[0]);
  }

  absl::StatusOr<SymbolicRegion> Symbolic(const Sizes& base, const std::vector<Formula>& formulas) {
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
    boxes(instance_.agrees, &result.agrees);
    boxes(instance_.differs, &result.differs);
    for (const Count& count : instance_.counts) {
      boxes({count.box}, &result.counted);
      const Formula &original = formulas[next], &mutant = formulas[next + 1];
      next += 2;
      absl::StrAppend(&result.counted.back(), ": ", TermOf(original).ToString(), " and ",
                      TermOf(mutant).ToString());
      if (!NeverEqual(original, mutant, base)) {
        return absl::InvalidArgumentError("the numbers of products may be equal");
      }
    }
    return result;
  }

  // The formula in what the sizes are above `base`.
  static Formula Shifted(const Formula& formula, const Sizes& base) {
    Formula above;
    for (const auto& [product, coefficient] : formula) {
      for (unsigned set = 0; set < 1u << product.size(); ++set) {
        std::vector<size_t> kept;
        int64_t factor = coefficient;
        for (size_t i = 0; i < product.size(); ++i) {
          if ((set >> i) & 1) {
            kept.push_back(product[i]);
          } else {
            factor *= base[product[i]];
          }
        }
        above[kept] += factor;
      }
    }
    for (auto it = above.begin(); it != above.end();) {
      it = it->second == 0 ? above.erase(it) : std::next(it);
    }
    return above;
  }

  // Whether the formulas differ, always in the same direction, at all sizes from `base` on.
  static bool NeverEqual(const Formula& a, const Formula& b, const Sizes& base) {
    Formula difference = a;
    for (const auto& [product, coefficient] : b) difference[product] -= coefficient;
    Formula above = Shifted(difference, base);
    auto it = above.find({});
    const int64_t least = it == above.end() ? 0 : it->second;
    return least != 0 && std::all_of(above.begin(), above.end(), [&](const auto& term) {
             return least > 0 ? term.second >= 0 : term.second <= 0;
           });
  }

  const Graph& original_;
  const Recipe& recipe_;
  const bool counts_;
  std::vector<Value> leaves_;
  std::vector<OpenSize> open_;
  Instance instance_;  // at the base sizes
  std::map<Sizes, std::vector<int64_t>> numbers_;
  std::vector<std::vector<Substitution>> ways_;
};

// Each rule in the first way that is proved, else as it is.
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
  Lifting agreement(original, recipe, false);
  LEMMA_ASSIGN_OR_RETURN(SymbolicRegion region, agreement.Run());
  Prove(agreement.ways(), options, &region.rules, &region.verdicts);
  if (region.differs.empty()) return region;
  Lifting difference(original, recipe, true);
  auto counted = difference.Run();
  if (!counted.ok()) {
    region.not_counted = std::string(counted.status().message());
    return region;
  }
  region.counted = std::move(counted->counted);
  Prove(difference.ways(), options, &region.counts, &region.count_verdicts);
  return region;
}

}  // namespace lemma
