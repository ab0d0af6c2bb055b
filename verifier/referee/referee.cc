#include "verifier/referee/referee.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"
#include "graph/sizes/assumptions.h"
#include "graph/sizes/specialize.h"
#include "verifier/referee/alarm.h"
#include "verifier/referee/difference.h"
#include "verifier/referee/evidence/conclusion.h"
#include "verifier/referee/evidence/interface.h"
#include "verifier/referee/fold_rules.h"
#include "verifier/referee/isolate.h"
#include "verifier/referee/layouts.h"
#include "verifier/referee/measure.h"
#include "verifier/referee/other_numbers.h"
#include "verifier/referee/region.h"
#include "verifier/referee/relate_weights.h"
#include "verifier/referee/sweep.h"
#include "verifier/referee/values.h"

namespace lemma::referee {
namespace {

constexpr int kQuickFailures = 8, kMostFailures = 60;
// If graphs differ and no small pair of graphs shows it, a smaller one is looked for so long.
constexpr double kSecondsForPlace = 30;
constexpr size_t kComparedSamples = 2;  // on which values are compared
constexpr double kDouble = 1e-10;  // equal values in double differ by less, relative to the largest

// The number of operators in the smallest pair of graphs that shows the difference.
int64_t SizeOfPair(const Refutation& refutation) {
  return refutation.pair ? OperatorsIn(*refutation.pair) : std::numeric_limits<int64_t>::max();
}

// The weights that a constant is computed from, and the operators.
std::string Formula(const Value& value) {
  std::set<std::string> weights, operators;
  std::vector<const Node*> stack = {&value.node()};
  std::set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->kind() == Node::Kind::kWeight) weights.insert(node->name());
    if (node->is_op()) operators.insert(node->op().name);
    for (const Value& operand : node->inputs()) stack.push_back(&operand.node());
  }
  std::string text = absl::StrJoin(weights, ", ");
  if (text.empty()) text = "a constant";
  if (!operators.empty()) absl::StrAppend(&text, " by ", absl::StrJoin(operators, ", "));
  return text;
}

// The name of the weight that a constant is, or is copied from.
std::string NameOf(const Graph& graph, const Value& value) {
  const absl::string_view label = graph.LabelOf(value);
  if (!label.empty()) return std::string(label);
  const Node* node = &value.node();
  while (node->is_op() && node->inputs().size() == 1) node = &node->inputs()[0].node();
  if (node->kind() == Node::Kind::kWeight) return node->name();
  return absl::StrCat("a constant ", value.type().ToString());
}

// The nodes that formulas are computed by, without those that compute whole formulas: these stand
// for weights.
absl::flat_hash_set<const Node*> PartsOf(const std::vector<WeightRelation>& relations) {
  absl::flat_hash_set<const Node*> parts, whole;
  std::vector<const Node*> stack;
  for (const WeightRelation& relation : relations) {
    whole.insert(&relation.before.node());
    stack.push_back(&relation.before.node());
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Value& operand : node->inputs()) {
      if (parts.insert(&operand.node()).second) stack.push_back(&operand.node());
    }
  }
  for (const Node* node : whole) parts.erase(node);
  return parts;
}

class Case {
 public:
  Case(const Graph& before, RefereeOptions options)
      : before_(before), options_(std::move(options)), assumptions_(AssumptionsOf(before)) {}

  RefereeResult Run(const Graph& given) {
    Compare(given);
    return Result();
  }

  // What is known if an exception ended Run.
  RefereeResult Ended(std::string reason) {
    if (first_sweep_ && !certain_ && !result_.refutation) {
      Report(first_sweep_->swept);
      Explain(first_sweep_->swept, first_sweep_->after);
    }
    result_.reason = std::move(reason);
    return Result();
  }

 private:
  RefereeResult Result() {
    // The smaller pair of graphs says more.
    if (certain_ && (result_.answer != Answer::kRefuted ||
                     SizeOfPair(*result_.refutation) >= SizeOfPair(*certain_))) {
      result_.answer = Answer::kRefuted;
      result_.refutation = std::move(certain_);
      result_.reason.clear();
    }
    if (result_.refutation) {
      result_.refutation->sizes = options_.samples[result_.refutation->sample].sizes;
    }
    if (result_.answer == Answer::kUnknown && first_sweep_) NoteOrder();
    return std::move(result_);
  }

