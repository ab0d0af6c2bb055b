#include "verifier/refuter.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "graph/expr/compose.h"
#include "graph/hash.h"
#include "verifier/comparison.h"
#include "verifier/storage.h"
#include "verifier/unroll.h"
#include "verifier/work.h"

namespace lemma::verify {
namespace {

constexpr double kMaxWork = 200000;  // operations and elements of a side
constexpr int kMaxTerms = 400;       // of sums that are written out
constexpr int kMaxInOrder = 3;       // comparisons with these; they only save time

// Whether the evaluator may choose an order in `e`.
bool AddsUp(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce &&
      (e.reduce() == ReduceKind::kSum || e.reduce() == ReduceKind::kProd)) {
    return true;
  }
  return std::any_of(e.args().begin(), e.args().end(), AddsUp);
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
    : statement_(statement), hypotheses_(hypotheses), leaves_(*leaves), seed_(seed) {
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
      const bool byte = tensor.dtype == DType::kI8 || tensor.dtype == DType::kU8;
      wraps_bytes_ = wraps_bytes_ || (byte && !IntegerStorage(*side, tensor).empty());
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

std::optional<SymbolMap> Refuter::Complete(const std::map<Leaf, int64_t>& free) const {
  SymbolMap symbols;
  for (const std::string& name : symbols_) {
    const Leaf leaf = leaves_.Symbol(name);
    auto it = hypotheses_.solved().find(leaf);
    auto value =
        hypotheses_.Value(it == hypotheses_.solved().end() ? Poly::Of(leaf) : it->second, free);
    if (!value || *value > 64 || *value < -64) return std::nullopt;
    symbols[name] = *value;
  }
  if (!Satisfies(symbols)) return std::nullopt;
  return symbols;
}

std::optional<SymbolMap> Refuter::Sample(std::mt19937_64* random, Style style, int attempts) {
  std::vector<Leaf> free = hypotheses_.FreeSymbols();
  for (const std::string& name : symbols_) {
    const Leaf leaf = leaves_.Symbol(name);
    if (hypotheses_.solved().count(leaf) == 0 &&
        std::find(free.begin(), free.end(), leaf) == free.end()) {
      free.push_back(leaf);
    }
  }
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Work(static_cast<int64_t>(4 * free.size() + 4 * symbols_.size()));
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
    if (auto symbols = Complete(values)) return symbols;
  }
  return std::nullopt;
}

std::optional<Refuted> Refuter::Compare(const SymbolMap& symbols, uint64_t seed) {
  const absl::flat_hash_map<std::string, int64_t> binding(symbols.begin(), symbols.end());
  const Definition bound = Bind(statement_.source, binding);
  auto source = Concrete::Of(bound, kMaxWork);
  auto target = Concrete::Of(Bind(statement_.target, binding), kMaxWork);
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
  if (wraps_bytes_) return std::nullopt;
  const InputStyle styles[] = {{InputStyle::Reals::kPositive, 0, 2},
                               {InputStyle::Reals::kSigned, -2, 2},
                               {InputStyle::Reals::kSmallIntegers, 0, 4},
                               {InputStyle::Reals::kOneSign, 0, 2},
                               {InputStyle::Reals::kSparse, 0, 2}};
  ComparedSides sides = {*source, *target, bound.inputs, params_, {}};
  for (const InputStyle& style : styles) {
    if (style.reals == InputStyle::Reals::kOneSign && !compares_) break;
    const uint64_t of_style = HashCombine(seed, static_cast<uint64_t>(style.reals));
    bool* unequal = adds_up_ ? nullptr : &rounding_differs_;
    if (auto found = FindDifference(sides, style, of_style, unequal)) {
      found->seed = seed;
      found->values.insert(values.begin(), values.end());
      return found;
    }
  }
  if (adds_up_ && !rounding_differs_ && in_order_ < kMaxInOrder) CompareInOrder(binding, seed);
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
  // By infinite elements times 0, too: x + w * 0 is x else.
  for (auto reals : {InputStyle::Reals::kPositive, InputStyle::Reals::kSomeInfinite}) {
    InputStyle style;
    style.reals = reals;
    FindDifference({*a, *b, bound.inputs, params_, {}}, style, seed, &rounding_differs_);
  }
}

// Each symbol as small as it can be with the sides still differing.
Refuted Refuter::Shrink(SymbolMap symbols, Refuted found) {
  bool smaller = true;
  for (int round = 0; round < 4 && smaller; ++round) {
    smaller = false;
    for (auto& [name, value] : symbols) {
      const int64_t original = value;
      for (int64_t magnitude = 0; magnitude < std::abs(original); ++magnitude) {
        value = original < 0 ? -magnitude : magnitude;
        if (Satisfies(symbols)) {
          if (auto again = Compare(symbols, found.seed)) {
            found = *again;
            smaller = true;
            break;
          }
        }
        value = original;
      }
    }
  }
  return found;
}

std::optional<Refuted> Refuter::Search(int samples) {
  std::mt19937_64 random(seed_);
  for (int i = 0; i < samples; ++i) {
    // Every second time what is not a size may be negative.
    auto symbols = Sample(&random, i % 2 == 1 ? Style::kNegative : Style::kVaried);
    if (!symbols) return std::nullopt;
    const uint64_t seed = HashCombine(seed_, i);
    if (auto found = Compare(*symbols, seed)) return Shrink(*symbols, *found);
  }
  return std::nullopt;
}

}  // namespace lemma::verify
