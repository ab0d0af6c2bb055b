// Refines the guard in turns: takes the weakest conjunction that fits all instances so far, tests
// it on new instances and gives it to the prover. A guard that fails adds instances that exclude
// it.
#include "verifier/preconditions/precondition.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"
#include "verifier/preconditions/guard_language.h"
#include "verifier/preconditions/rule_instances.h"

namespace lemma {
namespace {

using prover::GuardAtom;
using prover::GuardLanguage;
using prover::GuardValues;
using prover::RuleInstances;

// A set of instances, by number.
using Bits = std::vector<uint64_t>;

int Count(const Bits& a) {
  int count = 0;
  for (uint64_t word : a) count += __builtin_popcountll(word);
  return count;
}
void And(const Bits& a, Bits* to) {
  for (size_t i = 0; i < to->size(); ++i) (*to)[i] &= a[i];
}
bool Disjoint(const Bits& a, const Bits& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] & b[i]) return false;
  }
  return true;
}

constexpr int kInstancesPerTry = 24;
constexpr int kInstancesOnFailure = 48;
constexpr int kEnoughInstances = 8;
// A 1 x 1 kernel has two bounded sizes. A guard that bounds more sizes is too special.
constexpr int kMostBoundedSizes = 2;
// More complex conditions are not combined with others.
constexpr int kMostComplexityInPair = 4;

class GuardSearch {
 public:
  using Conjunction = std::vector<int>;  // atoms, by number, ascending

  GuardSearch(const Substitution& rule, const ProverOptions& prover,
              const PreconditionOptions& options)
      : rule_(rule), prover_(prover), options_(options), language_(rule), instances_(rule, prover) {
    bits_.resize(language_.atoms().size());
    for (const GuardAtom& atom : language_.atoms()) {
      strict_.push_back(atom.relation == Relation::kEq);
    }
  }

  void DrawFirst() {
    instances_.Draw({}, options_.samples);
    Update();
  }
  const RuleInstances& instances() const { return instances_; }
  bool SomeAgree() const { return Count(agree_) > 0; }

  // Finds a guard that is proved, and sets *verdict.
  std::optional<Conjunction> Run(Verdict* verdict) {
    std::optional<Conjunction> guard = Find();
    if (!guard) return std::nullopt;
    *verdict = ProveRule(Guarded(*guard), prover_);
    return IsProved(*verdict) ? guard : std::nullopt;
  }

  std::vector<Comparison> ToWhere(const Conjunction& guard) const {
    std::vector<Comparison> where;
    for (int a : guard) where.push_back(language_.ToComparison(language_.atoms()[a]));
    return where;
  }
  int attempts() const { return attempts_; }
  int proofs() const { return proofs_; }

 private:
  Substitution Guarded(const Conjunction& guard) const {
    Substitution guarded = rule_;
    const std::vector<Comparison> where = ToWhere(guard);
    guarded.where.insert(guarded.where.end(), where.begin(), where.end());
    return guarded;
  }

  std::optional<Conjunction> Find() {
    while (attempts_ < options_.max_attempts && proofs_ < options_.max_proofs) {
      std::optional<Conjunction> candidate = Best();
      if (!candidate) candidate = Greedy();
      if (!candidate) break;
      tried_.insert(*candidate);
      if (!Survives(*candidate, kInstancesPerTry)) {
        ++attempts_;
        continue;
      }
      for (const Conjunction& guard : {Tightened(*candidate), *candidate}) {
        tried_.insert(guard);
        if (BoundedSizes(guard) > kMostBoundedSizes) break;
        if (Check(guard)) return Minimized(guard);
      }
    }
    return std::nullopt;
  }

  // Adds new instances.
  void Update() {
    const auto& all = instances_.all();
    for (; entered_ < all.size(); ++entered_) {
      const size_t word = entered_ / 64;
      const uint64_t bit = uint64_t{1} << (entered_ % 64);
      for (Bits* bits : {&agree_, &differ_}) bits->resize(word + 1);
      (all[entered_].agree ? agree_ : differ_)[word] |= bit;
      SpendWork(static_cast<int64_t>(bits_.size()));
      const GuardValues values = language_.ValuesOf(all[entered_].values);
      for (size_t a = 0; a < bits_.size(); ++a) {
        bits_[a].resize(word + 1);
        const GuardAtom& atom = language_.atoms()[a];
        if (!language_.Holds(atom, values, all[entered_].values)) continue;
        bits_[a][word] |= bit;
        if (strict_[a]) continue;
        GuardAtom equal = atom;
        equal.relation = Relation::kEq;
        strict_[a] = !language_.Holds(equal, values, all[entered_].values);
      }
    }
    FindDistinct();
  }

