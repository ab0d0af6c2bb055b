#include "api/session.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/execution/timing.h"
#include "api/models/option_error.h"
#include "api/models/sizes.h"
#include "base/stopwatch.h"
#include "base/text_table.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {
namespace {

// Which dimensions reading the model fixed, and why, behind the error of inputs that do not fit.
absl::Status WithFixedSizes(const absl::Status& status, const std::vector<std::string>& notes) {
  std::string text(status.message());
  for (const std::string& note : notes) {
    if (absl::StartsWith(note, "dimension ") || absl::StartsWith(note, "they are fixed")) {
      absl::StrAppend(&text, "; ", note);
    }
  }
  return absl::Status(status.code(), text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const Model& model,
                                                       const SessionOptions& options) {
  if (options.max_plans < 1) return OptionError("option max_plans: must be at least 1");
  if (absl::Status s = CheckExecutionOptions(options.execution); !s.ok()) return s;
  auto backend = MakeBackend(options.execution);
  if (!backend.ok()) return backend.status();
  return std::unique_ptr<Session>(new Session(model, options, *std::move(backend)));
}

absl::StatusOr<const Session::Plan*> Session::At(const DimValues& sizes) {
  auto known = std::find_if(plans_.begin(), plans_.end(),
                            [&](const auto& entry) { return entry.first == sizes; });
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
    return &plans_.front().second;
  }
  Plan plan;
  auto graph = Specialize(model_.graph, sizes);
  if (!graph.ok()) return Prefixed(model_.path, graph.status());
  plan.graph = *std::move(graph);
  auto executable = backend_->Compile(plan.graph, CompileOptionsOf(options_.execution));
  if (!executable.ok()) return Prefixed(model_.path, executable.status());
  plan.executable = *std::move(executable);
  plans_.emplace_front(sizes, std::move(plan));
  if (plans() > options_.max_plans) plans_.pop_back();
  return &plans_.front().second;
}

absl::StatusOr<std::vector<Tensor>> Session::Run(absl::Span<const Tensor> inputs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  auto sizes = BindDims(model_.graph, types);
  if (!sizes.ok()) return Prefixed(model_.path, WithFixedSizes(sizes.status(), model_.notes));
  auto plan = At(*sizes);
  if (!plan.ok()) return plan.status();
  auto outputs = (*plan)->executable->Run(inputs);
  if (!outputs.ok()) return Prefixed(model_.path, outputs.status());
  return outputs;
}

absl::StatusOr<std::vector<SizesTiming>> TimeAtSizes(Session* session,
                                                     absl::Span<const DimValues> sizes,
                                                     const InputOptions& inputs, int64_t runs) {
  if (absl::Status s = CheckInputOptions(inputs); !s.ok()) return s;
  std::vector<SizesTiming> timings;
  std::vector<std::vector<Tensor>> values;
  auto run = [&](size_t i, double* ms) {
    const Stopwatch stopwatch(session->threads());
    const absl::Status status = session->Run(values[i]).status();
    *ms = stopwatch.Ms();
    return status;
  };
  for (const DimValues& given : sizes) {
    auto completed = CompleteSizes(session->model().graph, given);
    if (!completed.ok())
      return OptionError(absl::StrCat("option sizes: ", completed.status().message()));
    auto sized = AtSizes(session->model(), *completed);
    if (!sized.ok()) return Prefixed(session->model().path, sized.status());
    auto tensors = InputsOf(*sized, inputs);
    if (!tensors.ok()) return Prefixed(session->model().path, tensors.status());
    values.push_back(*std::move(tensors));
    SizesTiming timing;
    timing.sizes = InputSizes(session->model().graph, *completed);
    if (absl::Status s = run(timings.size(), &timing.first_ms); !s.ok()) return s;
    timing.ms.resize(static_cast<size_t>(runs));
    for (double& ms : timing.ms) {
      if (absl::Status s = run(timings.size(), &ms); !s.ok()) return s;
    }
    auto plan = session->At(timing.sizes);
    if (!plan.ok()) return plan.status();
    timing.memory = (*plan)->executable->memory();
    timings.push_back(std::move(timing));
  }
  for (size_t i = 0; i < timings.size(); ++i) {
    if (absl::Status s = run(i, &timings[i].again_ms); !s.ok()) return s;
  }
  return timings;
}

std::string TextOf(const std::vector<SizesTiming>& timings) {
  TextTable table({"sizes", "first run", "median", "seen before", "peak memory"});
  for (const SizesTiming& timing : timings) {
    table.Row({absl::StrJoin(timing.sizes, ",", absl::PairFormatter("=")),
               FormatMs(timing.first_ms), FormatMs(Median(timing.ms)), FormatMs(timing.again_ms),
               FormatBytes(static_cast<double>(timing.memory.planned_bytes))});
  }
  return table.ToString();
}

}  // namespace lemma::api
