#include "api/optimization/acceptance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "api/execution/definitions.h"
#include "api/execution/discontinuity.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/optimization/headroom.h"
#include "runtime/plan/node_traits.h"
#include "runtime/staged/choice.h"

namespace lemma::api {
namespace {

// The gain in the median that counts. A larger one of kClearGain ends the runs early.
constexpr double kLeastGain = 0.005, kClearGain = 0.01;
// What a certain contender may lose, and what a product of time and memory must gain.
constexpr double kCertainLoss = 0.01, kLeastProductGain = 0.01;
constexpr double kMaxSeconds = 60;  // of one batch of runs
constexpr int kBatches = 4;
// For another program: batches that a gain has to hold in, each with both graphs loaded anew; and
// the runs in each of them but the first if the time is up.
constexpr int kLeastRenewed = 3, kLateRuns = 3;
// The time for the batches of one contender that a passed deadline does not shorten: a search that
// takes all the time there is should not make a small model lose what was found.
constexpr double kLateSeconds = 2;

// One graph, compiled, with its outputs on the inputs.
struct Candidate {
  std::shared_ptr<Executable> executable;
  std::vector<Tensor> outputs;
  MemoryUse memory;
};

absl::StatusOr<Candidate> Prepare(Backend* backend, const Graph& graph,
                                  const AcceptanceOptions& acceptance,
                                  absl::Span<const Tensor> inputs) {
  CompileOptions options;
  options.threads = acceptance.threads;
  auto executable = backend->Compile(graph, options);
  if (!executable.ok()) return executable.status();
  Candidate candidate{*std::move(executable), {}, {}};
  if (acceptance.planner != nullptr) {
    auto plan = acceptance.planner->Plan(graph, options);
    if (!plan.ok()) return plan.status();
    candidate.memory = plan->memory;
  }
  auto outputs = candidate.executable->Run(inputs);
  if (!outputs.ok()) return outputs.status();
  candidate.outputs = *std::move(outputs);
  // Parts whose sizes are known only at run time are planned now.
  if (acceptance.planner == nullptr) candidate.memory = candidate.executable->memory();
  return candidate;
}

// Whether a constant, a weight or an attribute is infinite or not a number, or too large for f32.
bool HasInfinities(const Graph& graph) {
  auto bad = [](double v) { return !(std::abs(v) <= std::numeric_limits<float>::max()); };
  for (const NodePtr& node : graph.nodes()) {
    for (const auto& [name, value] : node->attrs()) {
      if (auto* real = std::get_if<double>(&value); real != nullptr && bad(*real)) return true;
    }
    if (!node->has_payload()) continue;
    const Tensor& payload = node->payload();
    const bool is_other = IsHalfFloat(payload.dtype()) || payload.dtype() == DType::kF64;
    for (int64_t i = 0; is_other && i < payload.size(); ++i) {
      if (!std::isfinite(payload.AtDouble(i))) return true;
    }
    if (payload.dtype() != DType::kF32) continue;
    for (float v : payload.data<float>()) {
      if (bad(v)) return true;
    }
  }
  return false;
}

bool SameBytes(absl::Span<const Tensor> a, absl::Span<const Tensor> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.SameBytes(y); });
}

// Two graphs that are timed in turn.
struct Pair {
  Backend* backend;
  const Graph *input, *contender;
  std::shared_ptr<Executable> before, after;

  // Compiles both anew, every second time in the other order: where memory lies changes times.
  absl::Status Renew(int number, const AcceptanceOptions& acceptance) {
    CompileOptions options;
    options.threads = acceptance.threads;
    before.reset();
    after.reset();
    for (int i = 0; i < 2; ++i) {
      const bool is_input = (i + number) % 2 == 0;
      auto executable = backend->Compile(is_input ? *input : *contender, options);
      if (!executable.ok()) return executable.status();
      (is_input ? before : after) = *std::move(executable);
    }
    return absl::OkStatus();
  }
};