  // Finds the atoms that tell instances apart, one for each way of dividing them.
  void FindDistinct() {
    std::set<Bits> seen;
    distinct_.clear();
    Bits everything = agree_;
    for (size_t i = 0; i < everything.size(); ++i) everything[i] |= differ_[i];
    for (size_t a = 0; a < bits_.size(); ++a) {
      // Skips x <= 1 where x is never less than 1: x = 1 is an atom too, and reads better.
      if (bits_[a] == everything || Disjoint(bits_[a], agree_) || !strict_[a]) continue;
      if (seen.insert(bits_[a]).second) distinct_.push_back(static_cast<int>(a));
    }
  }

  int ComplexityOf(const Conjunction& guard) const {
    int complexity = 0;
    for (int a : guard) complexity += language_.atoms()[a].complexity;
    return complexity;
  }
  Bits Satisfying(const Conjunction& guard, Bits bits) const {
    for (int a : guard) And(bits_[a], &bits);
    return bits;
  }
  bool ShowsEverything(const Conjunction& guard) const {
    std::vector<int> shown;
    const Bits bits = Satisfying(guard, agree_);
    for (size_t i = 0; i < entered_; ++i) {
      if (bits[i / 64] >> (i % 64) & 1) shown.push_back(static_cast<int>(i));
    }
    return instances_.ShowAllEffects(shown);
  }

  struct Ranked {
    int covered = 0;
    size_t conjuncts = 0;
    int complexity = 0;
    Conjunction guard;
    bool operator<(const Ranked& other) const {
      if (covered != other.covered) return covered > other.covered;
      if (complexity != other.complexity) return complexity < other.complexity;
      if (conjuncts != other.conjuncts) return conjuncts < other.conjuncts;
      return guard < other.guard;
    }
  };

  // The conjunction of one or two atoms that excludes every instance on which the sides differ and
  // covers the most others.
  std::optional<Conjunction> Best() {
    std::set<Ranked> ranked;
    auto consider = [&](Conjunction guard, int covered) {
      if (covered == 0 || tried_.count(guard)) return;
      Ranked r{covered, guard.size(), ComplexityOf(guard), std::move(guard)};
      if (ranked.size() >= 64 && !(r < *ranked.rbegin())) return;
      ranked.insert(std::move(r));
      if (ranked.size() > 64) ranked.erase(std::prev(ranked.end()));
    };
    std::vector<int> partial;
    for (int a : distinct_) {
      if (Disjoint(bits_[a], differ_)) {
        consider({a}, Count(Satisfying({a}, agree_)));
      } else if (language_.atoms()[a].complexity <= kMostComplexityInPair) {
        partial.push_back(a);
      }
    }
    for (size_t i = 0; i < partial.size(); ++i) {
      SpendWork(static_cast<int64_t>((partial.size() - i) * differ_.size()) / 4);
      const Bits wrong = Satisfying({partial[i]}, differ_);
      const Bits right = Satisfying({partial[i]}, agree_);
      for (size_t j = i + 1; j < partial.size(); ++j) {
        if (!Disjoint(wrong, bits_[partial[j]])) continue;
        int covered = 0;
        for (size_t k = 0; k < right.size(); ++k) {
          covered += __builtin_popcountll(right[k] & bits_[partial[j]][k]);
        }
        consider({std::min(partial[i], partial[j]), std::max(partial[i], partial[j])}, covered);
      }
    }
    for (const Ranked& r : ranked) {
      if (ShowsEverything(r.guard)) return r.guard;
    }
    return std::nullopt;
  }

  // Adds one atom after another: the one that excludes the most for its cost.
  std::optional<Conjunction> Greedy() {
    Conjunction guard;
    Bits wrong = differ_, right = agree_;
    while (Count(wrong) > 0) {
      if (static_cast<int>(guard.size()) >= options_.max_conjuncts) return std::nullopt;
      int best = -1;
      double best_score = 0;
      for (int a : distinct_) {
        Bits left = wrong, kept = right;
        And(bits_[a], &left);
        And(bits_[a], &kept);
        const double excluded = 1 - static_cast<double>(Count(left)) / Count(wrong);
        const double covered = static_cast<double>(Count(kept)) / Count(right);
        const double score = excluded * covered * covered;
        if (score > best_score) {
          best_score = score;
          best = a;
        }
      }
      if (best < 0) return std::nullopt;
      guard.push_back(best);
      And(bits_[best], &wrong);
      And(bits_[best], &right);
    }
    std::sort(guard.begin(), guard.end());
    if (tried_.count(guard) || !ShowsEverything(guard)) return std::nullopt;
    return guard;
  }

  int BoundedSizes(const Conjunction& guard) const {
    int count = 0;
    for (int a : guard) count += language_.BoundsSize(language_.atoms()[a]) ? 1 : 0;
    return count;
  }

  // Whether the guard withstands further instances drawn for it.
  bool Survives(const Conjunction& guard, int count) {
    instances_.Draw(ToWhere(guard), count);
    Update();
    return Disjoint(Satisfying(guard, differ_), differ_) && ShowsEverything(guard);
  }

