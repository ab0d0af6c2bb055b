#include "verifier/refutation/comparison.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/expr/arithmetic.h"

namespace lemma::prover {
namespace {

template <class Number>
using Columns = std::vector<std::vector<Number>>;

class Comparer {
 public:
  Comparer(const ComparedSides& sides, InputStyle style, uint64_t seed)
      : sides_(sides), style_(style), random_(seed) {}

  std::optional<Refuted> Find() {
    DrawInputs();
    auto a = sides_.source.Run<double>(inputs_, params_);
    auto b = a ? sides_.target.Run<double>(inputs_, params_) : std::nullopt;
    if (!b) return std::nullopt;
    std::vector<std::vector<int64_t>> dims;
    for (size_t o = 0; o < a->size(); ++o) {
      dims.push_back(sides_.source.output_dims(o));
      for (size_t i = 0; i < (*a)[o].size(); ++i)
        unequal_ = unequal_ || Unequal((*a)[o][i], (*b)[o][i]);
    }
    if (sides_.within != nullptr && !MoveCloser(*a, &*b)) return std::nullopt;
    const Columns<double> original = original_;
    auto found = LargestDifference(*a, *b, dims, sides_.tolerance);
    if (!found || !IsStable(*found)) return std::nullopt;
    if (sides_.within == nullptr && !DifferInField()) return std::nullopt;
    if (sides_.within != nullptr) {
      const size_t output = static_cast<size_t>(found->refuted.output);
      found->refuted.target = original[output][found->position];
    }
    for (const auto& [name, x] : params_) found->refuted.values[name] = absl::StrCat(x);
    size_t elements = 0;
    for (const std::vector<double>& input : inputs_) elements += input.size();
    if (elements <= Refuted::kMostShown) found->refuted.inputs = inputs_;
    return found->refuted;
  }

  bool unequal() const { return unequal_; }

 private:
  static bool Unequal(double x, double y) {
    return std::isnan(x) || std::isnan(y) ? std::isnan(x) != std::isnan(y) : x != y;
  }

  double Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  double Real() {
    switch (style_.reals) {
      case InputStyle::Reals::kPositive:
        return 0.25 + Unit() * 1.5;
      case InputStyle::Reals::kSigned:
        return Unit() * 4 - 2;
      case InputStyle::Reals::kSmallIntegers:
        return static_cast<double>(random_() % 7) - 3;
      case InputStyle::Reals::kOneSign:
        return sign_ * static_cast<double>(1 + random_() % 4);
      case InputStyle::Reals::kSparse:
        return random_() % 4 == 0 ? static_cast<double>(random_() % 7) - 3 : 0;
      case InputStyle::Reals::kSomeInfinite:
        return random_() % 4 == 0 ? INFINITY : Unit() * 4 - 2;
      case InputStyle::Reals::kSuggested: {
        const std::vector<double>& suggested = style_.suggested->elements;
        if (suggested.empty() || random_() % 2 == 0) return static_cast<double>(random_() % 7) - 3;
        return suggested[random_() % suggested.size()];
      }
      case InputStyle::Reals::kMonotonic:
        return sign_ * static_cast<double>(++drawn_);
    }
    return 0;
  }

  double Integer(DType dtype) {
    if (dtype == DType::kBool) return static_cast<double>(random_() % 2);
    const uint64_t range = static_cast<uint64_t>(style_.high - style_.low + 1);
    int64_t x = style_.low + static_cast<int64_t>(random_() % range);
    if (style_.suggested != nullptr && !style_.suggested->sizes.empty() && random_() % 2 == 0) {
      const std::vector<int64_t>& sizes = style_.suggested->sizes;
      const int64_t size = sizes[random_() % sizes.size()];
      if (Holds(dtype, static_cast<double>(size))) x = size;
    }
    return static_cast<double>(IsUnsigned(dtype) ? std::abs(x) : x);
  }

  // Moves the target's elements towards the source's, by as much as elements may differ. False if
  // this number is not known.
  bool MoveCloser(const Columns<double>& source, Columns<double>* target) {
    auto bound = sides_.within->Run<double>({}, params_);
    if (!bound || bound->size() != 1 || (*bound)[0].size() != 1) return false;
    const double most = (*bound)[0][0];
    original_ = *target;
    for (size_t o = 0; o < source.size(); ++o) {
      for (size_t i = 0; i < source[o].size(); ++i) {
        double& y = (*target)[o][i];
        y += std::min(std::max(source[o][i] - y, -most), most);
      }
    }
    return true;
  }

  bool Known(size_t i) const { return i < sides_.known.size() && sides_.known[i].has_value(); }
  bool IsReal(size_t i) const { return !Known(i) && IsFloat(sides_.inputs[i].dtype); }