  void Compare(const Graph& given) {
    MatchedInterface interface = MatchInterface(before_, given);
    result_.notes = interface.notes;
    if (!interface.differences.empty() && AgreeAtSamples(given)) {
      result_.reason = absl::StrCat("sizes are computed in another way and may be equal: ",
                                    absl::StrJoin(interface.differences, "; "));
      return;
    }
    if (!interface.differences.empty()) {
      result_.answer = Answer::kDifferentInterface;
      result_.interface = interface.differences;
      return;
    }
    const Graph& after = interface.after;
    result_.compared = after;
    if (before_.outputs() == after.outputs()) {
      Conclude(after);
      return;
    }
    if (!AreDefinedTogether(after)) return;
    result_.reason = WhyNoProof(before_, after);
    if (!result_.reason.empty()) return;
    // A pair that differs needs no proof; most cases are decided here or by the sweep.
    CompareOnInputs(after);
    if (far_off_ && Refute(after)) {
      if (SizeOfPair(*result_.refutation) <= kSmallPair) return;
      KeepRefutation();
    }
    Prove(after);
  }

  // An optimized model rarely has more operators, and the search for equal values relies on this.
  void NoteOrder() {
    const int64_t first = before_.num_ops(), second = first_sweep_->given.num_ops();
    if (second <= first) return;
    result_.notes.push_back(absl::StrCat("the second model has ", second,
                                         " operators and the first one ", first,
                                         ", but the first model is expected to be the original"));
  }

  // The verdict is certain, but a smaller place of the difference may be found in some seconds.
  void KeepRefutation() {
    if (!certain_ || SizeOfPair(*result_.refutation) < SizeOfPair(*certain_)) {
      certain_ = std::move(result_.refutation);
    }
    result_.refutation.reset();
    result_.answer = Answer::kUnknown;
    const Deadline& all = options_.deadline;
    const double left = all.seconds_left();
    options_.deadline = Deadline::After(
        left > 0 ? std::min(left, kSecondsForPlace) : kSecondsForPlace, all.interruption());
  }

  void Tell(const char* stage, size_t done = 0, size_t all = 0) const {
    if (!options_.progress) return;
    options_.progress(stage, static_cast<int64_t>(done), static_cast<int64_t>(all));
  }

  // Whether both graphs have symbolic sizes, and one interface at the sizes of every sample.
  bool AgreeAtSamples(const Graph& after) const {
    if (!IsSymbolic(before_) || !IsSymbolic(after)) return false;
    for (size_t i = 0; i < before_.inputs().size(); ++i) {
      if (i >= after.inputs().size() || before_.inputs()[i].type() != after.inputs()[i].type()) {
        return false;
      }
    }
    return std::all_of(options_.samples.begin(), options_.samples.end(), [&](const Sample& sample) {
      auto a = AtSizes(before_, sample.sizes), b = AtSizes(after, sample.sizes);
      return a.ok() && b.ok() && MatchInterface(*a, *b).differences.empty();
    });
  }

  // Whether `after` is well-formed at all sizes at which the first graph is.
  bool AreDefinedTogether(const Graph& after) {
    for (size_t sample = 0; sample < options_.samples.size(); ++sample) {
      const DimValues& sizes = options_.samples[sample].sizes;
      auto at_sizes = AtSizes(after, sizes);
      if (!absl::IsInvalidArgument(at_sizes.status()) || !AtSizes(before_, sizes).ok()) continue;
      result_.answer = Answer::kRefuted;
      result_.refutation = Refutation();
      result_.refutation->sample = sample;
      result_.refutation->failure = std::string(at_sizes.status().message());
      return false;
    }
    return true;
  }

  void CompareOnInputs(const Graph& after) {
    for (size_t sample = 0; sample < options_.samples.size(); ++sample) {
      Tell("executing both models", sample, options_.samples.size());
      auto outputs = CompareOutputs(before_, after, sample, options_);
      if (!outputs.ok()) {
        not_executed_ = std::string(outputs.status().message());
        return;
      }
      for (size_t o = 0; o < outputs->size(); ++o) {
        const OutputComparison& now = (*outputs)[o];
        if (sample == 0) result_.outputs.push_back(now);
        OutputComparison& kept = result_.outputs[o];
        if (now.difference > kept.difference) kept = now;
        far_off_ |= now.difference > kFarBeyond * now.explained;
      }
    }
  }

  bool Refute(const Graph& after) {
    Tell("looking for the difference");
    auto a = SketchValues(before_, SomeSamples(), options_.run, options_.deadline);
    auto b = SketchValues(after, SomeSamples(), options_.run, options_.deadline);
    if (!a.ok() || !b.ok()) return false;
    auto refutation = FindRefutation(before_, after, *a, *b, options_);
    if (!refutation) return false;
    result_.answer = Answer::kRefuted;
    result_.refutation = std::move(refutation);
    return true;
  }

