#include "api/run.h"

#include "absl/strings/str_cat.h"
#include "api/execution/timing.h"
#include "api/models/option_error.h"
#include "api/models/tensor_files.h"

namespace lemma::api {
namespace {

absl::StatusOr<OutputDifference> CompareWithFiles(const Graph& graph, const RunFindings& findings,
                                                  const std::vector<Tensor>& outputs,
                                                  const RunOptions& options) {
  auto expected = ReadTensors(options.expect, "output_");
  if (!expected.ok()) return expected.status();
  if (expected->size() != outputs.size()) {
    return OptionError(absl::StrCat("option expect: ", expected->size(),
                                    " tensors given, the model has ", outputs.size(), " outputs"));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if ((*expected)[i].type() == outputs[i].type()) continue;
    return OptionError(absl::StrCat("option expect: output ", graph.output_names()[i], " is ",
                                    outputs[i].type().ToString(), ", the tensor given is ",
                                    (*expected)[i].type().ToString()));
  }
  return CompareOutputs(graph, outputs, *expected, findings,
                        options.execution.backend_options.precision);
}

absl::Status Profile(const RunOptions& options, PreparedModel* model, RunResult* result) {
  if (options.profile) {
    auto kernels =
        ProfileRuns(&model->executable(), model->inputs(), static_cast<int>(options.runs));
    if (!kernels.ok()) return kernels.status();
    result->profile = *std::move(kernels);
    auto roofline = MeasureRoofline(&model->backend(), CompileOptionsOf(options.execution));
    if (!roofline.ok()) return roofline.status();
    result->roofline = *roofline;
  }
  if (options.trace) {
    auto outputs = model->executable().RunTimed(model->inputs(), &result->trace);
    if (!outputs.ok()) return outputs.status();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PreparedModel> PreparedModel::Make(const Model& model,
                                                  const ExecutionOptions& execution,
                                                  const InputOptions& inputs) {
  if (absl::Status s = CheckExecutionOptions(execution); !s.ok()) return s;
  if (absl::Status s = CheckInputOptions(inputs); !s.ok()) return s;
  auto values = InputsOf(model, inputs);
  if (!values.ok()) return Prefixed(model.path, values.status());
  auto backend = MakeBackend(execution);
  if (!backend.ok()) return backend.status();
  auto executable = (*backend)->Compile(model.graph, CompileOptionsOf(execution));
  if (!executable.ok()) return Prefixed(model.path, executable.status());
  return PreparedModel(model.graph, *std::move(values), *std::move(backend),
                       *std::move(executable));
}

absl::StatusOr<std::vector<double>> PreparedModel::Times(int64_t runs) {
  return TimeRuns(executable_.get(), inputs_, static_cast<int>(runs));
}

absl::StatusOr<RunResult> Run(const Model& model, const RunOptions& options) {
  if (absl::Status s = CheckRuns(options.runs, 1); !s.ok()) return s;
  auto prepared = PreparedModel::Make(model, options.execution, options.inputs);
  if (!prepared.ok()) return prepared.status();
  RunResult result;
  result.backend = prepared->backend().name();
  auto outputs = prepared->Outputs();  // also the warm-up
  if (!outputs.ok()) return Prefixed(model.path, outputs.status());
  result.outputs = *std::move(outputs);
  if (options.on_outputs) {
    if (absl::Status s = options.on_outputs(result.outputs); !s.ok()) return s;
  }
  if (!options.expect.empty()) {
    auto difference =
        CompareWithFiles(model.graph, prepared->executable().findings(), result.outputs, options);
    if (!difference.ok()) return difference.status();
    result.difference = *std::move(difference);
  }
  auto ms = prepared->Times(options.runs);
  if (!ms.ok()) return ms.status();
  result.ms = *std::move(ms);
  if (absl::Status s = Profile(options, &*prepared, &result); !s.ok()) return s;
  result.memory = prepared->executable().memory();
  return result;
}

}  // namespace lemma::api
