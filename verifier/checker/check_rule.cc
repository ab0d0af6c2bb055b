#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "verifier/checker/checker.h"
#include "verifier/checker/instances.h"
#include "verifier/checker/sides.h"

namespace lemma::checker {
namespace {

Level LevelOf(FloatContract contract) {
  return contract == FloatContract::kBitExact       ? Level::kBits
         : contract == FloatContract::kReassociates ? Level::kRing
                                                    : Level::kReal;
}

enum class Outcome { kEqual, kEmpty, kDiffers, kUndecided };

// Compares all elements. *detail says where they differ.
Outcome Compare(const Substitution& rule, const Instance& instance, Level level, int fill,
                int64_t* work, std::string* detail) {
  Algebra algebra(level, work);
  Sides sides(rule, instance, &algebra, fill);
  if (sides.invalid()) return Outcome::kEmpty;
  if (!algebra.problem().empty()) {
    *detail = algebra.problem();
    return Outcome::kUndecided;
  }
  Outcome outcome = Outcome::kEmpty;
  for (size_t o = 0; o < rule.source.outputs.size(); ++o) {
    const TensorValue &a = sides.source(o), &b = sides.target(o);
    if (a.dims != b.dims) {
      *detail =
          absl::StrCat("output ", o, " has shape [", absl::StrJoin(a.dims, ","),
                       "] in the source and [", absl::StrJoin(b.dims, ","), "] in the target");
      return Outcome::kDiffers;
    }
    for (size_t i = 0; i < a.elements.size(); ++i) {
      const Value &x = a.elements[i], &y = b.elements[i];
      if (Algebra::Same(x, y)) {
        if (outcome == Outcome::kEmpty) outcome = Outcome::kEqual;
        continue;
      }
      const bool differ = level != Level::kBits && !algebra.ApproximatelyEqual(x, y);
      if (outcome == Outcome::kUndecided && !differ) continue;
      outcome = differ ? Outcome::kDiffers : Outcome::kUndecided;
      *detail = absl::StrCat("element ", i, " of output ", o, " is ", algebra.ToString(x),
                             " in the source and ", algebra.ToString(y), " in the target");
      if (differ) return outcome;
    }
  }
  if (!algebra.problem().empty()) {
    *detail = algebra.problem();
    return Outcome::kUndecided;
  }
  return outcome;
}

Outcome CompareAll(const Substitution& rule, const Instance& instance, int64_t* work,
                   std::string* detail) {
  const Level level = LevelOf(rule.contract);
  Outcome outcome = Outcome::kEmpty;
  // Inputs whose elements are positions get numbers, several times.
  const int fills = NeedsPositions(rule, instance, work) ? 4 : 1;
  for (int fill = 0; fill < fills; ++fill) {
    const int seed = fills == 1 ? 0 : fill + 1;
    Outcome one = Compare(rule, instance, level, seed, work, detail);
    if (one == Outcome::kUndecided && level == Level::kBits) {
      // They differ under uninterpreted arithmetic; do they differ as real numbers too?
      std::string as_reals;
      const Outcome real = Compare(rule, instance, Level::kReal, seed, work, &as_reals);
      if (real == Outcome::kDiffers) *detail = as_reals;
      if (real == Outcome::kDiffers) one = real;
      if (real == Outcome::kEqual) *detail = absl::StrCat("equal as real numbers only: ", *detail);
    }
    if (one == Outcome::kDiffers) return one;
    if (one == Outcome::kUndecided || outcome == Outcome::kEmpty) outcome = one;
  }
  return outcome;
}

}  // namespace

Checked CheckRule(const Substitution& rule, const Bounds& bounds) {
  Checked result;
  int64_t work = 0, elsewhere = 0;
  Instances instances(rule, bounds, &work);
  bool differs = false;
  instances.ForEach([&](const Instance& instance) {
    // The rule is not applied where its target does not exist.
    if (!instance.target_exists) {
      ++elsewhere;
      return true;
    }
    std::string detail;
    switch (CompareAll(rule, instance, &work, &detail)) {
      case Outcome::kEmpty:
        break;
      case Outcome::kEqual:
        ++result.equal;
        break;
      case Outcome::kUndecided:
        if (++result.undecided == 1) {
          result.detail = absl::StrCat("where ", Describe(rule, instance), ": ", detail);
        }
        break;
      case Outcome::kDiffers:
        differs = true;
        result.detail = absl::StrCat("where ", Describe(rule, instance), ": ", detail);
        return false;
    }
    return true;
  });
  result.exhaustive = instances.complete_size() > 0;
  if (differs) {
    result.answer = Checked::Answer::kDiffers;
  } else if (result.undecided == 0 && result.equal > 0) {
    result.answer = Checked::Answer::kEqual;
  } else if (result.detail.empty()) {
    result.detail = instances.problem().empty() ? "no instance has elements" : instances.problem();
  }
  const std::string lists = absl::StrCat(", lists up to ", bounds.max_list);
  result.coverage = absl::StrCat(
      result.equal + result.undecided, " instances: ",
      result.exhaustive ? absl::StrCat("all with sizes up to ", instances.complete_size(), lists)
                        : absl::StrCat("all of weight up to ", instances.complete_weight(), " and ",
                                       instances.drawn(), " drawn, with sizes up to ",
                                       instances.max_size(), lists),
      elsewhere > 0 ? absl::StrCat("; without a target on ", elsewhere, " more") : "");
  return result;
}

}  // namespace lemma::checker