  void DrawInputs() {
    for (size_t i = 0; i < sides_.inputs.size(); ++i) {
      if (style_.reals == InputStyle::Reals::kOneSign ||
          style_.reals == InputStyle::Reals::kMonotonic) {
        sign_ = random_() % 2 == 0 ? -1 : 1;
      }
      std::vector<double> data(NumElements(sides_.source.input_dims(i)));
      for (double& x : data) x = IsReal(i) ? Real() : Integer(sides_.inputs[i].dtype);
      if (Known(i)) data = sides_.known[i]->ToDoubles();
      inputs_.push_back(std::move(data));
    }
    for (const std::string& name : sides_.params) {
      const double eighths = std::round(Real() * 8) / 8;
      params_[name] = Within(name, eighths == 0 ? 1 : eighths);
    }
  }

  // x, or a number within the parameter's bounds.
  double Within(const std::string& name, double x) const {
    if (sides_.bounds == nullptr || sides_.bounds->count(name) == 0) return x;
    const auto& [low, high] = sides_.bounds->at(name);
    if (low < x && x < high) return x;
    if (std::isfinite(low) && std::isfinite(high)) return low + (high - low) / 2;
    return std::isfinite(low) ? low + 1 : high - 1;
  }

  // Rounding alone makes a large difference only next to a discontinuity of a function.
  bool IsStable(const DifferentElement& found) {
    Columns<double> moved = inputs_;
    for (size_t i = 0; i < moved.size(); ++i) {
      for (double& x : moved[i]) x += IsReal(i) ? 1e-9 * (Unit() - 0.5) : 0;
    }
    auto a = sides_.source.Run<double>(moved, params_);
    auto b = sides_.target.Run<double>(moved, params_);
    if (!a || !b) return false;
    if (sides_.within != nullptr && !MoveCloser(*a, &*b)) return false;
    const int o = found.refuted.output;
    const double difference = found.refuted.source - found.refuted.target;
    const double again = (*a)[o][found.position] - (*b)[o][found.position];
    return std::abs(again - difference) <= 0.5 * std::abs(difference);
  }

  // Small integers keep their values in the field. Other reals are drawn again.
  bool DifferInField() {
    const bool draw = style_.reals == InputStyle::Reals::kPositive ||
                      style_.reals == InputStyle::Reals::kSigned ||
                      style_.reals == InputStyle::Reals::kSomeInfinite;
    auto in_field = [&](double x, bool real) {
      return draw && real ? Field::FromRaw(random_() % Field::kPrime) : Field::FromDouble(x);
    };
    Columns<Field> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs.emplace_back();
      for (double x : inputs_[i]) inputs.back().push_back(in_field(x, IsReal(i)));
    }
    std::map<std::string, Field> params;
    for (const auto& [name, x] : params_) params[name] = in_field(x, true);
    auto a = sides_.source.Run<Field>(inputs, params);
    auto b = sides_.target.Run<Field>(inputs, params);
    return a && b && *a != *b;
  }

  const ComparedSides& sides_;
  const InputStyle style_;
  std::mt19937_64 random_;
  Columns<double> inputs_;
  std::map<std::string, double> params_;
  double sign_ = 1;  // of the tensor being drawn
  int64_t drawn_ = 0;
  Columns<double> original_;  // the target's elements before they were moved
  bool unequal_ = false;
};

}  // namespace

std::optional<DifferentElement> LargestDifference(const Columns<double>& source,
                                                  const Columns<double>& target,
                                                  const std::vector<std::vector<int64_t>>& dims,
                                                  double tolerance) {
  std::optional<DifferentElement> found;
  double largest = 1;
  for (size_t o = 0; o < source.size(); ++o) {
    for (size_t i = 0; i < source[o].size(); ++i) {
      const double x = source[o][i], y = target[o][i];
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      const double excess = std::abs(x - y) / (tolerance * (1 + std::abs(x) + std::abs(y)));
      if (excess <= largest) continue;
      largest = excess;
      found = DifferentElement();
      found->position = i;
      Refuted& refuted = found->refuted;
      refuted.output = static_cast<int>(o);
      refuted.source = x;
      refuted.target = y;
      int64_t rest = static_cast<int64_t>(i);
      refuted.index.assign(dims[o].size(), 0);
      for (size_t d = dims[o].size(); d-- > 0;) {
        refuted.index[d] = rest % dims[o][d];
        rest /= dims[o][d];
      }
    }
  }
  return found;
}

std::optional<Refuted> FindDifference(const ComparedSides& sides, InputStyle style, uint64_t seed,
                                      bool* unequal) {
  Comparer comparer(sides, style, seed);
  std::optional<Refuted> found = comparer.Find();
  if (found) found->seed = seed;
  if (unequal != nullptr) *unequal = *unequal || comparer.unequal();
  return found;
}

}  // namespace lemma::prover
