// Derives one side of a pair from the other, step by step.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "generator/derivation/derivation.h"

namespace lemma::generator {
namespace {

constexpr size_t kMostNeighbors = 400;  // limit for one term

}  // namespace

void ReverseSteps(std::vector<DerivationStep>* steps) {
  std::reverse(steps->begin(), steps->end());
  for (DerivationStep& step : *steps) step.backward = !step.backward;
}

bool Derivation::DeriveOne(int source, int target, DerivationOptions options, int except,
                           std::vector<DerivationStep>* steps) {
  auto finish = [&](int from, std::optional<DerivationStep> first, int to,
                    std::optional<DerivationStep> last) {
    if (first) steps->push_back(*first);
    Trace(from, options, except, !first, steps);
    std::vector<DerivationStep> back;
    if (last) back.push_back(*last);
    Trace(to, options, except, !last, &back);
    ReverseSteps(&back);
    steps->insert(steps->end(), back.begin(), back.end());
    return true;
  };
  std::vector<DerivationStep> ignored;
  const int source_form = Trace(source, options, except, true, &ignored);
  const int target_form = Trace(target, options, except, true, &ignored);
  if (source_form == target_form) return finish(source, {}, target, {});
  Run run;
  run.options = options;
  run.except = except;
  struct Near {
    int value;
    std::optional<DerivationStep> step;
  };
  // The normal forms near one side, with the steps that reach them.
  auto near = [&](int value, int form) {
    std::vector<std::pair<int, DerivationStep>> found;
    ForEachNeighbor(value, run, [&](int result, DerivationStep step) {
      if (found.size() < kMostNeighbors) found.emplace_back(result, step);
    });
    absl::flat_hash_map<int, Near> forms;
    forms.emplace(form, Near{value, {}});
    for (const auto& [result, step] : found) {
      const int normal = except < 0 && options.elimination
                             ? NormalForm(result, options)
                             : Trace(result, options, except, false, &ignored);
      forms.emplace(normal, Near{result, step});
    }
    return forms;
  };
  const auto near_source = near(source, source_form);
  if (auto it = near_source.find(target_form); it != near_source.end()) {
    return finish(it->second.value, it->second.step, target, {});
  }
  const auto near_target = near(target, target_form);
  // Takes the smallest one, so that the result does not depend on the order of a hash table.
  int best = TermStore::kNone;
  for (const auto& [form, place] : near_target) {
    if (near_source.contains(form) && (best == TermStore::kNone || form < best)) best = form;
  }
  if (best == TermStore::kNone) return false;
  const Near &a = near_source.at(best), &b = near_target.at(best);
  return finish(a.value, a.step, b.value, b.step);
}

std::optional<std::vector<DerivationStep>> Derivation::Derive(const std::vector<int>& source,
                                                              const std::vector<int>& target,
                                                              DerivationOptions options,
                                                              int except) {
  std::vector<DerivationStep> steps;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != target[i] && !DeriveOne(source[i], target[i], options, except, &steps)) {
      return std::nullopt;
    }
  }
  return Expanded(steps);
}

std::vector<DerivationStep> Derivation::Expanded(const std::vector<DerivationStep>& steps) const {
  std::vector<DerivationStep> result;
  for (const DerivationStep& step : steps) {
    const Known& known = known_[step.pair];
    if (known.steps.empty()) {
      result.push_back(step);
      continue;
    }
    std::vector<DerivationStep> inner = Expanded(known.steps);
    if (step.backward) ReverseSteps(&inner);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

}  // namespace lemma::generator
