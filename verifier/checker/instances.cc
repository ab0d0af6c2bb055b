#include "verifier/checker/instances.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/op_def.h"

namespace lemma::checker {
namespace {

constexpr int64_t kMostElements = 256;  // of one tensor
constexpr int64_t kDefineWork = 20;     // in terms touched
constexpr int kMostWeight = 40;
constexpr int64_t kLargestSize = 5;  // beyond the bounds, if that is little work
constexpr int kUnusualLength = 2;    // weight of a list that fits no operand
constexpr int kDraws = 4;  // values drawn for a symbol before an earlier symbol is drawn again
constexpr int64_t kDrawWork = 4000;

int64_t CountOf(const Idx& dims) {
  int64_t count = 1;
  for (const IndexExpr& dim : dims) {
    if (!dim.is_const() || dim.value() < 0) return -1;
    count *= dim.value();
    if (count > kMostElements) return -1;
  }
  return count;
}

}  // namespace

std::string Describe(const Substitution& rule, const Instance& instance) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    if (!instance.symbols[i]) continue;
    auto constant = ToAttrValue(*instance.symbols[i]);
    if (constant) parts.push_back(absl::StrCat(rule.symbols[i].name, " = ", ToString(*constant)));
  }
  return absl::StrJoin(parts, ", ");
}

Instances::Instances(const Substitution& rule, const Bounds& bounds, int64_t* work,
                     std::vector<Fixed> fixed)
    : rule_(rule), bounds_(bounds), work_(*work), fixed_(std::move(fixed)) {
  now_.symbols.resize(rule.symbols.size());
  Step size;
  size.is_size = true;
  for (const PatternVar& var : rule.vars) AddSymbols(var.dims, size);
  steps_.push_back({Step::Kind::kVars});
  for (size_t n = 0; n < rule.source.nodes.size(); ++n) {
    const PatternNode& node = rule.source.nodes[n];
    Step step;
    step.node = static_cast<int>(n);
    if (node.op == nullptr) {
      AddSymbols(node.dims, size);
      AddSymbols(node.fill, step);
    }
    for (const auto& [name, term] : node.attrs) {
      step.spec = term.kind() == Term::Kind::kSymbol ? node.op->FindAttr(name) : nullptr;
      AddSymbols(term, step);
    }
    step.kind = Step::Kind::kNode;
    steps_.push_back(step);
  }
  for (const Comparison& c : rule.where) {
    AddSymbols(c.lhs, {});
    AddSymbols(c.rhs, {});
  }
  // For claims that are not rules: symbols that only the target has.
  for (const PatternNode& node : rule.target.nodes) {
    if (node.op == nullptr) AddSymbols(node.dims, size);
    if (node.op == nullptr) AddSymbols(node.fill, {});
    for (const auto& [name, term] : node.attrs) AddSymbols(term, {});
  }
}

void Instances::AddSymbols(const Term& term, Step step) {
  std::vector<int> symbols;
  term.CollectSymbols(&symbols);
  for (int symbol : symbols) {
    if (!planned_.insert(symbol).second) continue;
    step.symbol = symbol;
    steps_.push_back(step);
  }
}

// Whether the precondition or the form of a definition depends on this real.
bool Instances::MustBeNumber(int symbol) const {
  auto used = [&](const Term& term) {
    std::vector<int> symbols;
    term.CollectSymbols(&symbols);
    return std::count(symbols.begin(), symbols.end(), symbol) > 0;
  };
  for (const Comparison& c : rule_.where) {
    if (used(c.lhs) || used(c.rhs)) return true;
  }
  for (const Pattern* pattern : {&rule_.source, &rule_.target}) {
    for (const PatternNode& node : pattern->nodes) {
      for (const auto& [name, term] : node.attrs) {
        if (!node.op->FindAttr(name)->symbolic && used(term)) return true;
      }
    }
  }
  return false;
}

// Whether the symbol is a whole dimension of a variable.
bool Instances::IsDimension(int symbol) const {
  return std::any_of(rule_.vars.begin(), rule_.vars.end(), [&](const PatternVar& var) {
    const auto& items = var.dims.args();
    return var.dims.kind() == Term::Kind::kList &&
           std::any_of(items.begin(), items.end(), [&](const Term& item) {
             return item.kind() == Term::Kind::kSymbol && item.symbol() == symbol;
           });
  });
}