  void Prove(const Graph& after) {
    Tell("comparing weights");
    const Folds folds = FoldIntoWeights(before_, options_.rules, options_.deadline);
    RelatedWeights related = RelateWeights(before_, folds, after, false, options_.deadline);
    RegionProver& prover = prover_.emplace(options_.prover, assumptions_);
    Describe(related, after);
    limits_.parts = PartsOf(related.relations);
    // A value that differs makes all proofs after it fail, so a quick sweep comes first: if it does
    // not prove all, the models probably differ somewhere.
    limits_.work = options_.prover.work;
    limits_.failures = kQuickFailures;
    limits_.differs = [this](const Region& region, bool at_all) {
      auto measured = MeasureRegion(before_, region, 0, options_);
      if (!measured.ok()) return false;
      return measured->found.largest >
             (at_all ? kDouble * measured->found.scale : measured->explained);
    };
    limits_.progress = [this](int64_t done, int64_t all) { Tell("proving operators", done, all); };
    if (!related.unrelated.empty() && RefuteByWeights(related, after, &prover)) return;
    if (only_open_) {
      Explain({}, related.graph);
      return;
    }
    SweepResult swept = AlignAndSweep(related.graph, &prover);
    first_sweep_ = {swept, related.graph, after};
    if (swept.EndedEarly()) {
      Report(swept);
      Explain(swept, related.graph);
      return;
    }
    if (!swept.AllCovered() && RefuteByNumber(related.graph, after, &prover)) return;
    if (!swept.AllCovered()) {
      RelatedWeights more = RelateWeights(before_, folds, after, true, options_.deadline);
      if (more.relations.size() > related.relations.size()) {
        limits_.parts = PartsOf(more.relations);
        SweepResult other = AlignAndSweep(more.graph, &prover);
        if (other.AllCovered()) {
          related = std::move(more);
          swept = std::move(other);
          Describe(related, after);
        }
        limits_.parts = PartsOf(related.relations);
      }
    }
    result_.equal = swept.equal;
    if (!swept.AllCovered() && RefuteAtPlaces(related.graph, after, &prover)) {
      if (result_.refutation->places > 1 || SizeOfPair(*result_.refutation) <= kSmallPair) return;
      KeepRefutation();
      RefuteAtOnePlace(swept, related.graph, after, &prover);
      return;
    }
    if (!swept.AllCovered() && RefuteAtOnePlace(swept, related.graph, after, &prover)) return;
    if (!swept.AllCovered()) {
      limits_.failures = kMostFailures;
      swept = AlignAndSweep(related.graph, &prover);
    }
    Report(swept);
    if (swept.AllCovered()) {
      Conclude(after);
    } else {
      Explain(swept, related.graph);
    }
  }

  void Report(const SweepResult& swept) {
    result_.equal = swept.equal;
    result_.regions = swept.regions;
    result_.by_rebuilt_value = swept.by_rebuilt_value;
    result_.proofs = prover_->proofs();
    result_.remembered = prover_->remembered();
    result_.evidence = prover_->evidence();
  }

  // On one input alone, values may be alike by chance.
  absl::Span<const Sample> SomeSamples() const {
    return absl::MakeConstSpan(options_.samples).subspan(0, kComparedSamples);
  }

  // Sweeps `after`, whose weights are explained.
  SweepResult AlignAndSweep(const Graph& after, RegionProver* prover) {
    if (not_executed_.empty() && in_before_.empty()) {
      auto sketches = SketchValues(before_, SomeSamples(), options_.run, options_.deadline);
      if (sketches.ok()) {
        in_before_ = *std::move(sketches);
      } else {
        not_executed_ = std::string(sketches.status().message());
      }
    }
    Sketches a = in_before_, b;
    if (not_executed_.empty()) {
      auto sketches = SketchValues(after, SomeSamples(), options_.run, options_.deadline);
      if (sketches.ok()) {
        b = *std::move(sketches);
      } else {
        not_executed_ = std::string(sketches.status().message());
      }
    }
    std::vector<Value> derived = OtherLayouts(before_, after, a, b);
    for (const Sample& sample : SomeSamples()) {
      auto tensors = Evaluate(before_, derived, sample, options_.run);
      if (!tensors.ok()) derived.clear();
      for (size_t i = 0; i < derived.size(); ++i) AddTo((*tensors)[i], &a[derived[i]]);
    }
    return Sweep(before_, after, derived, a, b, prover, limits_, options_.deadline);
  }