  // Whether the guard withstands instances and is then proved, under any laws.
  bool Check(const Conjunction& guard) {
    ++attempts_;
    if (!Survives(guard, kInstancesPerTry)) return false;
    ProverOptions lenient = prover_;
    lenient.strictest = std::max(prover_.strictest, FloatContract::kReassociates);
    lenient.keep_obligations = false;
    ++proofs_;
    const Verdict verdict = ProveRule(Guarded(guard), lenient);
    if (IsRefuted(verdict)) Survives(guard, kInstancesOnFailure);
    return IsProved(verdict);
  }

  // If a condition leaves each of its variables one value, replaces it by these values: x <= 2
  // becomes x = 1; x = 2 * y becomes x = 0 and y = 0.
  Conjunction Tightened(const Conjunction& guard) const {
    Bits all = agree_;
    for (size_t i = 0; i < all.size(); ++i) all[i] |= differ_[i];
    const Bits satisfying = Satisfying(guard, all);
    if (Count(satisfying) < kEnoughInstances) return guard;
    Conjunction tight;
    for (int a : guard) {
      const GuardAtom& atom = language_.atoms()[a];
      std::vector<int> values;
      bool fixed = atom.kind == GuardAtom::Kind::kCompare;
      for (int variable : {atom.x, atom.y, atom.u, atom.v, atom.w}) {
        if (variable == GuardAtom::kNone || !fixed) continue;
        const int value = ValueAmong(variable, satisfying);
        fixed = value >= 0;
        values.push_back(value);
      }
      if (!fixed) values = {a};
      tight.insert(tight.end(), values.begin(), values.end());
    }
    std::sort(tight.begin(), tight.end());
    tight.erase(std::unique(tight.begin(), tight.end()), tight.end());
    return tight;
  }

  // The atom that gives the variable its value in all these instances; -1 if there is none.
  int ValueAmong(int variable, const Bits& instances) const {
    for (size_t a = 0; a < bits_.size(); ++a) {
      const GuardAtom& atom = language_.atoms()[a];
      const bool says = atom.kind == GuardAtom::Kind::kCompare && atom.x == variable &&
                        atom.relation == Relation::kEq && atom.y == GuardAtom::kNone &&
                        atom.u == GuardAtom::kNone;
      if (says && Satisfying({static_cast<int>(a)}, instances) == instances) {
        return static_cast<int>(a);
      }
    }
    return -1;
  }

  // Removes unnecessary conjuncts.
  Conjunction Minimized(Conjunction guard) {
    for (size_t i = 0; i < guard.size() && guard.size() > 1;) {
      Conjunction fewer = guard;
      fewer.erase(fewer.begin() + static_cast<int>(i));
      if (Disjoint(Satisfying(fewer, differ_), differ_) && Check(fewer)) {
        guard = std::move(fewer);
      } else {
        ++i;
      }
    }
    return guard;
  }

  const Substitution& rule_;
  const ProverOptions& prover_;
  const PreconditionOptions& options_;
  GuardLanguage language_;
  RuleInstances instances_;
  size_t entered_ = 0;
  Bits agree_, differ_;
  std::vector<Bits> bits_;    // by atom: the instances for which it holds
  std::vector<bool> strict_;  // by atom: an equality, or an inequality that held strictly at least
                              // once
  std::vector<int> distinct_;
  std::set<Conjunction> tried_;
  int attempts_ = 0, proofs_ = 0;
};

void Synthesize(const Substitution& rule, const ProverOptions& prover,
                const PreconditionOptions& options, Precondition* result) {
  result->without = ProveRule(rule, prover);
  if (IsProved(result->without)) return;
  GuardSearch search(rule, prover, options);
  search.DrawFirst();
  if (!IsRefuted(result->without)) {
    if (!search.instances().counterexample()) {
      result->reason = std::get<Unknown>(result->without).reason;
      return;
    }
    result->without = *search.instances().counterexample();
  }
  if (!search.SomeAgree()) {
    result->reason =
        absl::StrCat("its sides differ in each of ", search.instances().all().size(), " instances");
    return;
  }
  Verdict verdict = Unknown{};
  auto guard = search.Run(&verdict);
  if (!guard) {
    result->reason =
        absl::StrCat("no guard was found that leaves something to say; ", search.attempts(),
                     " were tried, ", search.proofs(), " given to the prover");
    return;
  }
  result->found = search.ToWhere(*guard);
  result->rule.where.insert(result->rule.where.end(), result->found.begin(), result->found.end());
  result->with = std::move(verdict);
}

}  // namespace

Precondition SynthesizePrecondition(const Substitution& rule, const ProverOptions& prover,
                                    const PreconditionOptions& options) {
  Precondition result;
  result.rule = rule;
  WorkScope work(options.work, prover.interrupted);
  try {
    Synthesize(rule, prover, options, &result);
  } catch (const WorkEnded& end) {
    result.reason = end.Reason("the search for a guard");
  }
  return result;
}

}  // namespace lemma
