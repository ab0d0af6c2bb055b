#include "tests/verifier/campaign/instances.h"

#include <algorithm>
#include <cmath>

#include "rewrite/matching/instantiate.h"

namespace lemma {
namespace {

constexpr int64_t kMostElements = 6000;

void Collect(const Term& term, std::set<double>* constants) {
  if (term.kind() == Term::Kind::kInt) constants->insert(static_cast<double>(term.integer()));
  if (term.kind() == Term::Kind::kReal) constants->insert(term.real());
  if (term.kind() != Term::Kind::kCall && term.kind() != Term::Kind::kList) return;
  for (const Term& arg : term.args()) Collect(arg, constants);
}

Substitution WithoutCondition(Substitution rule) {
  rule.where.clear();
  return rule;
}

}  // namespace

std::vector<double> ConstantsOf(const Substitution& rule) {
  std::set<double> constants;
  for (const PatternVar& var : rule.vars) Collect(var.dims, &constants);
  for (const Pattern* side : {&rule.source, &rule.target}) {
    for (const PatternNode& node : side->nodes) {
      if (node.op == nullptr) Collect(node.dims, &constants);
      if (node.op == nullptr) Collect(node.fill, &constants);
      for (const auto& [name, term] : node.attrs) Collect(term, &constants);
    }
  }
  for (const Comparison& c : rule.where) {
    Collect(c.lhs, &constants);
    Collect(c.rhs, &constants);
  }
  return {constants.begin(), constants.end()};
}

Instances::Instances(const Substitution& rule, uint64_t seed)
    : rule_(rule),
      unconditional_(WithoutCondition(rule)),
      sampler_(rule, seed),
      any_sampler_(unconditional_, seed),
      random_(seed) {
  for (double c : ConstantsOf(rule)) {
    const double size = std::abs(c);
    if (size != std::floor(size) || size > 3000) continue;
    const auto n = static_cast<int64_t>(size);
    for (int64_t near : {n - 1, n, n + 1, 2 * n, 2 * n + 1}) near_.push_back(near);
  }
}

int64_t Instances::AnySize() {
  static constexpr int64_t kSizes[] = {1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 17};
  if (!near_.empty() && random_() % 2 == 0) return near_[random_() % near_.size()];
  return kSizes[random_() % std::size(kSizes)];
}

bool Instances::Fits(const Assignment& assignment) const {
  for (const PatternVar& var : rule_.vars) {
    auto type = TypeOf(var, assignment);
    if (!type.ok() || type->num_elements() > kMostElements || type->num_elements() < 1) {
      return false;
    }
  }
  for (const Comparison& c : rule_.where) {
    if (!Evaluate(c, assignment.symbols).value_or(false)) return false;
  }
  return Instantiate(rule_, rule_.source, assignment).ok();
}

std::optional<Assignment> Instances::Varied(const Assignment& from) {
  Assignment to = from;
  std::vector<ExprAttr*> whole;
  for (auto& value : to.symbols) {
    if (!value) continue;
    if (std::holds_alternative<IndexExpr>(*value) || std::holds_alternative<Idx>(*value)) {
      whole.push_back(&*value);
    }
    if (std::holds_alternative<ScalarExpr>(*value) && random_() % 4 == 0) {
      // Dyadic, so that products are exact.
      static constexpr double kReals[] = {0, -0.0, 1, -1, 6, 0.125, -2.5, 1024};
      *value = ScalarExpr(kReals[random_() % std::size(kReals)]);
    }
  }
  for (size_t changes = whole.empty() ? 0 : 1 + random_() % std::min<size_t>(3, whole.size());
       changes > 0; --changes) {
    ExprAttr& value = *whole[random_() % whole.size()];
    if (std::holds_alternative<IndexExpr>(value)) {
      value = IndexExpr(AnySize());
    } else if (auto& list = std::get<Idx>(value); !list.empty()) {
      list[random_() % list.size()] = random_() % 4 == 0 ? 0 : AnySize();
    }
  }
  if (!Fits(to)) return std::nullopt;
  return to;
}

std::optional<Assignment> Instances::Draw() {
  if (seeds_.empty()) {
    if (auto first = sampler_.Draw(600)) {
      seeds_.push_back(*first);
    } else if (!rule_.where.empty()) {
      for (int i = 0; i < 4; ++i) {
        if (auto any = any_sampler_.Draw(100)) seeds_.push_back(*any);
      }
    }
    if (seeds_.empty()) return std::nullopt;
  }
  for (int attempt = 0; attempt < 60; ++attempt) {
    std::optional<Assignment> next;
    if (attempt % 4 == 3 || random_() % 3 == 0) {
      next = sampler_.Draw(40);
      if (next && !Fits(*next)) next.reset();
    } else {
      const std::vector<Assignment>& from = drawn_.empty() ? seeds_ : drawn_;
      next = Varied(from[random_() % from.size()]);
    }
    if (next && known_.insert(Describe(rule_, *next)).second) {
      drawn_.push_back(*next);
      return next;
    }
  }
  return std::nullopt;
}

}  // namespace lemma
