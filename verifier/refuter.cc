#include "verifier/refuter.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/expr/compose.h"
#include "graph/hash.h"
#include "verifier/concrete.h"

namespace lemma::verify {
namespace {

constexpr int64_t kMaxSteps = 60000;
constexpr int64_t kMaxElements = 4000;

// Small integers for integer tensors, so that they can be positions; 0 and 1 for truth values.
double RandomReal(DType dtype, int style, std::mt19937_64* random) {
  if (dtype == DType::kBool) return static_cast<double>((*random)() % 2);
  if (IsInteger(dtype)) return static_cast<double>((*random)() % 3);
  const double unit = static_cast<double>((*random)() >> 11) * 0x1p-53;
  return style == 0 ? 0.25 + unit * 1.5 : unit * 4 - 2;
}

struct Sides {
  std::optional<std::vector<Values<double>>> real[2];
  std::optional<std::vector<Values<Field>>> field[2];
};

}  // namespace

Refuter::Refuter(const Statement& statement, const Hypotheses& hypotheses, Leaves* leaves,
                 uint64_t seed)
    : statement_(statement), hypotheses_(hypotheses), leaves_(*leaves), seed_(seed) {
  CollectSymbols(statement.source, &symbols_, &params_);
  CollectSymbols(statement.target, &symbols_, &params_);
  for (const Guard& guard : statement.requirements) CollectSymbols(guard, &symbols_);
  for (const ExprType& input : statement.source.inputs) {
    positive_.insert(positive_.end(), input.dims.begin(), input.dims.end());
  }
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
    std::map<Leaf, int64_t> values;
    const int reach = 2 + static_cast<int>((*random)() % 4);
    for (Leaf leaf : free) {
      const uint64_t draw = style == Style::kSpecial ? (*random)() % 8 : 7;
      if (draw < 4) {
        values[leaf] = draw > 0 ? 1 : 0;
        continue;
      }
      if (style == Style::kNegative && (*random)() % 6 == 0) {
        values[leaf] = -1 - static_cast<int64_t>((*random)() % 2);
        continue;
      }
      if (draw < 6 && !values.empty()) {
        values[leaf] = std::next(values.begin(), (*random)() % values.size())->second;
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
  absl::flat_hash_map<std::string, int64_t> binding(symbols.begin(), symbols.end());
  const Definition sides[2] = {Bind(statement_.source, binding), Bind(statement_.target, binding)};
  for (int style = 0; style < 2; ++style) {
    std::mt19937_64 random(HashCombine(seed, style));
    std::vector<Values<double>> real;
    std::vector<Values<Field>> field;
    for (const ExprType& input : sides[0].inputs) {
      Values<double> r;
      Values<Field> f;
      int64_t size = 1;
      for (const IndexExpr& dim : input.dims) {
        if (!dim.is_const() || dim.value() < 0 || size > kMaxElements) return std::nullopt;
        r.dims.push_back(dim.value());
        size *= dim.value();
      }
      if (size > kMaxElements) return std::nullopt;
      f.dims = r.dims;
      for (int64_t i = 0; i < size; ++i) {
        r.data.push_back(RandomReal(input.dtype, style, &random));
        f.data.push_back(IsFloat(input.dtype) ? Field::FromRaw(random() % Field::kPrime)
                                              : Field::FromDouble(r.data.back()));
      }
      real.push_back(std::move(r));
      field.push_back(std::move(f));
    }
    std::map<std::string, double> real_params;
    std::map<std::string, Field> field_params;
    for (const std::string& name : params_) {
      real_params[name] = RandomReal(DType::kF64, style, &random);
      field_params[name] = Field::FromRaw(random() % Field::kPrime);
    }
    Sides s;
    for (int side = 0; side < 2; ++side) {
      s.real[side] = EvaluateAll<double>(sides[side], real, real_params, kMaxSteps);
      if (!s.real[side]) return std::nullopt;
    }
    for (size_t o = 0; o < s.real[0]->size() && o < s.real[1]->size(); ++o) {
      const Values<double>&a = (*s.real[0])[o], &b = (*s.real[1])[o];
      Refuted found;
      for (const auto& [name, value] : symbols) found.values[name] = absl::StrCat(value);
      for (const auto& [name, value] : real_params) found.values[name] = absl::StrCat(value);
      found.seed = seed;
      found.output = static_cast<int>(o);
      if (a.dims != b.dims) {
        found.source = static_cast<double>(a.data.size());
        found.target = static_cast<double>(b.data.size());
        found.values["shapes"] = "differ";
        return found;
      }
      for (size_t i = 0; i < a.data.size(); ++i) {
        const double x = a.data[i], y = b.data[i];
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        rounding_differs_ |= x != y;
        if (std::abs(x - y) <= 1e-6 * (1 + std::abs(x) + std::abs(y))) continue;
        // Rounding does not make field elements differ.
        for (int side = 0; side < 2 && !s.field[0]; ++side) {
          s.field[side] = EvaluateAll<Field>(sides[side], field, field_params, kMaxSteps);
          if (!s.field[side]) return std::nullopt;
          if (side == 0) s.field[1] = EvaluateAll<Field>(sides[1], field, field_params, kMaxSteps);
          if (!s.field[1]) return std::nullopt;
        }
        const bool field_differs = [&] {
          for (size_t p = 0; p < s.field[0]->size(); ++p) {
            if ((*s.field[0])[p].data != (*s.field[1])[p].data) return true;
          }
          return false;
        }();
        if (!field_differs) continue;
        int64_t rest = static_cast<int64_t>(i);
        found.index.assign(a.dims.size(), 0);
        for (size_t d = a.dims.size(); d-- > 0;) {
          found.index[d] = rest % a.dims[d];
          rest /= a.dims[d];
        }
        found.source = x;
        found.target = y;
        return found;
      }
    }
  }
  return std::nullopt;
}

// Each symbol as small as it can be with the sides still differing.
Refuted Refuter::Shrink(SymbolMap symbols, Refuted found) {
  bool smaller = true;
  for (int round = 0; round < 4 && smaller; ++round) {
    smaller = false;
    for (auto& [name, value] : symbols) {
      const int64_t original = value;
      for (int64_t candidate = 0; candidate < original; ++candidate) {
        value = candidate;
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
    auto symbols = Sample(&random);
    if (!symbols) return std::nullopt;
    const uint64_t seed = HashCombine(seed_, i);
    if (auto found = Compare(*symbols, seed)) return Shrink(*symbols, *found);
  }
  return std::nullopt;
}

}  // namespace lemma::verify
