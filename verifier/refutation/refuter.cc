#include "verifier/refutation/refuter.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/work.h"
#include "graph/expr/compose.h"
#include "verifier/normal_form/storage.h"
#include "verifier/refutation/comparison.h"
#include "verifier/refutation/unroll.h"

namespace lemma::prover {
namespace {

constexpr double kMaxWork = 200000;            // limit on operations and elements of a side
constexpr double kMaxSuggestedWork = 2000000;  // at suggested sizes, such as three of 65
constexpr int64_t kLargestSmall = 64;          // limit on values that follow from small ones
constexpr int64_t kLargestSuggested = 100000;
constexpr int kSuggestedDraws = 60;  // with several suggested sizes at a time
constexpr int kMaxTerms = 400;       // terms of sums that are written out
constexpr int kMaxInOrder = 3;       // comparisons of such sums; they only save time

// Whether the evaluator may choose an order in `e`.
bool AddsUp(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce &&
      (e.reduce() == ReduceKind::kSum || e.reduce() == ReduceKind::kProd)) {
    return true;
  }
  return std::any_of(e.args().begin(), e.args().end(), AddsUp);
}

// The definition with the values that executors store in integer types, where floats saturate.
Definition WithStores(Definition definition) {
  for (TensorExpr& tensor : definition.tensors) {
    if (absl::StartsWith(IntegerStorage(definition, tensor), "saturate_")) {
      tensor.body = Apply(StoredAs(tensor.dtype), tensor.body);
    }
  }
  return definition;
}

// A definition of one number: how much the elements of the sides may differ.
Definition DefinitionOf(const ScalarExpr& within) {
  Definition definition;
  definition.tensors.push_back({DType::kF64, {}, within});
  definition.outputs = {0};
  return definition;
}

}  // namespace

bool ComparesNumbers(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce &&
      (e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin)) {
    return true;
  }
  if (e.kind() == ScalarExpr::Kind::kApply) {
    for (ScalarFn fn : {ScalarFn::kMax, ScalarFn::kMin, ScalarFn::kAbs, ScalarFn::kSign,
                        ScalarFn::kLess, ScalarFn::kWhere}) {
      if (e.fn() == fn) return true;
    }
  }
  return std::any_of(e.args().begin(), e.args().end(), ComparesNumbers);
}

Refuter::Refuter(const Statement& statement, const Hypotheses& hypotheses, Leaves* leaves,
                 uint64_t seed)
    : statement_(statement),
      hypotheses_(hypotheses),
      leaves_(*leaves),
      seed_(seed),
      max_work_(kMaxWork) {
  CollectSymbols(statement.source, &symbols_, &params_);
  CollectSymbols(statement.target, &symbols_, &params_);
  for (const Guard& guard : statement.requirements) CollectSymbols(guard, &symbols_);
  for (const ExprType& input : statement.source.inputs) {
    positive_.insert(positive_.end(), input.dims.begin(), input.dims.end());
  }
  for (const Definition* side : {&statement.source, &statement.target}) {
    for (const TensorExpr& tensor : side->tensors) {
      adds_up_ = adds_up_ || AddsUp(tensor.body);
      compares_ = compares_ || ComparesNumbers(tensor.body);
      // 32 bits hold the small integers that are drawn.
      const std::string storage = IntegerStorage(*side, tensor);
      const bool saturates = absl::StartsWith(storage, "saturate_");
      // For claims with a bound, saturated values are computed (WithStores).
      const bool loses = saturates ? !statement.within : SizeOf(tensor.dtype) <= 2;
      loses_numbers_ = loses_numbers_ || (!storage.empty() && loses);
    }
  }
  std::vector<std::string> sizes;
  for (const IndexExpr& size : positive_) {
    if (size.kind() == IndexExpr::Kind::kSymbol) CollectSymbols(size, &sizes);
  }
  for (const std::string& name : sizes) sizes_.insert(leaves->Symbol(name));
}

bool Refuter::Satisfies(const SymbolMap& symbols) const {
  IndexEnv env;
  env.symbol = [&](const std::string& name) -> std::optional<int64_t> {
    auto it = symbols.find(name);
    if (it == symbols.end()) return std::nullopt;
    return it->second;
  };
  for (const IndexExpr& size : positive_) {
    auto value = EvaluateIndex(size, env);
    if (!value || *value < 1) return false;
  }
  for (const Guard& guard : statement_.requirements) {
    auto value = EvaluateGuard(guard, env);
    if (!value || !*value) return false;
  }
  return true;
}

std::optional<SymbolMap> Refuter::Complete(const std::map<Leaf, int64_t>& free,
                                           int64_t most) const {
  SymbolMap symbols;
  for (const std::string& name : symbols_) {
    const Leaf leaf = leaves_.Symbol(name);
    auto it = hypotheses_.solved().find(leaf);
    auto value =
        hypotheses_.Value(it == hypotheses_.solved().end() ? Poly::Of(leaf) : it->second, free);
    if (!value || *value > most || *value < -most) return std::nullopt;
    symbols[name] = *value;
  }
  if (!Satisfies(symbols)) return std::nullopt;
  return symbols;
}