void Instances::ForEach(const std::function<bool(const Instance&)>& visit) {
  visit_ = &visit;
  const int64_t start = work_;
  limit_ = start + bounds_.work / 2;
  for (int weight = 0; weight <= kMostWeight && !stopped_; ++weight) {
    cut_ = false;
    Search(0, weight);
    if (stopped_ || work_ > limit_) break;
    complete_weight_ = weight;
    if (cut_) continue;
    complete_size_ = bounds_.max_size;
    // Larger sizes, as long as that is little work.
    if (work_ - start > bounds_.work / 8 || bounds_.max_size >= kLargestSize) return;
    ++bounds_.max_size;
    weight = -1;
  }
  drawing_ = true;
  const int64_t end = start + bounds_.work;
  while (!stopped_ && work_ < end) {
    found_ = false;
    limit_ = std::min(end, work_ + kDrawWork);
    work_ += kDefineWork;
    Search(0, 0);
  }
}

// `weight`: the weight left for this and later steps.
bool Instances::Search(size_t at, int weight) {
  if (stopped_ || work_ > limit_) return false;
  if (at == steps_.size()) return VisitInstance();
  const Step& step = steps_[at];
  switch (step.kind) {
    case Step::Kind::kVars:
      return !Types() || Search(at + 1, weight);
    case Step::Kind::kNode: {
      now_.source.resize(step.node);
      auto definition = NodeAt(rule_.source.nodes[step.node], now_.source);
      if (!definition) return true;
      now_.source.push_back(*std::move(definition));
      return Search(at + 1, weight);
    }
    case Step::Kind::kSymbol:
      break;
  }
  std::optional<ExprAttr>& value = now_.symbols[step.symbol];
  std::vector<Choice> choices;
  if (auto forced = Forced(step.symbol)) {
    choices.push_back({*std::move(forced), 0});
  } else {
    choices = Choices(step, weight);
  }
  bool more = true;
  for (Choice& choice : choices) {
    value = std::move(choice.value);
    ++work_;
    if (MayHold()) more = Search(at + 1, weight - choice.weight);
    if (!more || (drawing_ && found_)) break;
  }
  value.reset();
  return more;
}

bool Instances::VisitInstance() {
  for (const Comparison& c : rule_.where) {
    if (!Evaluate(c, now_.symbols).value_or(false)) return true;
  }
  // Visits each instance once: those of lower weight were visited before.
  if (!seen_.insert(Describe(rule_, now_)).second) return true;
  now_.target.clear();
  now_.target_exists = true;
  for (const PatternNode& node : rule_.target.nodes) {
    auto definition = NodeAt(node, now_.target);
    now_.target_exists = definition.has_value();
    if (!definition) break;
    now_.target.push_back(*std::move(definition));
  }
  found_ = true;
  if (drawing_) ++drawn_;
  if ((*visit_)(now_)) return true;
  stopped_ = true;
  return false;
}

std::optional<ExprAttr> Instances::Forced(int symbol) const {
  for (const Comparison& c : rule_.where) {
    if (c.relation != Relation::kEq) continue;
    for (bool left : {true, false}) {
      const Term &unknown = left ? c.lhs : c.rhs, &known = left ? c.rhs : c.lhs;
      if (unknown.kind() != Term::Kind::kSymbol || unknown.symbol() != symbol) continue;
      if (auto value = Evaluate(known, now_.symbols)) return value;
    }
  }
  return std::nullopt;
}

bool Instances::MayHold() const {
  return std::all_of(rule_.where.begin(), rule_.where.end(),
                     [&](const Comparison& c) { return Evaluate(c, now_.symbols).value_or(true); });
}

bool Instances::Types() {
  now_.inputs.clear();
  for (const PatternVar& var : rule_.vars) {
    auto dims = Evaluate(var.dims, now_.symbols);
    if (!dims || !std::holds_alternative<Idx>(*dims)) return false;
    const Idx& sizes = std::get<Idx>(*dims);
    if (CountOf(sizes) < 1) return false;
    now_.inputs.push_back({var.dtype.value_or(DType::kF32), sizes});
  }
  return true;
}

