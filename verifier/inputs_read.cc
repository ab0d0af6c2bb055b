#include "verifier/inputs_read.h"

#include "verifier/normalize.h"

namespace lemma::verify {
namespace {

class Collector {
 public:
  Collector(const Definition& definition, const std::function<bool(const Facts&)>& excluded)
      : definition_(definition), excluded_(excluded) {}

  void Add(const NormalForm& form, const Facts& around) {
    for (const Term& term : form.terms) {
      const Facts here = With(around, term.guards);
      if (!term.guards.empty() && excluded_(here)) continue;
      for (const Atom& atom : term.atoms) Add(atom, here);
    }
  }
  const std::set<TensorId>& inputs() const { return inputs_; }

 private:
  void Add(const Atom& atom, const Facts& around) {
    if (atom.kind == Atom::Kind::kRead && IsFloat(definition_.inputs[atom.tensor].dtype)) {
      inputs_.insert(atom.tensor);
    }
    for (const NormalFormPtr& arg : atom.args) Add(*arg, around);
    for (const Alternative& a : atom.alternatives) {
      const Facts here = With(around, a.guards);
      if (a.guards.empty() || !excluded_(here)) Add(*a.value, here);
    }
  }

  const Definition& definition_;
  const std::function<bool(const Facts&)>& excluded_;
  std::set<TensorId> inputs_;
};

void CollectTensors(const ScalarExpr& e, std::set<TensorId>* tensors) {
  if (e.kind() == ScalarExpr::Kind::kRead) tensors->insert(e.tensor());
  for (const ScalarExpr& arg : e.args()) CollectTensors(arg, tensors);
}

}  // namespace

std::set<TensorId> FloatsRead(const Definition& definition, const NormalForm& form,
                              const std::function<bool(const Facts&)>& excluded) {
  Collector collector(definition, excluded);
  collector.Add(form, {});
  return collector.inputs();
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
