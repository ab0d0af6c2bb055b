#include "verifier/checker/form_value.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/dtype.h"

namespace lemma::checker {
namespace {

constexpr size_t kMostPoints = 4096;
constexpr int64_t kMostTries = 400'000;  // points per element
constexpr int64_t kTriesPerWork = 4;
constexpr int64_t kFarthest = int64_t{1} << 24;  // numbers stay below it, so that products fit
constexpr int64_t kUnbounded = 12;  // extent of an axis that only nonlinear guards bound

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<ScalarFn> FunctionNamed(const std::string& name) {
  for (int i = 0; i < kNumScalarFns; ++i) {
    if (name == Info(static_cast<ScalarFn>(i)).name) return static_cast<ScalarFn>(i);
  }
  return std::nullopt;
}

std::optional<ReduceKind> ReductionNamed(absl::string_view name) {
  for (ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
    if (name == Name(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace

int64_t FormValue::Integer(const Node& poly) {
  if (poly.is_number) {
    if (poly.number < -kFarthest || poly.number > kFarthest) Fail("a number is too large");
    return problem_.empty() ? poly.number : 0;
  }
  if (!poly.is_list) {
    if (poly.name >= 0 && values_[poly.name]) return *values_[poly.name];
    Fail(absl::StrCat(poly.text, " has no value"));
    return 0;
  }
  if (poly.Is("load", 1)) {
    Rational r;
    if (!Algebra::IsNumber(Form(poly.items[0]), &r) || r.den != 1) Fail("a position is unknown");
    return r.num;
  }
  std::vector<int64_t> args;
  for (const Node& item : poly.items) args.push_back(Integer(item));
  int64_t result = poly.text == "*" ? 1 : 0;
  if (poly.text == "+" || poly.text == "*") {
    for (int64_t arg : args) {
      result = poly.text == "+" ? result + arg : result * arg;
      if (std::abs(result) > kFarthest) Fail("a number is too large");
      if (!problem_.empty()) return 0;
    }
    return result;
  }
  if (args.size() == 2 && poly.text == "min") return std::min(args[0], args[1]);
  if (args.size() == 2 && poly.text == "max") return std::max(args[0], args[1]);
  if (args.size() == 2 && poly.text == "div" && args[1] > 0) return FloorDivide(args[0], args[1]);
  Fail(absl::StrCat("(", poly.text, " …) is no integer here"));
  return 0;
}

bool FormValue::Holds(const Node& fact) {
  if (!fact.is_list || fact.items.size() != 1) {
    Fail("a fact is (>= p), (= p) or (!= p)");
    return false;
  }
  const int64_t value = Integer(fact.items[0]);
  if (fact.text == ">=") return value >= 0;
  if (fact.text == "=") return value == 0;
  if (fact.text != "!=") Fail("a fact is (>= p), (= p) or (!= p)");
  return value != 0;
}

// ---- Points ----

std::optional<FormValue::Affine> FormValue::AffineOf(const Node& poly,
                                                     const std::vector<int>& open) {
  Affine result;
  result.factors.resize(open.size());
  if (poly.is_number) {
    result.constant = Integer(poly);
    return result;
  }
  if (!poly.is_list) {
    auto it = std::find(open.begin(), open.end(), poly.name);
    if (it == open.end()) {
      result.constant = Integer(poly);
    } else {
      result.factors[it - open.begin()] = 1;
    }
    return result;
  }
  if (poly.text != "+" && poly.text != "*") {
    // Constant, if it contains no open axis.
    std::vector<const Node*> work = {&poly};
    while (!work.empty()) {
      const Node* node = work.back();
      work.pop_back();
      if (std::find(open.begin(), open.end(), node->name) != open.end()) return std::nullopt;
      for (const Node& item : node->items) work.push_back(&item);
    }
    result.constant = Integer(poly);
    return result;
  }
  result.constant = poly.text == "*" ? 1 : 0;
  for (const Node& item : poly.items) {
    auto part = AffineOf(item, open);
    if (!part) return std::nullopt;
    if (poly.text == "+") {
      result.constant += part->constant;
      for (size_t i = 0; i < open.size(); ++i) result.factors[i] += part->factors[i];
      continue;
    }
    auto is_constant = [](const Affine& a) {
      return std::all_of(a.factors.begin(), a.factors.end(), [](int64_t f) { return f == 0; });
    };
    if (!is_constant(*part)) std::swap(*part, result);
    if (!is_constant(*part)) return std::nullopt;
    result.constant *= part->constant;
    for (int64_t& factor : result.factors) factor *= part->constant;
    for (int64_t factor : result.factors) {
      if (std::abs(factor) > kFarthest) return std::nullopt;
    }
    if (std::abs(result.constant) > kFarthest) return std::nullopt;
  }
  return result;
}

// Interval propagation through affine guards.
std::vector<FormValue::Range> FormValue::Bounds(const Node& where, const std::vector<int>& open) {
  std::vector<Range> ranges(open.size());
  std::vector<Affine> known;  // each >= 0
  for (const Node& fact : where.items) {
    if (fact.text == "!=" || fact.items.size() != 1) continue;
    auto affine = AffineOf(fact.items[0], open);
    if (!affine) continue;
    known.push_back(*affine);
    if (fact.text != "=") continue;
    affine->constant = -affine->constant;
    for (int64_t& factor : affine->factors) factor = -factor;
    known.push_back(*affine);
  }
  for (int round = 0; round < 12; ++round) {
    bool changed = false;
    for (const Affine& a : known) {
      for (size_t i = 0; i < open.size(); ++i) {
        if (a.factors[i] == 0) continue;
        // factor * axis >= -(the greatest value of the rest)
        std::optional<int64_t> most = a.constant;
        for (size_t j = 0; j < open.size() && most; ++j) {
          if (j == i || a.factors[j] == 0) continue;
          const auto& end = a.factors[j] > 0 ? ranges[j].high : ranges[j].low;
          most = end ? std::optional<int64_t>(*most + a.factors[j] * *end) : std::nullopt;
        }
        if (!most || std::abs(*most) > kFarthest) continue;
        Range& range = ranges[i];
        if (a.factors[i] > 0) {
          const int64_t low = -FloorDivide(*most, a.factors[i]);
          if (!range.low || *range.low < low) range.low = low, changed = true;
        } else {
          const int64_t high = FloorDivide(*most, -a.factors[i]);
          if (!range.high || *range.high > high) range.high = high, changed = true;
        }
      }
    }
    if (!changed) break;
  }
  return ranges;
}

void FormValue::Enumerate(const Node& where, std::vector<int>* open, const Node& axes,
                          Points* points) {
  if (++tries_ > kMostTries) Fail("a sum has too many points to try");
  if (tries_ % kTriesPerWork == 0) algebra_.Touch();
  if (!problem_.empty()) return;
  if (open->empty()) {
    for (const Node& fact : where.items) {
      if (!Holds(fact)) return;
    }
    std::vector<int64_t> point;
    for (const Node& axis : axes.items) point.push_back(*values_[axis.name]);
    points->push_back(std::move(point));
    if (points->size() > kMostPoints) Fail("a sum has too many points");
    return;
  }
  const std::vector<Range> ranges = Bounds(where, *open);
  size_t best = 0;
  auto width = [&](size_t i) {
    return ranges[i].low && ranges[i].high ? *ranges[i].high - *ranges[i].low : kFarthest;
  };
  for (size_t i = 1; i < open->size(); ++i) {
    if (width(i) < width(best)) best = i;
  }
  const int64_t low = ranges[best].low.value_or(-kUnbounded);
  const int64_t high = ranges[best].high.value_or(kUnbounded);
  if (high - low > static_cast<int64_t>(kMostPoints)) Fail("an axis is too long");
  const int name = (*open)[best];
  std::vector<int> rest = *open;
  rest.erase(rest.begin() + best);
  for (int64_t v = low; v <= high && problem_.empty(); ++v) {
    values_[name] = v;
    Enumerate(where, &rest, axes, points);
  }
  values_[name].reset();
}

FormValue::Points FormValue::PointsOf(const Node& axes, const Node& where) {
  Points points;
  if (!axes.Is("axes") || !where.Is("where")) {
    Fail("axes or guards are missing");
    return points;
  }
  std::vector<int> open;
  for (const Node& axis : axes.items) {
    if (axis.name < 0 || values_[axis.name]) {
      Fail(absl::StrCat(axis.text, " is no new axis"));
      return points;
    }
    open.push_back(axis.name);
  }
  Enumerate(where, &open, axes, &points);
  std::sort(points.begin(), points.end());
  return points;
}

void FormValue::SetAxes(const Node& axes, const std::vector<int64_t>& point) {
  for (size_t i = 0; i < axes.items.size(); ++i) values_[axes.items[i].name] = point[i];
}
void FormValue::ClearAxes(const Node& axes) {
  for (const Node& axis : axes.items) values_[axis.name].reset();
}

// ---- Values ----

Value FormValue::Form(const Node& form) {
  Value sum = algebra_.Integer(0);
  if (!form.Is("sum")) Fail("a form is (sum …)");
  for (const Node& term : form.items) {
    if (!problem_.empty()) break;
    sum = algebra_.Sum(sum, Summand(term));
  }
  return sum;
}

Value FormValue::Summand(const Node& term) {
  Value sum = algebra_.Integer(0);
  if (!term.Is("term", 4) || !term.items[1].is_number || term.items[1].number < 1) {
    Fail("a term is (term coefficient denominator axes guards atoms …)");
    return sum;
  }
  const Node& axes = term.items[2];
  for (const auto& point : PointsOf(axes, term.items[3])) {
    SetAxes(axes, point);
    const Rational factor = algebra_.Ratio(Integer(term.items[0]), term.items[1].number);
    sum = algebra_.Sum(sum, Atoms(term), factor);
    ClearAxes(axes);
    if (!problem_.empty()) break;
  }
  return sum;
}

Value FormValue::Atoms(const Node& term) {
  Value product = algebra_.Integer(1);
  for (size_t i = 4; i < term.items.size(); ++i) {
    const Value atom = AtomOf(term.items[i]);
    product = i == 4 ? atom : algebra_.Product(product, atom);
  }
  return product;
}

std::vector<Value> FormValue::Alternatives(const Node& atom, size_t first) {
  std::vector<Value> values;
  for (size_t i = first; i < atom.items.size(); ++i) {
    const Node& alternative = atom.items[i];
    if (!alternative.Is("alt", 3)) {
      Fail("(alt axes guards form) is missing");
      break;
    }
    for (const auto& point : PointsOf(alternative.items[0], alternative.items[1])) {
      SetAxes(alternative.items[0], point);
      values.push_back(Form(alternative.items[2]));
      ClearAxes(alternative.items[0]);
    }
  }
  return values;
}

Value FormValue::AtomOf(const Node& atom) {
  const std::vector<Node>& items = atom.items;
  if (atom.Is("read", 1) && items[0].is_number) {
    std::vector<int64_t> index;
    for (size_t i = 1; i < items.size(); ++i) index.push_back(Integer(items[i]));
    const bool known =
        items[0].number >= 0 && items[0].number < static_cast<int64_t>(inputs_.size());
    if (known && inputs_[items[0].number]->dims.size() == index.size()) {
      const TensorValue& input = *inputs_[items[0].number];
      const int64_t offset = OffsetOf(input.dims, index);
      if (offset >= 0) return input.elements[offset];
    }
    Fail("a read of what is no element of an input");
    return algebra_.Integer(0);
  }
  if (atom.Is("const", 1)) {
    absl::string_view name = items[0].text;
    if (absl::ConsumePrefix(&name, "p:")) {
      auto it = params_.find(std::string(name));
      return it == params_.end() ? algebra_.Param(std::string(name))
                                 : algebra_.Constant(it->second);
    }
    if (absl::ConsumePrefix(&name, "c:")) {
      return algebra_.Constant(std::strtod(std::string(name).c_str(), nullptr));
    }
  }
  if (atom.Is("inverse", 1)) return algebra_.Reciprocal(Form(items[0]));
  if (atom.Is("size-inverse", 1)) {
    return algebra_.Reciprocal(algebra_.Integer(Integer(items[0])));
  }
  if (atom.Is("max")) return algebra_.Reduce(ReduceKind::kMax, Alternatives(atom, 0));
  if (atom.Is("min")) return algebra_.Reduce(ReduceKind::kMin, Alternatives(atom, 0));
  if (atom.Is("reduce", 1)) {
    if (auto kind = ReductionNamed(items[0].text)) {
      return algebra_.Reduce(*kind, Alternatives(atom, 1));
    }
  }
  if (atom.Is("fn", 1)) {
    absl::string_view name = items[0].text;
    auto fn = FunctionNamed(items[0].text);
    if (fn && static_cast<int>(items.size()) == 1 + Info(*fn).arity) {
      std::vector<Value> args;
      for (size_t i = 1; i < items.size(); ++i) args.push_back(Form(items[i]));
      return algebra_.Apply(*fn, args);
    }
    // To a proof, storing in a type is an unknown function. Here it keeps the value.
    for (absl::string_view storage : {"round_", "wrap_", "saturate_"}) {
      absl::string_view type = name;
      if (absl::ConsumePrefix(&type, storage) && ParseDType(type) && items.size() == 2) {
        return Form(items[1]);
      }
    }
    if (absl::ConsumeSuffix(&name, "_empty") && items.size() == 1) {
      if (auto kind = ReductionNamed(name)) return algebra_.Reduce(*kind, {});
    }
  }
  Fail(absl::StrCat("(", atom.text, " …) is no atom"));
  return algebra_.Integer(0);
}

}  // namespace lemma::checker