std::optional<OpMeaning> MeaningAt(const PatternNode& node, const std::vector<ExprType>& inputs,
                                   const std::vector<Definition>& before,
                                   const SymbolValues& symbols) {
  OpMeaning meaning;
  if (node.op == nullptr) {
    auto dims = Evaluate(node.dims, symbols), fill = Evaluate(node.fill, symbols);
    if (!dims || !std::holds_alternative<Idx>(*dims) || !fill) return std::nullopt;
    Definition& constant = meaning.definition;
    TensorExpr tensor;
    tensor.dtype = node.dtype.value_or(DType::kF32);
    for (const IndexExpr& dim : std::get<Idx>(*dims)) {
      tensor.axes.push_back({constant.num_vars++, dim});
    }
    if (auto* integer = std::get_if<IndexExpr>(&*fill)) tensor.body = ScalarExpr::Index(*integer);
    if (auto* real = std::get_if<ScalarExpr>(&*fill)) tensor.body = *real;
    constant.tensors = {std::move(tensor)};
    constant.outputs = {0};
    return meaning;
  }
  std::vector<ExprType> types;
  for (const PatternValue& v : node.inputs) {
    types.push_back(v.is_var() ? inputs[v.index]
                               : before[v.node].TypeOf(before[v.node].outputs[v.index]));
  }
  ExprAttrs attrs;
  for (const auto& [name, term] : node.attrs) {
    auto value = Evaluate(term, symbols);
    if (!value) return std::nullopt;
    attrs[name] = *std::move(value);
  }
  auto complete = CompleteExprAttrs(*node.op, std::move(attrs));
  if (!complete.ok()) return std::nullopt;
  auto defined = Define(*node.op, std::move(types), *complete);
  if (!defined.ok()) return std::nullopt;
  meaning = *std::move(defined);
  if (static_cast<int>(meaning.definition.outputs.size()) != node.num_outputs()) {
    return std::nullopt;
  }
  return meaning;
}

std::optional<Definition> Instances::NodeAt(const PatternNode& node,
                                            const std::vector<Definition>& before) {
  work_ += kDefineWork;
  auto meaning = MeaningAt(node, now_.inputs, before, now_.symbols);
  // For constants every requirement is decided.
  if (!meaning || !meaning->requirements.empty()) return std::nullopt;
  for (TensorId id : meaning->definition.outputs) {
    if (CountOf(meaning->definition.TypeOf(id).dims) < 0) return std::nullopt;
  }
  return std::move(meaning->definition);
}

// ---- Values to try for a symbol ----

std::vector<std::pair<int64_t, int>> Instances::Numbers(const Step& step, bool in_list) const {
  int64_t usual = 1, least = -1, most = bounds_.max_size;
  if (step.is_size && (in_list || IsDimension(step.symbol))) least = 1;
  if (step.spec != nullptr && step.spec->default_value) {
    if (auto* value = std::get_if<int64_t>(&*step.spec->default_value)) usual = *value;
    if (!in_list) least = -2, most = std::max<int64_t>(most, 3);
  }
  std::set<int64_t> values;
  for (int64_t v = least; v <= most; ++v) values.insert(v);
  const PatternNode* node = step.is_size || in_list == false || rule_.source.nodes.empty()
                                ? nullptr
                                : &rule_.source.nodes[step.node];
  if (node != nullptr && !node->inputs.empty()) {
    // Factors of the operand's size, for reshapes, and numbers of its dimensions.
    const PatternValue& v = node->inputs[0];
    const Idx dims = v.is_var()
                         ? now_.inputs[v.index].dims
                         : now_.source[v.node].TypeOf(now_.source[v.node].outputs[v.index]).dims;
    const int64_t count = CountOf(dims);
    for (int64_t f = 1; f <= count; ++f) {
      if (count % f == 0 && (f <= 9 || f == count)) values.insert(f);
    }
    for (size_t d = 0; d < dims.size(); ++d) values.insert(static_cast<int64_t>(d));
  }
  std::vector<std::pair<int64_t, int>> result;
  for (int64_t v : values) {
    // In a list without a usual value, 0 and 1 are equally likely: it may hold offsets or sizes.
    const bool either = in_list && !step.is_size && v == 0;
    const int distance = either ? 0 : static_cast<int>(std::abs(v - usual));
    result.emplace_back(v, v < 0 ? 3 : std::min(distance, 3));
  }
  return result;
}

