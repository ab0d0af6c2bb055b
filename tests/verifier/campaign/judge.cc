#include "tests/verifier/campaign/judge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/coverage.h"
#include "tests/verifier/campaign/graph_values.h"
#include "tests/verifier/campaign/instances.h"
#include "tests/verifier/campaign/judge_inputs.h"

namespace lemma {
namespace {

constexpr double kMaxWork = 400000;   // of a side that is run
constexpr double kNaiveWork = 20000;  // and that is run by the slow evaluator too
// Tolerances in double, as a share of the largest number on the way: for exact constants, and for
// constants rounded to f32.
constexpr double kTolerance = 1e-9, kRoundedTolerance = 1e-6;
// In the operators' own types: for f32, and for narrower types. A value that is further off crossed
// a discontinuity.
constexpr double kTypedTolerance = 1e-3, kNarrowTolerance = 0.05;

struct Sides {
  GraphRunner source, target;
};

bool SameTypes(const Graph& a, const Graph& b) {
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    if (a.outputs()[i].type() != b.outputs()[i].type()) return false;
  }
  return a.outputs().size() == b.outputs().size();
}

std::string TypesOf(const Graph& graph) {
  std::string text;
  for (const Value& v : graph.outputs()) absl::StrAppend(&text, " ", v.type().ToString());
  return text;
}

std::string TextOf(const std::vector<Tensor>& inputs) {
  std::string text;
  for (const Tensor& t : inputs) {
    absl::StrAppend(&text, " ", t.type().ToString(), "(");
    for (int64_t i = 0; i < std::min<int64_t>(t.size(), 40); ++i) {
      absl::StrAppend(&text, i ? " " : "", t.AtDouble(i));
    }
    absl::StrAppend(&text, t.size() > 40 ? " …)" : ")");
  }
  return text;
}

std::string Element(size_t output, size_t i, double a, double b) {
  return absl::StrCat("output ", output, ", element ", i, " is ", a, " and ", b);
}

class JudgedClaim {
 public:
  JudgedClaim(const Substitution& rule, const JudgeOptions& options)
      : rule_(rule),
        options_(options),
        coverage_(rule),
        instances_(rule, options.seed),
        random_(HashCombine(options.seed, 7)),
        constants_(ConstantsOf(rule)) {}

  Judgment Run() {
    for (int tries = 0; tries < 3 * options_.instances; ++tries) {
      if (result_.instances >= options_.instances) break;
      auto assignment = instances_.Draw();
      if (!assignment) break;
      const std::string difference = JudgeInstance(*assignment);
      if (difference.empty()) continue;
      result_.difference = absl::StrCat("at ", Describe(rule_, *assignment), ": ", difference);
      break;
    }
    return std::move(result_);
  }

 private:
  bool Counts(const Assignment& assignment) {
    return !options_.as_proved || coverage_.Covers(assignment.symbols, assignment.dtype);
  }

  // nullptr if a side is not well-formed there, or too large to run.
  std::unique_ptr<Sides> Build(const Assignment& assignment, std::string* difference) {
    auto source = Instantiate(rule_, rule_.source, assignment);
    auto target = Instantiate(rule_, rule_.target, assignment);
    if (!source.ok() || !target.ok()) return nullptr;
    if (!SameTypes(*source, *target)) {
      *difference = absl::StrCat("types are", TypesOf(*source), " and", TypesOf(*target));
      return nullptr;
    }
    auto a = GraphRunner::Of(*source), b = GraphRunner::Of(*target);
    if (!a.ok() || !b.ok() || a->work() > kMaxWork || b->work() > kMaxWork) return nullptr;
    return std::make_unique<Sides>(Sides{*std::move(a), *std::move(b)});
  }

  std::string JudgeInstance(const Assignment& drawn) {
    Assignment assignment = drawn;
    // In f64, constants keep the values they are written with. A proof that names f32 covers f32
    // alone.
    assignment.dtype = DType::kF64;
    if (!Counts(assignment)) assignment.dtype = DType::kF32;
    if (!Counts(assignment)) return "";
    std::string difference;
    auto sides = Build(assignment, &difference);
    if (sides == nullptr) return difference;
    ++result_.instances;
    for (const Value& v : sides->source.graph().inputs()) {
      for (int64_t size : v.shape()) result_.largest_size = std::max(result_.largest_size, size);
    }
    for (int kind = 0; kind <= static_cast<int>(Inputs::kConstants); ++kind) {
      difference = CompareReal(*sides, static_cast<Inputs>(kind));
      if (!difference.empty()) return difference;
    }
    if (sides->source.rational() && sides->target.rational()) difference = CompareField(*sides);
    if (!difference.empty() || !options_.as_proved) return difference;
    if (rule_.contract == FloatContract::kBitExact) return CompareBits(assignment);
    if (rule_.contract != FloatContract::kReassociates) return "";
    assignment.dtype = DType::kF32;
    sides = Build(assignment, &difference);
    return sides == nullptr ? difference : CompareReassociated(*sides);
  }

