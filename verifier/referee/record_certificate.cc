#include "verifier/referee/record_certificate.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"
#include "verifier/referee/evidence/interface.h"
#include "verifier/referee/evidence/rewire.h"

namespace lemma::referee {
namespace {

using Names = absl::flat_hash_map<const Node*, ValueName>;

Names NamesOf(const Graph& graph, ValueName::Graph which) {
  Names names;
  int position = 0;
  for (const NodePtr& node : graph.nodes()) names[node.get()] = {which, position++, 0};
  return names;
}

// The nodes that are computed from values of the first graph and are no nodes of it.
class Formulas {
 public:
  explicit Formulas(const Names& before) : before_(before) {}

  void Add(const Value& value) {
    if (before_.contains(&value.node())) return;
    outputs_.push_back(Copy(value));
  }

  // Adds the names of all nodes to *names and returns the text of the graph.
  absl::StatusOr<std::string> Finish(Names* names) {
    if (outputs_.empty()) return "";
    GraphBuilder builder("formulas");
    for (const auto& [name, type] : inputs_) builder.Input(name, type);
    for (size_t i = 0; i < outputs_.size(); ++i) builder.Output(absl::StrCat("y", i), outputs_[i]);
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, std::move(builder).Build());
    if (IsSymbolic(graph)) {
      return absl::UnimplementedError("a formula has symbolic sizes, which no certificate holds");
    }
    const Names positions = NamesOf(graph, ValueName::Graph::kFormulas);
    for (const auto& [node, copy] : copies_) (*names)[node] = positions.at(copy.get());
    return PrintGraph(graph);
  }

 private:
  Value Copy(const Value& value) {
    const Node& node = value.node();
    if (auto it = before_.find(&node); it != before_.end()) {
      auto [input, added] = input_of_.try_emplace(value, Value());
      if (added) {
        ValueName name = it->second;
        name.output = value.output();
        input->second = Value(Node::Input(static_cast<int>(inputs_.size()), value.type()), 0);
        inputs_.emplace_back(Print(name), value.type());
      }
      return input->second;
    }
    NodePtr& copy = copies_[&node];
    if (copy == nullptr) {
      NodePtr made = value.node_ptr();
      if (node.is_op()) {
        std::vector<Value> operands;
        for (const Value& operand : node.inputs()) operands.push_back(Copy(operand));
        made = Node::Apply(&node.op(), std::move(operands), node.attrs(), node.types());
      }
      copies_[&node] = made;
      return Value(made, value.output());
    }
    return Value(copy, value.output());
  }

  const Names& before_;
  absl::flat_hash_map<const Node*, NodePtr> copies_;
  absl::flat_hash_map<Value, Value> input_of_;
  std::vector<std::pair<std::string, TensorType>> inputs_;
  std::vector<Value> outputs_;
};

class Recorder {
 public:
  Recorder(const Graph& before, const RefereeResult& result)
      : result_(result), names_(NamesOf(before, ValueName::Graph::kBefore)) {}

  absl::StatusOr<RefereeCertificate> Run(const Graph& after) {
    RefereeCertificate certificate;
    certificate.contract = result_.contract;
    Formulas formulas(names_);
    for (const WeightRelation& relation : result_.relations) formulas.Add(relation.before);
    for (const ProvedRegion& region : result_.regions) formulas.Add(region.before_value);
    Names of_formulas;
    LEMMA_ASSIGN_OR_RETURN(certificate.formulas, formulas.Finish(&of_formulas));
    names_.insert(of_formulas.begin(), of_formulas.end());

    const Names in_after = NamesOf(after, ValueName::Graph::kAfter);
    ValueMap replaced;
    for (const WeightRelation& relation : result_.relations) {
      replaced[relation.after] = relation.before;
      const ValueName& name = in_after.at(&relation.after.node());
      LEMMA_ASSIGN_OR_RETURN(const ValueName formula, NameOf(relation.before));
      const ValueName weight{name.graph, name.position, relation.after.output()};
      certificate.weights.emplace_back(weight, formula);
      weights_.insert(Print(weight));
    }
    for (const auto& [value, now] : AfterReplacing(after, replaced)) {
      ValueName name = in_after.at(&value.node());
      name.output = value.output();
      auto [it, added] = compared_.try_emplace(now, name);
      // Several weights may have one formula; any of them names it.
      if (!added && Order(name) < Order(it->second)) it->second = name;
    }
    for (const ProvedRegion& region : result_.regions) {
      LEMMA_ASSIGN_OR_RETURN(certificate.regions.emplace_back(), Certified(region));
    }
    absl::c_stable_sort(certificate.regions, [this](const auto& a, const auto& b) {
      return std::pair(a.output >= 0, a.output < 0 ? Order(a.after) : 0) <
             std::pair(b.output >= 0, b.output < 0 ? Order(b.after) : 0);
    });
    return certificate;
  }

 private:
  // Regions of weights come first, as they were proved; the others in the order of the graph.
  int Order(const ValueName& after) const {
    return weights_.contains(Print(after)) ? -1 : after.position;
  }

  absl::StatusOr<CertifiedRegion> Certified(const ProvedRegion& region) const {
    CertifiedRegion certified;
    auto after = compared_.find(region.after_value);
    if (after == compared_.end()) return absl::InternalError("a value has no name");
    certified.after = after->second;
    certified.output = region.output;
    LEMMA_ASSIGN_OR_RETURN(certified.before, NameOf(region.before_value));
    for (const Cut& cut : region.cuts) {
      LEMMA_ASSIGN_OR_RETURN(const ValueName name, NameOf(cut.value));
      certified.cuts.emplace_back(name, cut.known);
    }
    return certified;
  }

  absl::StatusOr<ValueName> NameOf(const Value& value) const {
    if (auto it = names_.find(&value.node()); it != names_.end()) {
      return ValueName{it->second.graph, it->second.position, value.output()};
    }
    auto it = result_.by_rebuilt_value.find(value);
    if (it != result_.by_rebuilt_value.end()) {  // a part of a formula
      if (auto part = names_.find(&it->second.node()); part != names_.end()) {
        return ValueName{part->second.graph, part->second.position, it->second.output()};
      }
    }
    auto name = it == result_.by_rebuilt_value.end() ? compared_.end() : compared_.find(it->second);
    if (name == compared_.end()) return absl::InternalError("a value has no name");
    return name->second;
  }

  const RefereeResult& result_;
  Names names_;                                     // of nodes of the first graph and of formulas
  absl::flat_hash_set<std::string> weights_;        // names of weights that have a formula
  absl::flat_hash_map<Value, ValueName> compared_;  // by value of RefereeResult::compared
};

}  // namespace

absl::StatusOr<RefereeCertificate> RecordCertificate(const Graph& before, const Graph& after,
                                                     const RefereeResult& result) {
  return Recorder(before, result).Run(MatchInterface(before, after).after);
}

}  // namespace lemma::referee