// Times both in turn until it is clear which is faster, or the batches are used up. One batch shows
// whether a contender that is certain is slower after all.
absl::Status Time(Pair pair, absl::Span<const Tensor> inputs, bool is_certain,
                  const AcceptanceOptions& options, Acceptance* result) {
  std::vector<double> a, b;
  const Deadline enough = options.deadline.WithAtLeast(kLateSeconds);
  const int least = options.only_executed ? kLeastRenewed : 1;
  // Runs of the same executables; the last group of a batch may be smaller.
  const int group = options.renews_within_batch ? (options.runs + 2) / 3 : options.runs;
  const bool renews = options.only_executed || options.renews_within_batch;
  int groups = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    const bool is_late = batch > 0 && enough.Passed();
    const int runs = is_late ? std::min(options.runs, kLateRuns) : options.runs;
    for (int left = runs; left > 0; left -= group, ++groups) {
      if (renews && groups > 0) {
        if (absl::Status s = pair.Renew(groups, options); !s.ok()) return s;
      }
      auto ms =
          TimeAlternating({pair.before.get(), pair.after.get()}, inputs, std::min(group, left),
                          kMaxSeconds * group / options.runs, options.threads);
      if (!ms.ok()) return ms.status();
      a.insert(a.end(), (*ms)[0].begin(), (*ms)[0].end());
      b.insert(b.end(), (*ms)[1].begin(), (*ms)[1].end());
    }
    result->found = PairedRatio(a, b);
    if (result->found->low >= 1 - kLeastGain) break;
    if (batch + 1 < least) continue;
    if (result->found->high <= 1 - kClearGain || is_certain || enough.Passed()) break;
  }
  result->runs = static_cast<int>(a.size());
  result->ms_before = Median(a);
  result->ms_after = Median(b);
  return absl::OkStatus();
}

// Leaves out contenders with constants out of range, and those with overflowed constants if the
// input has none: they are right for real numbers only.
std::vector<Contender> Allowed(const Graph& input, std::vector<Contender> contenders,
                               FloatContract numerics) {
  if (numerics == FloatContract::kRealOnly) return contenders;
  const bool may_overflow = HasInfinities(input);
  contenders.erase(std::remove_if(contenders.begin(), contenders.end(),
                                  [&](const Contender& c) {
                                    return c.out_of_range ||
                                           (!may_overflow && HasInfinities(c.graph));
                                  }),
                   contenders.end());
  return contenders;
}

// Whether it is faster, with the confidence of the interval, and by enough in the median.
bool IsFaster(const RatioInterval& ratio) {
  return ratio.high < 1 && ratio.median <= 1 - kLeastGain;
}

// Whether the contender timed last, with this memory, is better than the input.
bool Pays(const AcceptanceOptions& options, const Acceptance& result, bool is_certain,
          int64_t bytes) {
  using Goal = optimizer::Objective::Goal;
  const optimizer::Objective objective = options.objective.Deciding();
  const int64_t before = result.memory_before.planned_bytes;
  if (objective.memory_limit > 0 && before > objective.memory_limit) return true;
  const bool faster = options.runs == 0 || IsFaster(*result.found);
  const double ratio = options.runs > 0 ? result.found->high : 0;
  if (objective.goal == Goal::kMemory) {
    return bytes < before || (bytes == before && faster);
  }
  if (objective.goal == Goal::kTime) {
    return faster || (is_certain && options.runs > 0 && result.found->low <= 1 + kCertainLoss);
  }
  const double memory =
      static_cast<double>(std::max<int64_t>(bytes, 1)) / std::max<int64_t>(before, 1);
  return options.runs == 0 ||
         std::pow(ratio, 1 - objective.memory_weight) * std::pow(memory, objective.memory_weight) <=
             1 - kLeastProductGain;
}

// Times the kernels of both in their runs, because the sum of costs predicted less for one of them.
absl::Status TimeKernels(Executable* before, Executable* after, absl::Span<const Tensor> inputs,
                         const AcceptanceOptions& options, Acceptance* result) {
  if (options.runs == 0 || !options.objective.IsTime()) return absl::OkStatus();
  auto profiles = ProfileAlternating({before, after}, inputs, options.runs, kMaxSeconds);
  if (!profiles.ok()) return profiles.status();
  const optimizer::KernelTimes times = TimesBySignature(*profiles);
  result->in_graph.insert(result->in_graph.end(), times.begin(), times.end());
  return absl::OkStatus();
}

std::string Off(const OutputDifference& difference) {
  return absl::StrCat("output ", difference.output, " differs by ", difference.largest,
                      ", allowed ", difference.allowed);
}

