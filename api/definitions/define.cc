#include "api/define.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/backends.h"
#include "api/inspect.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/text_table.h"
#include "graph/builder.h"
#include "graph/define/operator_file.h"
#include "graph/examples/op_examples.h"
#include "graph/grad/gradient.h"
#include "graph/op_table.h"
#include "runtime/reference/reference.h"

namespace lemma::api {
namespace {

constexpr double kExecutionLimit = 1e-4;  // of execution_error: f32 against double
constexpr double kGradientLimit = 1e-4;   // of gradient_error: differences of f64
constexpr double kStep = 1e-4;            // of the difference quotients

// An application as a graph, with the results of float types and one seed for each.
struct Application {
  Graph forward;
  std::optional<Graph> backward;  // inputs, then seeds; its outputs are gradients
  std::vector<int> parameters;    // inputs of float types
};

// With inputs of float types of the type `floats`, where the operator takes that.
absl::StatusOr<Application> Build(const OpExample& example, DType floats) {
  auto changed = example.inputs;
  for (TensorType& type : changed) type.dtype = IsFloat(type.dtype) ? floats : type.dtype;
  const bool takes = InferTypes(*example.op, changed, example.attrs).ok();
  GraphBuilder forward("forward"), backward("backward");
  Application application;
  std::vector<Value> inputs, parameters;
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    TensorType type = example.inputs[i];
    if (IsFloat(type.dtype)) {
      if (takes) type.dtype = floats;
      application.parameters.push_back(static_cast<int>(i));
    }
    inputs.push_back(forward.Input(absl::StrCat("x", i), type));
    backward.Input(absl::StrCat("x", i), type);
    if (IsFloat(type.dtype)) parameters.push_back(inputs.back());
  }
  LEMMA_ASSIGN_OR_RETURN(const auto outputs, ApplyOp(example.op->name, inputs, example.attrs));
  std::vector<Value> results, seeds;
  for (size_t k = 0; k < outputs.size(); ++k) {
    forward.Output(absl::StrCat("y", k), outputs[k]);
    if (!IsFloat(outputs[k].dtype())) continue;
    results.push_back(outputs[k]);
    seeds.push_back(backward.Input(absl::StrCat("dy", k), outputs[k].type()));
  }
  LEMMA_ASSIGN_OR_RETURN(application.forward, std::move(forward).Build());
  if (!example.op->gradient || results.empty() || parameters.empty()) return application;
  LEMMA_ASSIGN_OR_RETURN(const auto gradients, Gradient(results, seeds, parameters));
  std::vector<int> with_gradient;
  for (size_t g = 0; g < gradients.size(); ++g) {
    if (!gradients[g]) continue;
    with_gradient.push_back(application.parameters[g]);
    backward.Output(absl::StrCat("d", g), gradients[g]);
  }
  application.parameters = with_gradient;
  if (with_gradient.empty()) return application;
  LEMMA_ASSIGN_OR_RETURN(application.backward, std::move(backward).Build());
  return application;
}

// Numbers between -2 and 2, no two of one draw within 1e-3 of each other in most cases.
Tensor RandomTensor(const TensorType& type, uint64_t seed) {
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t random = Mix64(HashCombine(seed, i));
    values[i] = IsFloat(type.dtype) ? static_cast<double>(random % 40001) / 10000 - 2
                                    : static_cast<double>(random % 2);
  }
  return *Tensor::FromDoubles(type, values);
}
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const Value& input : graph.inputs()) {
    tensors.push_back(RandomTensor(input.type(), HashCombine(seed, tensors.size())));
  }
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> Run(Backend& backend, const Graph& graph,
                                        const std::vector<Tensor>& inputs) {
  LEMMA_ASSIGN_OR_RETURN(auto executable, backend.Compile(graph, {}));
  return executable->Run(inputs);
}

bool AllFinite(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.AtDouble(i))) return false;
    }
  }
  return true;
}

// The greatest difference, relative to the greatest wanted element or to 1. NaN equals NaN.
double Difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  double scale = 1, most = 0;
  for (size_t k = 0; k < want.size(); ++k) {
    for (int64_t i = 0; i < want[k].size(); ++i) {
      const double a = got[k].AtDouble(i), b = want[k].AtDouble(i);
      if (std::isfinite(b)) scale = std::max(scale, std::fabs(b));
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      most = std::max(most, std::isfinite(a - b) ? std::fabs(a - b) : HUGE_VAL);
    }
  }
  return most / scale;
}

absl::Status CheckExecution(const OpExample& example, Backend& reference, Backend& cpu,
                            OperatorCheck* check) {
  LEMMA_ASSIGN_OR_RETURN(const Application f32, Build(example, DType::kF32));
  for (const Graph* graph : {&f32.forward, f32.backward ? &*f32.backward : nullptr}) {
    if (graph == nullptr) continue;
    const auto inputs = RandomInputs(*graph, 1);
    LEMMA_ASSIGN_OR_RETURN(const auto want, Run(reference, *graph, inputs));
    LEMMA_ASSIGN_OR_RETURN(const auto got, Run(cpu, *graph, inputs));
    check->execution_error = std::max(check->execution_error, Difference(got, want));
  }
  return absl::OkStatus();
}