void Instances::Lists(const Step& step, int weight, std::vector<Choice>* out) {
  std::set<int> lengths;
  std::vector<int64_t> usual;
  size_t rank = 0;
  if (step.spec != nullptr && step.spec->default_value) {
    if (auto* list = std::get_if<std::vector<int64_t>>(&*step.spec->default_value)) usual = *list;
  }
  if (!step.is_size && !rule_.source.nodes.empty() &&
      !rule_.source.nodes[step.node].inputs.empty()) {
    const PatternValue& v = rule_.source.nodes[step.node].inputs[0];
    rank = v.is_var() ? now_.inputs[v.index].dims.size()
                      : now_.source[v.node].TypeOf(now_.source[v.node].outputs[v.index]).rank();
  }
  if (!usual.empty()) {
    lengths = {static_cast<int>(usual.size())};
  } else {
    for (int n = 0; n <= bounds_.max_list; ++n) lengths.insert(n);
    if (!step.is_size) lengths.insert({static_cast<int>(rank), static_cast<int>(2 * rank)});
  }
  const auto* fixed =
      fixed_.empty() || !fixed_[step.symbol].list ? nullptr : &*fixed_[step.symbol].list;
  if (fixed != nullptr) lengths = {static_cast<int>(fixed->size())};
  const auto numbers = Numbers(step, true);
  auto weight_of = [&](size_t i, const std::pair<int64_t, int>& number) {
    return i < usual.size() ? static_cast<int>(std::abs(number.first - usual[i])) : number.second;
  };
  if (drawing_) {
    for (int draw = 0; draw < 2 * kDraws; ++draw) {
      auto length = lengths.begin();
      std::advance(length, random_() % lengths.size());
      std::vector<int64_t> list;
      for (int i = 0; i < *length; ++i) list.push_back(numbers[random_() % numbers.size()].first);
      // Often a permutation or the operand's usual value: otherwise few would be well-formed.
      if (random_() % 3 == 0) {
        for (size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int64_t>(i);
        std::shuffle(list.begin(), list.end(), random_);
      }
      for (size_t i = 0; fixed != nullptr && i < list.size(); ++i) {
        list[i] = (*fixed)[i].value_or(list[i]);
      }
      out->push_back({ToExprAttr(list), 0});
    }
    return;
  }
  for (int length : lengths) {
    const bool fits =
        !usual.empty() || length == static_cast<int>(rank) || length == static_cast<int>(2 * rank);
    const int own = fixed != nullptr ? 0 : step.is_size ? length : fits ? 0 : kUnusualLength;
    std::vector<int64_t> list;
    std::function<void(int)> extend = [&](int left) {
      if (static_cast<int>(list.size()) == length) {
        out->push_back({ToExprAttr(list), weight - left});
        return;
      }
      const size_t at = list.size();
      if (fixed != nullptr && (*fixed)[at]) {
        list.push_back(*(*fixed)[at]);
        extend(left);
        list.pop_back();
        return;
      }
      for (const auto& number : numbers) {
        const int cost = weight_of(list.size(), number);
        if (cost > left) {
          cut_ = true;
          continue;
        }
        list.push_back(number.first);
        extend(left - cost);
        list.pop_back();
      }
    };
    if (own <= weight) extend(weight - own);
    if (own > weight) cut_ = true;
  }
}

std::vector<Instances::Choice> Instances::Choices(const Step& step, int weight) {
  std::vector<Choice> choices;
  const Symbol& symbol = rule_.symbols[step.symbol];
  switch (symbol.kind) {
    case SymbolKind::kReal:
      if (!MustBeNumber(step.symbol)) return {{ScalarExpr::Param(symbol.name), 0}};
      for (double real : {1.0, 0.5, 2.0, 0.0, -1.0}) choices.push_back({ScalarExpr(real), 0});
      return choices;
    case SymbolKind::kString:
      if (step.spec != nullptr && step.spec->default_value) {
        choices.push_back({ToExprAttr(*step.spec->default_value), 0});
      } else {
        problem_ = absl::StrCat("nothing is known about which values to try for ", symbol.name);
      }
      return choices;
    case SymbolKind::kList:
      Lists(step, weight, &choices);
      work_ += static_cast<int64_t>(choices.size());
      return choices;
    case SymbolKind::kInt:
    case SymbolKind::kUnknown:
      break;
  }
  if (!fixed_.empty() && fixed_[step.symbol].number) {
    return {{IndexExpr(*fixed_[step.symbol].number), 0}};
  }
  const auto numbers = Numbers(step, false);
  if (drawing_) {
    for (int i = 0; i < kDraws; ++i) {
      choices.push_back({IndexExpr(numbers[random_() % numbers.size()].first), 0});
    }
    return choices;
  }
  for (const auto& [number, cost] : numbers) {
    if (cost <= weight) {
      choices.push_back({IndexExpr(number), cost});
    } else {
      cut_ = true;
    }
  }
  return choices;
}

}  // namespace lemma::checker