  // Whether the graphs differ by weights that no evaluation in f32 gives, and by nothing else.
  bool RefuteByWeights(const RelatedWeights& related, const Graph& after, RegionProver* prover) {
    SweepResult none;
    const SweptGraphs graphs = {before_, related.graph, none,
                                [&](const Graph& graph) { return AlignAndSweep(graph, prover); },
                                options_};
    Tell("looking for the wrong weights");
    auto place = FindWrongWeights(graphs, related.unrelated);
    if (!place) return false;
    if (!place->difference) {
      SetOpen(*place, related.graph);
      return false;
    }
    if (!RefuteAt(&*place, after)) return false;
    result_.refutation->by_weights = true;
    return true;
  }

  // Whether the graphs differ at one place, and are proved equal but for that.
  bool RefuteAtOnePlace(const SweepResult& swept, const Graph& related, const Graph& after,
                        RegionProver* prover) {
    const SweptGraphs graphs = {before_, related, swept,
                                [&](const Graph& graph) { return AlignAndSweep(graph, prover); },
                                options_};
    Tell("looking for the place of the difference");
    auto place = FindOnlyPlace(graphs);
    if (!place) return false;
    if (place->difference) return RefuteAt(&*place, after);
    SetOpen(*place, related);
    return false;
  }

  // Whether the graphs differ at a few places, such as wherever they use a number, and are proved
  // equal but for these.
  bool RefuteAtPlaces(const Graph& related, const Graph& after, RegionProver* prover) {
    Tell("looking for the places of the difference");
    const SweepLimits limits = limits_;
    limits_.assume = true;
    limits_.failures = kMostFailures;
    const SweepResult swept = AlignAndSweep(related, prover);
    limits_ = limits;
    const SweptGraphs graphs = {before_, related, swept, nullptr, options_};
    auto place = FindPlaces(graphs);
    if (!place || !place->difference || !RefuteAt(&*place, after)) return false;
    result_.refutation->places = static_cast<int>(swept.assumed.size());
    return true;
  }

  // Whether the graphs differ by a number in attributes, and by nothing else.
  bool RefuteByNumber(const Graph& related, const Graph& after, RegionProver* prover) {
    SweepResult none;
    const SweptGraphs graphs = {before_, related, none,
                                [&](const Graph& graph) { return AlignAndSweep(graph, prover); },
                                options_};
    Tell("looking for a wrong number");
    for (const ChangedNumber& number : OtherNumbers(before_, related)) {
      auto place = FindWrongNumber(graphs, number);
      if (!place || !place->difference || !RefuteAt(&*place, after)) continue;
      result_.refutation->places = static_cast<int>(number.users.size());
      return true;
    }
    return false;
  }

  void SetOpen(const OnlyPlace& place, const Graph& after) {
    only_open_ = {LabelNear(before_, place.before),
                  LabelNear(after, place.after),
                  place.region.operators,
                  place.reason,
                  place.before,
                  place.after};
  }

  bool RefuteAt(OnlyPlace* place, const Graph& after) {
    auto refutation = WorstOutput(before_, after, place->sample, options_);
    if (!refutation) return false;
    refutation->pair = std::move(place->difference);
    refutation->only_here = true;
    result_.answer = Answer::kRefuted;
    result_.refutation = std::move(refutation);
    return true;
  }

  // All outputs are proved equal.
  void Conclude(const Graph& after) {
    ProvedParts parts;
    parts.regions = static_cast<int>(result_.regions.size());
    for (const ProvedRegion& region : result_.regions) {
      parts.contract = std::max(parts.contract, region.contract);
      if (parts.condition.empty()) parts.condition = region.condition;
    }
    for (const WeightRelation& relation : result_.relations) parts.exact_weights &= relation.exact;
    const Conclusion conclusion = ConclusionOf(before_, after, parts);
    if (!conclusion.problem.empty()) {
      result_.reason = conclusion.problem;
      return;
    }
    result_.answer = Answer::kProved;
    result_.contract = conclusion.contract;
    result_.coverage = conclusion.coverage;
  }

  void Describe(const RelatedWeights& related, const Graph& after) {
    result_.compared = related.graph;
    result_.relations = related.relations;
    result_.weights.clear();
    result_.strange_weights.clear();
    for (const WeightRelation& r : related.relations) {
      result_.weights.push_back(
          {NameOf(after, r.after), Formula(r.before), r.exact, r.ulps, r.elements});
    }
    for (const UnrelatedWeight& u : related.unrelated) {
      StrangeWeight strange;
      strange.after = NameOf(after, u.after);
      strange.before = Formula(u.nearest);
      strange.outside = u.outside;
      int64_t rest = u.element;
      for (int64_t stride : RowMajorStrides(u.after.shape())) {
        strange.index.push_back(rest / stride);
        rest %= stride;
      }
      strange.value = u.value;
      strange.low = u.low;
      strange.high = u.high;
      result_.strange_weights.push_back(std::move(strange));
    }
  }