// sum over float results y of dy * y.
double Weighted(const std::vector<Tensor>& results, const std::vector<Tensor>& seeds) {
  double sum = 0;
  size_t next = 0;
  for (const Tensor& result : results) {
    if (!IsFloat(result.dtype())) continue;
    const Tensor& seed = seeds[next++];
    for (int64_t i = 0; i < result.size(); ++i) sum += result.AtDouble(i) * seed.AtDouble(i);
  }
  return sum;
}

absl::Status CheckGradient(const OpExample& example, Backend& reference, OperatorCheck* check) {
  LEMMA_ASSIGN_OR_RETURN(const Application f64, Build(example, DType::kF64));
  if (!f64.backward) return absl::OkStatus();
  // Difference quotients of rounded numbers are noise.
  for (const auto& values : {f64.forward.inputs(), f64.forward.outputs()}) {
    for (const Value& value : values) {
      if (IsFloat(value.dtype()) && value.dtype() != DType::kF64) return absl::OkStatus();
    }
  }
  LEMMA_ASSIGN_OR_RETURN(auto forward, reference.Compile(f64.forward, {}));
  const auto all = RandomInputs(*f64.backward, 2);
  const size_t given = f64.forward.inputs().size();
  std::vector<Tensor> inputs(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(given));
  const std::vector<Tensor> seeds(all.begin() + static_cast<std::ptrdiff_t>(given), all.end());
  LEMMA_ASSIGN_OR_RETURN(const auto gradients, Run(reference, *f64.backward, all));
  LEMMA_ASSIGN_OR_RETURN(const auto results, forward->Run(inputs));
  // Outside a function's domain there is no difference quotient.
  if (!AllFinite(results) || !AllFinite(gradients)) return absl::OkStatus();
  ++check->gradients;
  for (size_t g = 0; g < gradients.size(); ++g) {
    const Tensor original = inputs[f64.parameters[g]];
    std::vector<double> values(static_cast<size_t>(original.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = original.AtDouble(static_cast<int64_t>(i));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      double quotient = 0;
      for (const double side : {1.0, -1.0}) {
        std::vector<double> moved = values;
        moved[i] += side * kStep;
        LEMMA_ASSIGN_OR_RETURN(inputs[f64.parameters[g]],
                               Tensor::FromDoubles(original.type(), moved));
        LEMMA_ASSIGN_OR_RETURN(const auto there, forward->Run(inputs));
        quotient += side * Weighted(there, seeds) / (2 * kStep);
      }
      const double found = gradients[g].AtDouble(static_cast<int64_t>(i));
      const double error = std::fabs(found - quotient) / std::max(1.0, std::fabs(quotient));
      check->gradient_error = std::max(check->gradient_error, error);
    }
    inputs[f64.parameters[g]] = original;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> DefineOperators(const std::string& path) {
  LEMMA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, int64_t{1} << 26));
  LEMMA_ASSIGN_OR_RETURN(auto names, lemma::DefineOperators(text, path));
  if (!names.empty()) return names;
  return absl::InvalidArgumentError(absl::StrCat(path, ": defines no operators"));
}

absl::StatusOr<OperatorCheck> CheckOperator(const std::string& name) {
  const OpDef* op = FindOp(name);
  OperatorCheck check;
  LEMMA_ASSIGN_OR_RETURN(check.page, OperatorPage(name));
  check.differentiable = static_cast<bool>(op->gradient);
  const auto reference = MakeReferenceBackend();
  LEMMA_ASSIGN_OR_RETURN(const auto cpu, MakeBackend("cpu"));
  for (const std::string& text : op->examples) {
    LEMMA_ASSIGN_OR_RETURN(const OpExample example, ParseExample(*op, text));
    ++check.applications;
    auto trouble = [&](const absl::Status& status) {
      if (!status.ok()) check.problems.push_back(absl::StrCat(name, text, ": ", status.message()));
    };
    trouble(CheckExecution(example, *reference, *cpu, &check));
    trouble(CheckGradient(example, *reference, &check));
  }
  auto judge = [&](const char* what, double error, double limit) {
    if (error <= limit) return;
    check.problems.push_back(absl::StrCat(what, " by ", error, ", more than ", limit));
  };
  judge("the CPU differs from the definition", check.execution_error, kExecutionLimit);
  judge("the gradient differs from finite differences", check.gradient_error, kGradientLimit);
  return check;
}

std::string TextOf(const OperatorCheck& check) {
  std::string text = check.page;
  if (check.applications > 0) {
    absl::StrAppendFormat(&text, "\nTried on %s: the CPU differs from the definition by %.1e",
                          FormatCount(check.applications, "application"), check.execution_error);
    if (check.gradients > 0) {
      absl::StrAppendFormat(&text, ", the gradient from finite differences by %.1e",
                            check.gradient_error);
    }
    text += ".\n";
    if (check.differentiable && check.gradients == 0) {
      text += "Its gradient was not tried: that needs f64, and finite results.\n";
    }
  } else {
    text += "\nNo small sizes were found that it takes; nothing was tried.\n";
  }
  for (const std::string& problem : check.problems) {
    absl::StrAppend(&text, "\nWrong: ", problem, "\n");
  }
  return text + "\n";
}

}  // namespace lemma::api