  // An element that is further off than rounding explains; "" if there is none.
  std::string CompareReal(const Sides& sides, Inputs kind) {
    const auto inputs = DrawInputs(sides.source.graph(), kind, true, constants_, &random_);
    Seen seen;
    auto a = sides.source.RunReal(inputs, &seen);
    auto b = sides.target.RunReal(inputs, &seen);
    if (!a.ok() || !b.ok()) return "";  // a position outside
    ++result_.comparisons;
    const bool all_f64 = sides.source.all_f64() && sides.target.all_f64();
    const double most = seen.largest * (all_f64 ? kTolerance : kRoundedTolerance);
    std::string slow = CompareSlowly(sides, inputs, *a, *b, most);
    if (!slow.empty()) return slow;
    for (size_t o = 0; o < a->size(); ++o) {
      for (size_t i = 0; i < (*a)[o].size(); ++i) {
        const double x = (*a)[o][i], y = (*b)[o][i];
        if (!Differ(x, y, most)) continue;
        // Near a discontinuity rounding alone makes a difference. A number that has no value, such
        // as 1/0, may have become an integer.
        const bool exact = seen.all_finite && (kind == Inputs::kWhole || kind == Inputs::kZero ||
                                               kind == Inputs::kSparse || kind == Inputs::kOneSign);
        const bool persists = Persists(sides, inputs, o, i, x - y);
        const std::optional<bool> in_field = DifferInField(sides, inputs, o, i);
        if (!persists && !(exact && in_field.value_or(false))) continue;
        // Doubles do not show on which side of a discontinuity log(exp(x)) - x or (x - 1/26) -
        // (y - 1/26) lies, here or nearby. The field has the second number exactly.
        bool undecided = false;
        for (const GraphRunner* side : {&sides.source, &sides.target}) {
          undecided |= side->discontinuous_where_rounded();
          undecided |= side->discontinuous() && in_field && !*in_field;
        }
        if (undecided) continue;
        return absl::StrCat("as real numbers, ", Element(o, i, x, y), " for", TextOf(inputs));
      }
    }
    return "";
  }

  static bool Differ(double x, double y, double most) {
    return std::isfinite(x) && std::isfinite(y) && std::abs(x - y) > most;
  }

  bool Persists(const Sides& sides, const std::vector<Tensor>& inputs, size_t o, size_t i,
                double difference) {
    const auto moved = Moved(inputs, &random_);
    auto a = sides.source.RunReal(moved, nullptr), b = sides.target.RunReal(moved, nullptr);
    if (!a.ok() || !b.ok()) return false;
    return std::abs((*a)[o][i] - (*b)[o][i] - difference) <= 0.5 * std::abs(difference);
  }

  // Small integers are the same numbers in the field. The field has fewer laws than the reals.
  // nullopt if a side has no value in the field.
  static std::optional<bool> DifferInField(const Sides& sides, const std::vector<Tensor>& inputs,
                                           size_t o, size_t i) {
    std::vector<std::vector<Field>> elements;
    for (const Tensor& t : inputs) {
      elements.emplace_back();
      for (double x : t.ToDoubles()) elements.back().push_back(Field::FromDouble(x));
    }
    auto a = sides.source.RunField(elements), b = sides.target.RunField(elements);
    if (!a.ok() || !b.ok()) return std::nullopt;
    return (*a)[o][i] != (*b)[o][i];
  }

