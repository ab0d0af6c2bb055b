#include "verifier/refutation/concrete.h"

#include <utility>

#include "base/work.h"
#include "graph/expr/substitute.h"
#include "graph/tensor.h"
#include "kernels/loops/cost.h"

namespace lemma::prover {
namespace {

constexpr int64_t kWorkToCompile = 1000;

void CollectParams(const ScalarExpr& e, std::vector<std::string>* names) {
  if (e.kind() == ScalarExpr::Kind::kParam) {
    for (const std::string& name : *names) {
      if (name == e.name()) return;
    }
    names->push_back(e.name());
  }
  for (const ScalarExpr& arg : e.args()) CollectParams(arg, names);
}

// The definition with its parameters as further inputs, so that they may have any number type.
Definition ParamsAsInputs(const Definition& definition, const std::vector<std::string>& params) {
  if (params.empty()) return definition;
  Definition d = definition;
  const int first = d.num_inputs(), more = static_cast<int>(params.size());
  ExprSubstitution s;
  for (int i = 0; i < more; ++i) {
    s.params[params[i]] = ScalarExpr::Read(first + i, {});
    d.inputs.push_back({DType::kF64, {}});
  }
  s.read = [&](TensorId tensor, Idx indices) {
    return ScalarExpr::Read(tensor < first ? tensor : tensor + more, std::move(indices));
  };
  for (TensorExpr& tensor : d.tensors) tensor.body = Substitute(tensor.body, s);
  for (TensorId& output : d.outputs) output += output < first ? 0 : more;
  return d;
}

// Number of elements computed; nullopt if a size is not constant or is negative.
std::optional<double> Elements(const Definition& definition) {
  double sum = 0;
  for (TensorId id = 0; id < definition.num_inputs() + static_cast<int>(definition.tensors.size());
       ++id) {
    double elements = 1;
    for (const IndexExpr& dim : definition.TypeOf(id).dims) {
      if (!dim.is_const() || dim.value() < 0) return std::nullopt;
      elements *= static_cast<double>(dim.value());
    }
    sum += elements;
  }
  return sum;
}

}  // namespace

std::optional<Concrete> Concrete::Of(const Definition& definition, double max_work) {
  SpendWork(kWorkToCompile);
  const std::optional<double> elements = Elements(definition);
  if (!elements || *elements > max_work) return std::nullopt;
  std::vector<std::string> params;
  for (const TensorExpr& tensor : definition.tensors) CollectParams(tensor.body, &params);
  const Definition d = ParamsAsInputs(definition, params);
  auto work = CountWork(d);
  if (!work.ok() || *elements + work->flops > max_work) return std::nullopt;
  auto program = CompileLoops(d);
  if (!program.ok()) return std::nullopt;
  return Concrete(*std::move(program), std::move(params), *elements + work->flops);
}

template <class Number>
std::optional<std::vector<std::vector<Number>>> Concrete::Run(
    const std::vector<std::vector<Number>>& inputs,
    const std::map<std::string, Number>& params) const {
  SpendWork(static_cast<int64_t>(work_ / 4));
  std::vector<TensorView> views;
  for (const std::vector<Number>& input : inputs) {
    views.push_back({input.data(), std::nullopt, DenseStrides(input_dims(views.size()))});
  }
  for (const std::string& name : params_) {
    auto it = params.find(name);
    if (it == params.end()) return std::nullopt;
    views.push_back({&it->second, std::nullopt, {}});
  }
  std::vector<std::vector<Number>> outputs;
  for (const LoopProgram::Tensor& output : program_.outputs()) {
    outputs.emplace_back(NumElements(output.dims));
  }
  std::vector<MutableTensorView> targets;
  for (size_t i = 0; i < outputs.size(); ++i) {
    targets.push_back({outputs[i].data(), std::nullopt, DenseStrides(output_dims(i))});
  }
  if (!lemma::Run<Number>(program_, views, targets).ok()) return std::nullopt;
  return outputs;
}

template std::optional<std::vector<std::vector<double>>> Concrete::Run<double>(
    const std::vector<std::vector<double>>&, const std::map<std::string, double>&) const;
template std::optional<std::vector<std::vector<Field>>> Concrete::Run<Field>(
    const std::vector<std::vector<Field>>&, const std::map<std::string, Field>&) const;

template <class Number>
std::optional<std::vector<Values<Number>>> EvaluateAll(const Definition& definition,
                                                       const std::vector<Values<Number>>& inputs,
                                                       const std::map<std::string, Number>& params,
                                                       int64_t max_work) {
  auto program = Concrete::Of(definition, static_cast<double>(max_work));
  if (!program) return std::nullopt;
  std::vector<std::vector<Number>> data;
  for (const Values<Number>& input : inputs) data.push_back(input.data);
  auto outputs = program->Run<Number>(data, params);
  if (!outputs) return std::nullopt;
  std::vector<Values<Number>> values;
  for (size_t i = 0; i < outputs->size(); ++i) {
    values.push_back({program->output_dims(i), std::move((*outputs)[i])});
  }
  return values;
}

template std::optional<std::vector<Values<Field>>> EvaluateAll<Field>(
    const Definition&, const std::vector<Values<Field>>&, const std::map<std::string, Field>&,
    int64_t);

}  // namespace lemma::prover