// Why the contender does not equal the input, as executed or as defined; "" if it does. Without
// `definitions` only as executed.
absl::StatusOr<std::string> WhyNotEqual(const Graph& input, const Candidate& before,
                                        const Contender& contender, const Candidate& after,
                                        Definitions* definitions, absl::Span<const Tensor> inputs,
                                        const AcceptanceOptions& options,
                                        OutputDifference* difference) {
  const OutputDifference executed =
      CompareOutputs(input, after.outputs, before.outputs, before.executable->findings());
  if (definitions != nullptr) {
    auto verdict = definitions->Judge(after.executable.get(), after.outputs, /*is_graph=*/false);
    if (!verdict.ok()) return verdict.status();
    *difference = verdict->difference;
    if (!verdict->agrees) {
      return absl::StrCat("it computes something else than the input's operators are defined as: ",
                          Off(*difference));
    }
  } else {
    *difference = executed;
  }
  if (options.unproved && !difference->compared()) {
    return absl::StrCat("it was found with rules that are not proved, and ",
                        difference->ToString());
  }
  if (executed.ok) return std::string();
  if (definitions == nullptr) {
    return absl::StrCat("it computes something else than the input: ", Off(executed));
  }
  auto jump = DifferByADiscontinuity(input, before.executable.get(), contender.graph,
                                     after.executable.get(), inputs, options.threads);
  if (!jump.ok()) return jump.status();
  return *jump ? "" : absl::StrCat("it computes something else than the input: ", Off(executed));
}

// Whether a value decides at run time what is executed.
bool HasChoices(const Graph& graph) {
  NodeTraitsCache traits;
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const NodePtr& node) { return node->is_op() && ChoiceOf(*node, traits); });
}

// Compares both where other sides of choices may be taken. Inputs that the input refuses are left
// out. Why they differ; "" if they do not.
absl::StatusOr<std::string> WhyNotEqualElsewhere(const Graph& input, const Candidate& before,
                                                 const Contender& contender, const Candidate& after,
                                                 const AcceptanceOptions& options) {
  constexpr uint64_t kSamples = 3;
  if (!HasChoices(input)) return std::string();
  for (uint64_t seed = 1; seed <= kSamples; ++seed) {
    auto inputs = RandomInputs(input, seed, /*integer_range=*/2);
    if (!inputs.ok()) return inputs.status();
    auto definitions = Definitions::Run(input, *inputs, options.threads);
    auto expected = before.executable->Run(*inputs);
    if (!definitions.ok() || !expected.ok()) continue;
    auto outputs = after.executable->Run(*inputs);
    if (!outputs.ok()) {
      return absl::StrCat("it fails where the input does not: ", outputs.status().message());
    }
    const Candidate here_before{before.executable, *std::move(expected), before.memory};
    const Candidate here_after{after.executable, *std::move(outputs), after.memory};
    OutputDifference difference;
    auto why_not = WhyNotEqual(input, here_before, contender, here_after, &*definitions, *inputs,
                               options, &difference);
    if (!why_not.ok() || !why_not->empty()) return why_not;
  }
  return std::string();
}

// Executes both and compares them; accepts the contender if it is better.
absl::Status Try(Backend* backend, const Graph& input, const Contender& contender,
                 absl::Span<const Tensor> inputs, const AcceptanceOptions& options,
                 const Candidate& before, Definitions* definitions, Acceptance* result) {
  auto after = Prepare(backend, contender.graph, options, inputs);
  if (options.only_executed && absl::IsUnimplemented(after.status())) {
    result->rejected = absl::StrCat("it cannot be executed: ", after.status().message());
    return absl::OkStatus();
  }
  if (!after.ok()) return after.status();
  OutputDifference difference;
  auto why_not =
      WhyNotEqual(input, before, contender, *after, definitions, inputs, options, &difference);
  if (why_not.ok() && why_not->empty()) {
    why_not = WhyNotEqualElsewhere(input, before, contender, *after, options);
  }
  if (why_not.ok() && why_not->empty() && options.numerics != FloatContract::kRealOnly) {
    auto overflows =
        OverflowsEarlier(input, before.executable.get(), after->executable.get(), inputs);
    if (!overflows.ok()) return overflows.status();
    if (*overflows) why_not = "it overflows on larger inputs, on which the input does not";
  }
  if (!why_not.ok()) return why_not.status();
  if (!why_not->empty()) {
    result->rejected = *std::move(why_not);
    return absl::OkStatus();
  }
  if (options.numerics == FloatContract::kBitExact && !SameBytes(after->outputs, before.outputs)) {
    // The rules keep every bit of the definitions, but a kernel may sum in another order.
    return absl::OkStatus();
  }
  const MemoryUse& memory = after->memory;
  const int64_t limit = options.objective.memory_limit;
  result->found_bytes = memory.planned_bytes;
  result->found = std::nullopt;
  if (limit > 0 && memory.planned_bytes > limit) {
    if (result->least_bytes) {
      result->least_bytes = std::min(*result->least_bytes, memory.planned_bytes);
    }
    return absl::OkStatus();
  }
  if (options.runs > 0) {
    absl::Status timed =
        Time({backend, &input, &contender.graph, before.executable, after->executable}, inputs,
             contender.is_certain, options, result);
    if (!timed.ok()) return timed;
  }
  if (!Pays(options, *result, contender.is_certain, memory.planned_bytes)) {
    result->ms_after = result->ms_before;
    return TimeKernels(before.executable.get(), after->executable.get(), inputs, options, result);
  }
  if (options.runs > 0) result->ratio = result->found->median;
  result->least_bytes = std::nullopt;
  result->memory_after = memory;
  result->difference = difference;
  result->graph = contender.graph;
  result->rewrites = contender.rewrites;
  result->recomputed = contender.recomputed;
  result->offloaded = contender.offloaded;
  result->bodies = contender.bodies;
  result->before_bodies = contender.before_bodies;
  return absl::OkStatus();
}

}  // namespace