std::vector<Leaf> Refuter::FreeSymbols() const {
  std::vector<Leaf> free = hypotheses_.FreeSymbols();
  for (const std::string& name : symbols_) {
    const Leaf leaf = leaves_.Symbol(name);
    if (hypotheses_.solved().count(leaf) == 0 &&
        std::find(free.begin(), free.end(), leaf) == free.end()) {
      free.push_back(leaf);
    }
  }
  return free;
}

std::optional<SymbolMap> Refuter::Sample(std::mt19937_64* random, Style style, int attempts) {
  const std::vector<Leaf> free = FreeSymbols();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    SpendWork(static_cast<int64_t>(4 * free.size() + 4 * symbols_.size()));
    std::map<Leaf, int64_t> values;
    const int reach = 2 + static_cast<int>((*random)() % 4);
    for (Leaf leaf : free) {
      const uint64_t draw = style == Style::kSpecial ? (*random)() % 8 : 7;
      if (draw < 4) {
        values[leaf] = draw > 0 ? 1 : 0;
        continue;
      }
      if (draw < 6 && !values.empty()) {
        values[leaf] = std::next(values.begin(), (*random)() % values.size())->second;
        continue;
      }
      if (style == Style::kNegative && sizes_.count(leaf) == 0) {
        values[leaf] = static_cast<int64_t>((*random)() % 5) - 2;
        continue;
      }
      values[leaf] = static_cast<int64_t>((*random)() % (reach + 1));
      // Sizes are rarely 0; pads are often.
      if (values[leaf] == 0 && (*random)() % 2 == 0) values[leaf] = 1;
    }
    if (auto symbols = Complete(values, kLargestSmall)) return symbols;
  }
  return std::nullopt;
}

std::vector<InputStyle> Refuter::Styles() const {
  using Reals = InputStyle::Reals;
  std::vector<InputStyle> styles = {
      {Reals::kPositive, 0, 2}, {Reals::kSigned, -2, 2}, {Reals::kSmallIntegers, 0, 4}};
  if (compares_) {
    styles.push_back({Reals::kOneSign, 0, 2});
    styles.push_back({Reals::kSparse, 0, 2});
  }
  // Several styles, since small or monotonic elements alone may show no difference.
  if (suggestions_) styles.insert(styles.end(), 3, {Reals::kSuggested, -2, 2, &*suggestions_});
  if (suggestions_ && compares_) styles.insert(styles.end(), 3, {Reals::kMonotonic, -2, 2});
  return styles;
}

std::optional<Refuted> Refuter::Compare(const SymbolMap& symbols, uint64_t seed) {
  const absl::flat_hash_map<std::string, int64_t> binding(symbols.begin(), symbols.end());
  Definition bound = Bind(statement_.source, binding);
  Definition bound_target = Bind(statement_.target, binding);
  std::optional<Concrete> within;
  if (statement_.within) {
    bound = WithStores(std::move(bound));
    bound_target = WithStores(std::move(bound_target));
    within = Concrete::Of(Bind(DefinitionOf(*statement_.within), binding), max_work_);
    if (!within) return std::nullopt;
  }
  auto source = Concrete::Of(bound, max_work_);
  auto target = Concrete::Of(bound_target, max_work_);
  if (!source || !target) return std::nullopt;
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : symbols) values[name] = absl::StrCat(value);
  for (size_t o = 0; o < source->num_outputs(); ++o) {
    if (source->output_dims(o) == target->output_dims(o)) continue;
    Refuted found;
    found.values = values;
    found.seed = seed;
    found.output = static_cast<int>(o);
    found.source_shape = source->output_dims(o);
    found.target_shape = target->output_dims(o);
    return found;
  }
  if (loses_numbers_) return std::nullopt;
  ComparedSides sides = {*source, *target, bound.inputs, params_, {}};
  sides.bounds = &statement_.bounds;
  if (within) sides.within = &*within;
  const std::vector<InputStyle> styles = Styles();
  for (size_t i = 0; i < styles.size(); ++i) {
    const uint64_t of_style = HashCombine(seed, i);
    bool* unequal = adds_up_ ? nullptr : &rounding_differs_;
    if (auto found = FindDifference(sides, styles[i], of_style, unequal)) {
      found->seed = seed;
      found->values.insert(values.begin(), values.end());
      return found;
    }
  }
  if (adds_up_ && !statement_.within && !rounding_differs_ && in_order_ < kMaxInOrder)
    CompareInOrder(binding, seed);
  return std::nullopt;
}