  // The second evaluator must agree with the first, so that no fault of one of them decides alone.
  static std::string CompareSlowly(const Sides& sides, const std::vector<Tensor>& inputs,
                                   const std::vector<std::vector<double>>& a,
                                   const std::vector<std::vector<double>>& b, double most) {
    for (const auto& [side, fast] : {std::pair(&sides.source, &a), {&sides.target, &b}}) {
      if (side->integers() || side->work() > kNaiveWork) continue;
      // Quotients are rounded, and the evaluators round in different orders.
      if (side->discontinuous() && side->divides()) continue;
      auto slow = RunNaively(side->graph(), inputs);
      if (!slow.ok()) return absl::StrCat("the slow evaluator says ", slow.status().ToString());
      for (size_t o = 0; o < fast->size(); ++o) {
        for (size_t i = 0; i < (*fast)[o].size(); ++i) {
          const double x = (*fast)[o][i], y = (*slow)[o][i];
          if (!Differ(x, y, most)) continue;
          return absl::StrCat("two evaluators of one side disagree: ", Element(o, i, x, y));
        }
      }
    }
    return "";
  }

  // An exact comparison: equal rational functions are equal in the field, and different ones differ
  // there at random elements. Elements without a value as real numbers do not count.
  std::string CompareField(const Sides& sides) {
    const auto inputs =
        DrawInputs(sides.source.graph(), Inputs::kPositive, true, constants_, &random_);
    std::vector<std::vector<Field>> elements;
    for (const Tensor& t : inputs) {
      elements.emplace_back();
      for (int64_t i = 0; i < t.size(); ++i) {
        elements.back().push_back(Field::FromRaw(random_() % Field::kPrime));
      }
    }
    auto a = sides.source.RunField(elements), b = sides.target.RunField(elements);
    auto x = sides.source.RunReal(inputs, nullptr), y = sides.target.RunReal(inputs, nullptr);
    if (!a.ok() || !b.ok() || !x.ok() || !y.ok()) return "";
    ++result_.comparisons;
    for (size_t o = 0; o < a->size(); ++o) {
      for (size_t i = 0; i < (*a)[o].size(); ++i) {
        if ((*a)[o][i] == (*b)[o][i]) continue;
        if (!std::isfinite((*x)[o][i]) || !std::isfinite((*y)[o][i])) continue;
        return absl::StrCat("in the field, output ", o, ", element ", i, " is ",
                            (*a)[o][i].ToString(), " and ", (*b)[o][i].ToString());
      }
    }
    return "";
  }

  // In f32, another order of sums changes little, and NaN shows on both sides.
  std::string CompareReassociated(const Sides& sides) {
    for (Inputs kind : {Inputs::kSigned, Inputs::kPositive, Inputs::kWhole}) {
      auto inputs = DrawInputs(sides.source.graph(), kind, false, constants_, &random_);
      Seen seen;
      auto a = sides.source.RunTyped(inputs), b = sides.target.RunTyped(inputs);
      if (!a.ok() || !b.ok() || !sides.source.RunReal(inputs, &seen).ok() ||
          !sides.target.RunReal(inputs, &seen).ok()) {
        continue;
      }
      ++result_.comparisons;
      ++result_.typed;
      const bool has_16_bit_floats =
          sides.source.has_16_bit_floats() || sides.target.has_16_bit_floats();
      const double most = seen.largest * (has_16_bit_floats ? kNarrowTolerance : kTypedTolerance);
      auto far = [&](double x, double y) { return Differ(x, y, most); };
      std::string found = FirstElement(*a, *b, far);
      if (found.empty() && PutNan(&inputs)) {
        auto c = sides.source.RunTyped(inputs), d = sides.target.RunTyped(inputs);
        if (!c.ok() || !d.ok()) continue;
        ++result_.typed;
        // Elements that are infinite or NaN without the inserted NaN say nothing.
        for (size_t o = 0; o < a->size(); ++o) {
          for (int64_t i = 0; i < (*a)[o].size() && found.empty(); ++i) {
            if (!std::isfinite((*a)[o].AtDouble(i)) || !std::isfinite((*b)[o].AtDouble(i)))
              continue;
            const double x = (*c)[o].AtDouble(i), y = (*d)[o].AtDouble(i);
            if (std::isnan(x) != std::isnan(y)) found = Element(o, i, x, y);
          }
        }
      }
      if (!found.empty()) return absl::StrCat("as typed, ", found, " for", TextOf(inputs));
    }
    return "";
  }

  // The first element for which `differs` holds; "" if there is none.
  static std::string FirstElement(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                                  const std::function<bool(double, double)>& differs) {
    for (size_t o = 0; o < a.size(); ++o) {
      for (int64_t i = 0; i < a[o].size(); ++i) {
        const double x = a[o].AtDouble(i), y = b[o].AtDouble(i);
        if (differs(x, y)) return Element(o, i, x, y);
      }
    }
    return "";
  }