  void Explain(const SweepResult& swept, const Graph& after) {
    for (const OpenPair& u : swept.unproved) {
      result_.open.push_back({LabelNear(before_, u.before), LabelNear(after, u.after), u.operators,
                              u.reason, u.before, u.after});
    }
    std::stable_sort(result_.open.begin(), result_.open.end(),
                     [](const OpenRegion& a, const OpenRegion& b) {
                       // Those that were not tried have 0 operators.
                       return std::pair(a.operators == 0, a.operators) <
                              std::pair(b.operators == 0, b.operators);
                     });
    if (only_open_) {
      if (only_open_->reason.empty() && !result_.open.empty()) {
        only_open_->reason = result_.open.front().reason;
      }
      result_.open = {*only_open_};
      if (only_open_->reason.empty()) only_open_->reason = "no proof of it was found";
      result_.reason = absl::StrCat("all is proved equal but one region: ", only_open_->reason);
    } else if (swept.timed_out) {
      result_.reason = "the time is up";
    } else if (!not_executed_.empty()) {
      result_.reason = absl::StrCat("the graphs cannot be executed: ", not_executed_);
    } else if (!result_.strange_weights.empty()) {
      const StrangeWeight& weight = result_.strange_weights.front();
      result_.reason =
          absl::StrCat(weight.after, "[", absl::StrJoin(weight.index, ","), "] = ", weight.value,
                       " is near ", weight.before, ", but outside of [", weight.low, ", ",
                       weight.high, "], where every evaluation in f32 lies");
    } else if (!result_.open.empty()) {
      result_.reason = result_.open.front().reason;
    } else {
      result_.reason =
          "the outputs do not agree on random inputs, but not so far that it is certain";
    }
  }

  const Graph& before_;
  RefereeOptions options_;
  const std::vector<Guard> assumptions_;  // at sizes that do not meet these, no model runs
  RefereeResult result_;
  bool far_off_ = false;
  std::optional<Refutation> certain_;  // shown by outputs; its place may not be found yet
  std::string not_executed_;
  Sketches in_before_;
  SweepLimits limits_;
  std::optional<RegionProver> prover_;
  // The first sweep of the graphs as a whole, kept in case that the time is up in what follows.
  struct FirstSweep {
    SweepResult swept;
    Graph after;  // the graph that was swept
    Graph given;  // the same, with its weights as they are stored
  };
  std::optional<FirstSweep> first_sweep_;
  std::optional<OpenRegion> only_open_;  // with this region proved, all is
};

}  // namespace

const char* Name(Answer answer) {
  switch (answer) {
    case Answer::kProved:
      return "proved";
    case Answer::kRefuted:
      return "refuted";
    case Answer::kUnknown:
      return "unknown";
    case Answer::kDifferentInterface:
      return "different_interface";
  }
  return "";
}

RefereeResult Judge(const Graph& before, const Graph& after, const RefereeOptions& given) {
  // A proof ends when it is interrupted or after its number of steps; it does not look at the
  // clock.
  const Alarm alarm(given.deadline, given.prover.interrupted);
  RefereeOptions options = given;
  options.prover.interrupted = alarm.flag();
  WorkScope work(kUnlimitedWork, options.prover.interrupted);
  Case judged(before, std::move(options));
  try {
    return judged.Run(after);
  } catch (const WorkEnded& end) {
    const bool is_late = end.limit == 0 && given.deadline.Passed() && !given.deadline.interrupted();
    return judged.Ended(is_late ? "the time is up" : end.Reason("the comparison of graphs"));
  }
}

double OutputDistance(const std::vector<OutputComparison>& outputs) {
  double distance = outputs.empty() ? std::numeric_limits<double>::infinity() : 0;
  for (const OutputComparison& output : outputs) {
    distance = std::max(distance, output.difference / (output.explained + 1e-300));
  }
  return distance;
}

double OutputDistance(const Graph& before, const Graph& after, const RefereeOptions& options) {
  const MatchedInterface interface = MatchInterface(before, after);
  if (!interface.differences.empty()) return std::numeric_limits<double>::infinity();
  auto outputs = CompareOutputs(before, interface.after, 0, options);
  return OutputDistance(outputs.ok() ? *outputs : std::vector<OutputComparison>());
}

}  // namespace lemma::referee
