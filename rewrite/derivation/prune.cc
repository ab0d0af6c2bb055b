#include "rewrite/derivation/prune.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

int OperatorsOfBoth(const Substitution& rule) {
  return CountOperators(rule.source) + CountOperators(rule.target);
}

// Whether the derivation keeps the rule's contract at every typing.
bool Gives(const Deriver& deriver, const RuleDerivation& derivation, FloatContract contract) {
  return derivation.found() &&
         std::all_of(derivation.typings.begin(), derivation.typings.end(),
                     [&](const RuleDerivation::AtTyping& typing) {
                       return ContractOf(deriver, *typing.result.derivation) <= contract;
                     });
}

}  // namespace

Pruned PruneRules(const std::vector<Substitution>& rules, const PruneOptions& options) {
  std::vector<int> order(rules.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    auto key = [&](int i) {
      return std::tuple(-OperatorsOfBoth(rules[i]), rules[i].where.empty(), rules[i].vars.size(),
                        -i);
    };
    return key(a) < key(b);
  });
  const Deriver deriver(rules);
  DeriveLimits limits = options.limits;
  // The rules in a derivation of `rule` from the rules not left out; nullopt if there is none.
  auto derive = [&](int rule) -> std::optional<std::vector<int>> {
    auto derivation = DeriveRule(deriver, rules[rule], limits, options.typings);
    if (!derivation.ok() || !Gives(deriver, *derivation, rules[rule].contract)) return std::nullopt;
    std::vector<int> from;
    for (const DerivationStep& step : derivation->typings[0].result.derivation->steps) {
      from.push_back(step.rule);
    }
    return from;
  };
  int done = 0;
  std::vector<int> left_out;
  for (int rule : order) {
    if (!options.go_on(done++)) break;
    limits.without.insert(rule);
    if (derive(rule)) {
      left_out.push_back(rule);
    } else {
      limits.without.erase(rule);
    }
  }
  // Derivations may have used rules that were left out later; without them a chain may be too long,
  // or not found. Checks the last one, the smallest, first, since it may help to derive others.
  Pruned pruned;
  for (auto it = left_out.rbegin(); it != left_out.rend(); ++it) {
    std::optional<std::vector<int>> from;
    if (options.go_on(done++)) from = derive(*it);
    if (from) {
      pruned.left_out.push_back({*it, *std::move(from)});
    } else {
      limits.without.erase(*it);
    }
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (limits.without.count(static_cast<int>(i)) == 0) pruned.kept.push_back(static_cast<int>(i));
  }
  return pruned;
}

}  // namespace lemma