std::vector<optimizer::RewriteStep> AllRewrites(const Acceptance& accepted) {
  std::vector<optimizer::RewriteStep> steps = accepted.rewrites;
  for (const OptimizedBody& body : accepted.bodies) {
    steps.insert(steps.end(), body.rewrites.begin(), body.rewrites.end());
  }
  return steps;
}

Acceptance AcceptUnseen(const Graph& input, std::vector<Contender> contenders,
                        FloatContract numerics, const std::string& why) {
  contenders = Allowed(input, std::move(contenders), numerics);
  Acceptance result;
  result.graph = input;
  result.why_not_measured = why;
  if (contenders.empty()) return result;
  result.graph = contenders.front().graph;
  result.rewrites = contenders.front().rewrites;
  result.recomputed = contenders.front().recomputed;
  result.offloaded = contenders.front().offloaded;
  result.bodies = contenders.front().bodies;
  result.before_bodies = contenders.front().before_bodies;
  return result;
}

absl::StatusOr<Acceptance> Accept(Backend* backend, const Graph& input,
                                  std::vector<Contender> contenders,
                                  absl::Span<const Tensor> inputs,
                                  const AcceptanceOptions& options) {
  contenders = Allowed(input, std::move(contenders), options.numerics);
  if (options.only_executed) {
    // The plans of another program are not known, only guessed.
    for (Contender& contender : contenders) contender.is_certain = false;
  }
  Acceptance result;
  result.graph = input;
  auto before = Prepare(backend, input, options, inputs);
  if (absl::IsUnimplemented(before.status()) &&
      !options.only_executed) {  // opaque operators: the prediction has to do
    if (options.objective.memory_limit > 0) {
      return MarkOptionError(absl::FailedPreconditionError(
          "option memory_limit: the memory of a model with operators that only its own runtime "
          "knows cannot be told"));
    }
    return AcceptUnseen(input, std::move(contenders), options.numerics,
                        "the model has operators that only its own runtime knows");
  }
  // Such as an index, or a computed shape, that does not fit.
  if ((absl::IsInvalidArgument(before.status()) || absl::IsOutOfRange(before.status())) &&
      backend->Compile(input, {}).ok()) {
    return MarkOptionError(absl::InvalidArgumentError(
        absl::StrCat("option inputs: the model fails on the inputs that it is executed on (random "
                     "ones, unless they are given): ",
                     before.status().message())));
  }
  if (!before.ok()) return before.status();
  auto definitions = Definitions::Run(input, inputs, options.threads);
  result.has_definitions = !(options.only_executed && absl::IsUnimplemented(definitions.status()));
  if (result.has_definitions) {
    if (!definitions.ok()) return definitions.status();
    auto own = definitions->Judge(before->executable.get(), before->outputs, /*is_graph=*/true);
    if (!own.ok()) return own.status();
    if (!own->agrees) {
      return absl::InternalError(absl::StrCat("the back end ", backend->name(),
                                              " computes something else for the input than "
                                              "its operators are defined as: ",
                                              Off(own->difference), "; nothing was written"));
    }
    result.difference = own->difference;
  }
  result.measured = true;
  result.memory_before = result.memory_after = before->memory;
  const int64_t limit = options.objective.memory_limit;
  if (limit > 0 && result.memory_before.planned_bytes > limit) {
    result.least_bytes = result.memory_before.planned_bytes;
  }
  for (const Contender& contender : contenders) {
    absl::Status s = Try(backend, input, contender, inputs, options, *before,
                         result.has_definitions ? &*definitions : nullptr, &result);
    if (!s.ok()) return s;
    if (!result.kept_input()) return result;
  }
  if (result.ms_before > 0 || options.runs == 0 || result.least_bytes) return result;
  auto ms = TimeRuns(before->executable.get(), inputs, options.runs, options.threads);
  if (!ms.ok()) return ms.status();
  result.ms_before = result.ms_after = Median(*ms);
  return result;
}

}  // namespace lemma::api
