#include "verifier/inputs_read.h"

namespace lemma::verify {
namespace {

void Collect(const Definition& definition, const NormalForm& form, std::set<TensorId>* inputs) {
  for (const Term& term : form.terms) {
    for (const Atom& atom : term.atoms) {
      if (atom.kind == Atom::Kind::kRead && IsFloat(definition.inputs[atom.tensor].dtype)) {
        inputs->insert(atom.tensor);
      }
      for (const NormalFormPtr& arg : atom.args) Collect(definition, *arg, inputs);
      for (const Alternative& a : atom.alternatives) Collect(definition, *a.value, inputs);
    }
  }
}

void CollectTensors(const ScalarExpr& e, std::set<TensorId>* tensors) {
  if (e.kind() == ScalarExpr::Kind::kRead) tensors->insert(e.tensor());
  for (const ScalarExpr& arg : e.args()) CollectTensors(arg, tensors);
}

}  // namespace

std::set<TensorId> FloatsRead(const Definition& definition, const NormalForm& form) {
  std::set<TensorId> inputs;
  Collect(definition, form, &inputs);
  return inputs;
}

std::set<TensorId> FloatsReachable(const Definition& definition, TensorId tensor) {
  std::set<TensorId> reached = {tensor}, inputs;
  // Bodies read smaller ids only.
  while (!reached.empty()) {
    const TensorId id = *reached.rbegin();
    reached.erase(id);
    if (id >= definition.num_inputs()) {
      CollectTensors(definition.tensors[id - definition.num_inputs()].body, &reached);
    } else if (IsFloat(definition.inputs[id].dtype)) {
      inputs.insert(id);
    }
  }
  return inputs;
}

}  // namespace lemma::verify
