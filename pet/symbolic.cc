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

absl::StatusOr<Graph> GraphOf(const Graph& like, const Value& output) {
  GraphBuilder builder(like.name());
  for (size_t i = 0; i < like.inputs().size(); ++i) {
    builder.Input(like.input_names()[i], like.inputs()[i].type());
  }
  builder.Output("y", output);
  return std::move(builder).Build();
}

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
};

// A number as a sum of products of sizes: coefficient by set of symbols.
using Formula = std::map<std::vector<size_t>, int64_t>;

class Lifting {
 public:
  Lifting(const Graph& original, const Recipe& recipe) : original_(original), recipe_(recipe) {
    for (const NodePtr& node : original.nodes()) {
      if (!node->is_op() && node->kind() != Node::Kind::kConstant) leaves_.emplace_back(node, 0);
    }
  }

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
    instance.agrees = Outside(region);
    instance.differs = region.differs;
    for (const Box& box : instance.agrees) {
      LEMMA_ASSIGN_OR_RETURN(const Graph source, OnBox(original, box));
      LEMMA_ASSIGN_OR_RETURN(const Graph target, OnBox(mutant, box));
      LEMMA_ASSIGN_OR_RETURN(
          Substitution rule,
          GroundRule(absl::StrCat("box", instance.rules.size()), source, target));
      ReplaceIntegers(&rule, [&](int64_t number) {
        instance.numbers.push_back(number);
        return Term(number);
      });
      instance.forms.push_back(FormOf(rule));
      instance.rules.push_back(std::move(rule));
    }
    for (const std::vector<Box>* boxes : {&instance.agrees, &instance.differs}) {
      for (const Box& box : *boxes) {
        for (const Range& r : box) {
          instance.numbers.insert(instance.numbers.end(), {r.start, r.last() + 1, r.step});
        }
      }
    }
    return instance;
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

  absl::StatusOr<SymbolicRegion> Symbolic(const Sizes& base, const std::vector<Formula>& formulas) {
    SymbolicRegion result;
    size_t next = 0;
    for (Substitution rule : instance_.rules) {
      for (size_t s = 0; s < open_.size(); ++s) {
        rule.symbols.push_back({NameOf(s), SymbolKind::kInt});
        rule.where.push_back(
            {Term::Symbol(NameOf(s), static_cast<int>(s)), Relation::kGe, Term(base[s])});
      }
      ReplaceIntegers(&rule, [&](int64_t) { return TermOf(formulas[next++]); });
      // The reader checks what a rule has to be.
      LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> read, ParseRules(PrintRule(rule)));
      result.rules.push_back(std::move(read[0]));
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
    return result;
  }

  const Graph& original_;
  const Recipe& recipe_;
  std::vector<Value> leaves_;
  std::vector<OpenSize> open_;
  Instance instance_;  // at the base sizes
  std::map<Sizes, std::vector<int64_t>> numbers_;
};

}  // namespace

bool SymbolicRegion::proved() const {
  return std::all_of(verdicts.begin(), verdicts.end(), IsProved);
}

absl::StatusOr<SymbolicRegion> ProveForAllSizes(const Graph& original, const Recipe& recipe,
                                                const ProverOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(SymbolicRegion region, Lifting(original, recipe).Run());
  for (const Substitution& rule : region.rules) {
    region.verdicts.push_back(ProveRule(rule, options));
  }
  return region;
}

}  // namespace lemma