  // Puts a NaN into one element of a variable that is no weight; false if there is no such
  // variable.
  bool PutNan(std::vector<Tensor>* inputs) {
    std::vector<size_t> fit;
    for (size_t i = 0; i < inputs->size(); ++i) {
      const bool any = rule_.vars[i].role == VarRole::kAny;
      if (any && IsFloat((*inputs)[i].dtype()) && (*inputs)[i].size() > 0) fit.push_back(i);
    }
    if (fit.empty()) return false;
    Tensor& chosen = (*inputs)[fit[random_() % fit.size()]];
    std::vector<double> data = chosen.ToDoubles();
    data[random_() % data.size()] = NAN;
    chosen = *Tensor::FromDoubles(chosen.type(), data);
    return true;
  }

  std::string CompareBits(Assignment assignment) {
    for (int type = 0; type < kNumDTypes; ++type) {
      assignment.dtype = static_cast<DType>(type);
      std::string difference;
      if (!Counts(assignment)) continue;
      auto sides = Build(assignment, &difference);
      if (!difference.empty()) return difference;
      if (sides == nullptr) continue;
      // Only sums whose order does not matter, because a back end may choose any order.
      const bool sums = sides->source.adds_up() || sides->target.adds_up();
      const bool exact_in_double = sides->source.polynomial() && sides->target.polynomial();
      if (sums && assignment.dtype == DType::kF64 && !exact_in_double) continue;
      const std::vector<Inputs> any = {Inputs::kSpecial, Inputs::kSigned, Inputs::kConstants};
      const std::vector<Inputs> exact = {Inputs::kDyadicSpecial, Inputs::kDyadic, Inputs::kWhole};
      for (Inputs kind : sums ? exact : any) {
        difference = CompareBits(*sides, kind);
        if (difference.empty()) continue;
        // A sum of rounded numbers may lie on the border between two floats, but hardly twice.
        if (sums && CompareBits(*sides, kind).empty() && CompareBits(*sides, kind).empty())
          continue;
        if (!difference.empty())
          return absl::StrCat("in ", Name(assignment.dtype), ", ", difference);
      }
      const bool typed = std::all_of(rule_.vars.begin(), rule_.vars.end(),
                                     [](const PatternVar& var) { return var.dtype.has_value(); });
      if (typed) break;  // the common type does not occur
    }
    return "";
  }

  std::string CompareBits(const Sides& sides, Inputs kind) {
    auto inputs = DrawInputs(sides.source.graph(), kind, false, constants_, &random_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      // Weights are finite.
      if (rule_.vars[i].role == VarRole::kAny || inputs[i].IsFinite()) continue;
      std::vector<double> data = inputs[i].ToDoubles();
      for (double& x : data) x = std::isfinite(x) ? x : -0.0;
      inputs[i] = *Tensor::FromDoubles(inputs[i].type(), data);
    }
    auto a = sides.source.RunTyped(inputs), b = sides.target.RunTyped(inputs);
    if (!a.ok() || !b.ok()) return "";
    ++result_.comparisons;
    ++result_.typed;
    const bool zeros_alike =
        sides.source.leaves_zero_sign_open() || sides.target.leaves_zero_sign_open();
    for (size_t o = 0; o < a->size(); ++o) {
      const Tensor &s = (*a)[o], &t = (*b)[o];
      for (int64_t i = 0; i < s.size(); ++i) {
        const double x = s.AtDouble(i), y = t.AtDouble(i);
        if (std::isnan(x) && std::isnan(y)) continue;
        // Not all integers beyond 2^53 are doubles.
        const bool same = IsFloat(s.dtype()) ? x == y : s.AtInt(i) == t.AtInt(i);
        if (same && (zeros_alike || std::signbit(x) == std::signbit(y))) continue;
        return absl::StrCat("bit for bit, ", Element(o, i, x, y), " for", TextOf(inputs));
      }
    }
    return "";
  }

  const Substitution& rule_;
  const JudgeOptions options_;
  Coverage coverage_;
  Instances instances_;
  std::mt19937_64 random_;
  const std::vector<double> constants_;
  Judgment result_;
};

}  // namespace

Judgment Judge(const Substitution& rule, const JudgeOptions& options) {
  return JudgedClaim(rule, options).Run();
}

}  // namespace lemma
