// Draws random instances of rules. Symbols are drawn in the order of the source. If an operator
// rejects the values of its attributes, only these are drawn again.
#include <algorithm>

#include "base/hash.h"
#include "graph/builder.h"
#include "rewrite/derivation/randomized_check.h"

namespace lemma {
namespace {

constexpr int kTriesPerNode = 40;
constexpr int64_t kMostElements = 4096;

}  // namespace

int64_t InstanceSampler::Below(int64_t n) {
  state_ = Mix64(state_ + 1);
  return static_cast<int64_t>(state_ % static_cast<uint64_t>(n));
}

std::optional<Assignment> InstanceSampler::Draw(int attempts) {
  for (int i = 0; i < attempts; ++i) {
    // Keeps a rank for a while: drawing a new one after each failure would favor low ranks.
    static constexpr int64_t kRanks[] = {0, 1, 1, 2, 2, 2, 3, 3};
    if (i % 64 == 0) rank_ = kRanks[Below(std::size(kRanks))];
    if (auto assignment = TryOnce()) return assignment;
  }
  return std::nullopt;
}

// A list that is likely to fit: related to the operand's shape, or of the attribute's usual length.
std::vector<int64_t> InstanceSampler::ProposeList(const AttrSpec* spec, const Shape* operand) {
  std::vector<int64_t> list;
  if (spec != nullptr && spec->default_value) {
    if (auto* usual = std::get_if<std::vector<int64_t>>(&*spec->default_value)) {
      list = *usual;
      if (Below(3) == 0) return list;
      for (int64_t& i : list) i += Below(3);
      if (!list.empty()) return list;
    }
  }
  if (operand != nullptr) {
    list = *operand;
    int64_t rank = static_cast<int64_t>(list.size());
    switch (Below(9)) {
      case 0:  // a permutation
      case 1:
        for (int64_t i = 0; i < rank; ++i) list[i] = i;
        for (int64_t i = rank - 1; i > 0; --i) std::swap(list[i], list[Below(i + 1)]);
        return list;
      case 2:  // the identity
        for (int64_t i = 0; i < rank; ++i) list[i] = i;
        return list;
      case 3:  // same number of elements, other factors
        for (int64_t i = 0; i + 1 < rank; ++i) {
          if (Below(2) == 0) continue;
          list[i + 1] *= list[i];
          list.erase(list.begin() + i);
          --rank;
        }
        if (Below(2) == 0) list.insert(list.begin() + Below(rank + 1), 1);
        return list;
      case 4:  // a shape that it broadcasts to
        for (int64_t& i : list) i = i == 1 ? 1 + Below(3) : i;
        if (Below(3) == 0) list.insert(list.begin(), 1 + Below(3));
        return list;
      case 5:  // part of it
        for (int64_t& i : list) i = std::max<int64_t>(Below(8) > 0, i - Below(3));
        return list;
      case 6:
        return list;
      case 7:  // small numbers, one for each dimension
        for (int64_t& i : list) i = Below(3);
        return list;
      default:  // or two
        list.assign(2 * list.size(), 0);
        for (int64_t& i : list) i = Below(3);
        return list;
    }
  }
  // Dimensions: often those of an earlier list, with some of them 1, or its end.
  for (const auto& value : values_) {
    auto* other = value ? std::get_if<Idx>(&*value) : nullptr;
    if (other == nullptr || Below(3) == 0) continue;
    list = std::get<std::vector<int64_t>>(*ToAttrValue(*value));
    if (Below(3) == 0) list.erase(list.begin(), list.begin() + Below(list.size() + 1));
    for (int64_t& i : list) i = Below(4) == 0 ? 1 : i;
    return list;
  }
  list.resize(Below(4) == 0 ? Below(4) : rank_);
  for (int64_t& i : list) i = 1 + Below(3);
  // Equal sizes: a wrong axis or permutation then gives wrong values, not merely a wrong shape.
  if (Below(3) == 0) std::fill(list.begin(), list.end(), 2);
  return list;
}

ExprAttr InstanceSampler::Propose(int symbol, const AttrSpec* spec, const Shape* operand) {
  switch (rule_.symbols[symbol].kind) {
    case SymbolKind::kReal: {
      // Dyadic, so f32 represents them exactly.
      static constexpr double kReals[] = {0.5, 0.125, 1.5, 2.0, -0.75, 3.0, 1.0};
      return ScalarExpr(kReals[Below(std::size(kReals))]);
    }
    case SymbolKind::kString:
      return std::string("constant");
    case SymbolKind::kList:
      return ToExprAttr(ProposeList(spec, operand));
    case SymbolKind::kInt:
    case SymbolKind::kUnknown:
      break;
  }
  static constexpr int64_t kInts[] = {0, 1, 1, 1, 2, 2, 2, 3, 3, 4};
  return IndexExpr(kInts[Below(std::size(kInts))]);
}

// Draws the symbols of `term` that have no value; false if there was none.
bool InstanceSampler::ChooseInTerm(const Term& term, const AttrSpec* spec, const Shape* operand) {
  std::vector<int> symbols;
  term.CollectSymbols(&symbols);
  bool any = false;
  for (int symbol : symbols) {
    if (values_[symbol]) continue;
    bool whole = term.kind() == Term::Kind::kSymbol;
    values_[symbol] = Propose(symbol, whole ? spec : nullptr, whole ? operand : nullptr);
    // In a list of terms, a spliced symbol takes the elements that the other terms leave.
    bool spliced = term.kind() == Term::Kind::kList && spec != nullptr &&
                   rule_.symbols[symbol].kind == SymbolKind::kList;
    if (spliced) {
      std::vector<int64_t> list = ProposeList(spec, operand);
      size_t others = term.args().size() - 1;
      list.resize(list.size() > others ? list.size() - others : 0);
      values_[symbol] = ToExprAttr(list);
    }
    any = true;
  }
  return any;
}

// Solves preconditions x = term where x is not drawn yet.
void InstanceSampler::SolveEqualities() {
  for (const Comparison& c : rule_.where) {
    if (c.relation != Relation::kEq) continue;
    for (bool left : {true, false}) {
      const Term &unknown = left ? c.lhs : c.rhs, &known = left ? c.rhs : c.lhs;
      if (unknown.kind() != Term::Kind::kSymbol || values_[unknown.symbol()]) continue;
      if (auto value = Evaluate(known, values_)) values_[unknown.symbol()] = value;
    }
  }
}

bool InstanceSampler::BuildNode(const PatternNode& node, std::vector<std::vector<Value>>* built,
                                const std::vector<Value>& vars) {
  std::vector<Value> inputs;
  for (const PatternValue& v : node.inputs) {
    inputs.push_back(v.is_var() ? vars[v.index] : (*built)[v.node][v.index]);
  }
  SymbolValues before = values_;
  for (int attempt = 0; attempt < kTriesPerNode; ++attempt) {
    values_ = before;
    SolveEqualities();
    bool drawn = false;
    if (node.op == nullptr) {
      drawn = ChooseInTerm(node.dims, nullptr, nullptr);
      drawn = ChooseInTerm(node.fill, nullptr, nullptr) || drawn;
    }
    for (const auto& [name, term] : node.attrs) {
      const Shape* operand = inputs.empty() ? nullptr : &inputs[0].shape();
      drawn = ChooseInTerm(term, node.op->FindAttr(name), operand) || drawn;
    }
    // A pattern of this node only, over existing values.
    Pattern pattern;
    pattern.nodes = {node};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      pattern.nodes[0].inputs[i] = {-1, static_cast<int>(i)};
    }
    for (int i = 0; i < node.num_outputs(); ++i) pattern.outputs.push_back({0, i});
    auto outputs = BuildPattern(rule_, pattern, inputs, values_, DType::kF32);
    if (outputs.ok()) {
      for (const Value& v : *outputs) {
        if (v.type().num_elements() > kMostElements) return false;
      }
      built->push_back(*std::move(outputs));
      return true;
    }
    if (!drawn) return false;
  }
  return false;
}

std::optional<Assignment> InstanceSampler::TryOnce() {
  values_.assign(rule_.symbols.size(), std::nullopt);
  std::vector<Value> vars;
  for (const PatternVar& var : rule_.vars) {
    SolveEqualities();
    ChooseInTerm(var.dims, nullptr, nullptr);
    auto type = TypeOf(var, {values_, DType::kF32});
    if (!type.ok() || type->num_elements() > kMostElements) return std::nullopt;
    vars.emplace_back(Node::Input(static_cast<int>(vars.size()), *type), 0);
  }
  std::vector<std::vector<Value>> built;
  for (const PatternNode& node : rule_.source.nodes) {
    if (!BuildNode(node, &built, vars)) return std::nullopt;
  }
  SolveEqualities();
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i]) values_[i] = Propose(static_cast<int>(i), nullptr, nullptr);
  }
  for (const Comparison& c : rule_.where) {
    if (!Evaluate(c, values_).value_or(false)) return std::nullopt;
  }
  return Assignment{values_, DType::kF32};
}

}  // namespace lemma