void Refuter::CompareInOrder(const absl::flat_hash_map<std::string, int64_t>& binding,
                             uint64_t seed) {
  ++in_order_;
  const Definition bound = Bind(statement_.source, binding);
  auto source = Unrolled(bound, kMaxTerms);
  auto target = source ? Unrolled(Bind(statement_.target, binding), kMaxTerms) : std::nullopt;
  if (!target) return;
  auto a = Concrete::Of(*source, kMaxWork), b = Concrete::Of(*target, kMaxWork);
  if (!a || !b) return;
  // Also with infinite elements: x + w * 0 is then not x.
  for (auto reals : {InputStyle::Reals::kPositive, InputStyle::Reals::kSomeInfinite}) {
    InputStyle style;
    style.reals = reals;
    ComparedSides sides = {*a, *b, bound.inputs, params_, {}};
    sides.bounds = &statement_.bounds;
    FindDifference(sides, style, seed, &rounding_differs_);
  }
}

// Makes each symbol as small as possible while the sides still differ.
void Refuter::Shrink(SymbolMap symbols, Refuted* found) {
  bool smaller = true;
  for (int round = 0; round < 4 && smaller; ++round) {
    smaller = false;
    for (auto& [name, value] : symbols) {
      const int64_t original = value;
      for (int64_t magnitude = 0; magnitude < std::abs(original); ++magnitude) {
        value = original < 0 ? -magnitude : magnitude;
        if (Satisfies(symbols)) {
          if (auto again = Compare(symbols, found->seed)) {
            *found = *again;
            smaller = true;
            break;
          }
        }
        value = original;
      }
    }
  }
}

std::optional<Refuted> Refuter::Search(int samples) {
  std::mt19937_64 random(seed_);
  for (int i = 0; i < samples; ++i) {
    // Every second sample may have negative attributes.
    auto symbols = Sample(&random, i % 2 == 1 ? Style::kNegative : Style::kVaried);
    if (!symbols) return std::nullopt;
    const uint64_t seed = HashCombine(seed_, i);
    if (auto found = Compare(*symbols, seed)) {
      Shrink(*symbols, &*found);
      return found;
    }
  }
  return std::nullopt;
}

const Suggestions& Refuter::suggestions() {
  if (!suggestions_) suggestions_ = SuggestionsOf(statement_);
  return *suggestions_;
}

std::optional<SymbolMap> Refuter::TrySuggested(const std::vector<Leaf>& free, int one, int64_t size,
                                               std::mt19937_64* random) const {
  SpendWork(static_cast<int64_t>(4 * free.size() + 4 * symbols_.size()));
  const std::vector<int64_t>& sizes = suggestions_->sizes;
  std::map<Leaf, int64_t> values;
  for (size_t i = 0; i < free.size(); ++i) {
    int64_t& value = values[free[i]];
    const bool chosen =
        one < 0 ? !sizes.empty() && (*random)() % 2 == 0 : static_cast<int>(i) == one;
    value = chosen ? (one < 0 ? sizes[(*random)() % sizes.size()] : size)
                   : static_cast<int64_t>((*random)() % 4);
    // Only attributes may be negative.
    if (chosen && sizes_.count(free[i]) == 0 && (*random)() % 4 == 0) value = -value;
  }
  return Complete(values, kLargestSuggested);
}

std::optional<SymbolMap> Refuter::SampleSuggested(std::mt19937_64* random, int attempts) {
  if (suggestions().sizes.empty()) return std::nullopt;
  const std::vector<Leaf> free = FreeSymbols();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (auto symbols = TrySuggested(free, -1, 0, random)) return symbols;
  }
  return std::nullopt;
}

std::optional<Refuted> Refuter::SearchSuggested(int64_t work) {
  constexpr int kAttempts = 20;
  std::optional<Refuted> found;
  WorkScope scope(work);
  max_work_ = kMaxSuggestedWork;
  std::mt19937_64 random(HashCombine(seed_, 1));
  uint64_t tried = 0;
  auto differ = [&](const std::optional<SymbolMap>& symbols) {
    if (!symbols) return false;
    found = Compare(*symbols, HashCombine(seed_, ++tried));
    if (found) Shrink(*symbols, &*found);
    return found.has_value();
  };
  try {
    // First suggested elements at small sizes, then each size alone, the smallest first, then
    // several.
    if (!suggestions().elements.empty()) {
      for (int i = 0; i < 4; ++i) {
        if (differ(Sample(&random))) return found;
      }
    }
    const std::vector<Leaf> free = FreeSymbols();
    for (int64_t size : suggestions().sizes) {
      for (size_t one = 0; one < free.size(); ++one) {
        std::optional<SymbolMap> symbols;
        for (int i = 0; i < kAttempts && !symbols; ++i) {
          symbols = TrySuggested(free, static_cast<int>(one), size, &random);
        }
        if (differ(symbols)) return found;
      }
    }
    for (int i = 0; i < kSuggestedDraws; ++i) {
      auto symbols = SampleSuggested(&random);
      if (!symbols) break;
      if (differ(symbols)) return found;
    }
  } catch (const WorkEnded& end) {
    if (end.limit != work) throw;  // the limit of the whole proof, or interrupted
  }
  return found;
}

}  // namespace lemma::prover
