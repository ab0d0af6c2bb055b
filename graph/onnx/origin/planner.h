// The state of PlanExport. Internal to graph/onnx/origin.
#ifndef LEMMA_GRAPH_ONNX_ORIGIN_PLANNER_H_
#define LEMMA_GRAPH_ONNX_ORIGIN_PLANNER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/onnx/origin/binder.h"
#include "graph/onnx/origin/plan.h"

namespace lemma {

// Goes through the graph from its outputs to its inputs. An output of the graph asks for its value
// under the output's name. A kept node asks for the values of its inputs under the names that these
// inputs have in the model; after a rewrite, the value of a name may differ from its value in the
// model. When a value is asked for under a name, the planner looks for the model's node that makes
// this name. The node is kept if its expressions, possibly with other inputs, give the value.
class Planner {
 public:
  // `banned`: positions in origin.nodes of nodes that must not be kept. All arguments must outlive
  // the planner.
  Planner(const Graph& graph, const OnnxOrigin& origin, const absl::flat_hash_set<int>& banned);
  OriginPlan Run();  // to be called once
  // After Run: whether the kept node number `number` is an If with a result that the model reads,
  // but the graph no longer needs, because a rewrite replaced it. The If would compute this result
  // for nothing.
  bool IsPartlyUsed(int number, const OriginPlan& plan) const;

 private:
  // Records that `value` has to be computed. `wish` is the name under which a kept node or an
  // output reads the value; "" if a spelled node reads it.
  void Demand(const Value& value, const std::string& wish);
  void PlanOp(const NodePtr& node);
  // Tries the wished names of the value; returns whether the value then has a source (OriginPlan).
  bool GrantWishes(const Value& value);
  // Looks for a node of the model that makes the value; returns whether the value has a source.
  bool FindSource(const Value& value);
  // Like FindSource, but looks only among nodes that have an output with the outermost operator of
  // the value. Returns whether the value got the name of such an output. The value may still have
  // no source: if the kept node only passes an input on, as Identity does.
  bool FindByOperator(const Value& value);
  // Gives the value the name of an output of one of the model's nodes, and keeps that node.
  bool Grant(const std::string& name, const Value& value);
  bool Keep(int number, const std::string& name, const Value& value);
  // Chooses values for inputs on which no matched expression depends.
  bool BindRest(const OriginNode& node, const Value& value, Binder* binder) const;

  // Gives spelled values their wished names.
  void NameSpelled();
  void PlanLeaves();
  bool GrantLeaf(const std::string& name, const Value& value);
  void Name(const std::string& name, const Value& value, bool is_source);
  bool IsFree(const std::string& name, const Value& value) const;

  const Graph& graph_;
  const OnnxOrigin& origin_;
  const absl::flat_hash_set<int>& banned_;
  absl::flat_hash_map<const Node*, int> position_;
  absl::flat_hash_set<std::string> read_;           // names that the model's nodes or outputs read
  absl::flat_hash_map<std::string, int> maker_;     // by output's name, position in origin_.nodes
  absl::flat_hash_map<std::string, Value> values_;  // by name, in the model
  absl::flat_hash_map<Value, std::vector<std::string>> by_value_;
  absl::flat_hash_map<uint64_t, std::vector<std::pair<int, int>>> by_operator_;  // node, output
  absl::flat_hash_map<std::string, Value> reserved_;  // names of the graph's outputs
  absl::flat_hash_map<Value, std::vector<std::string>> wishes_;
  std::vector<std::pair<Value, std::string>> leaf_wishes_;
  absl::flat_hash_set<Value> demanded_;
  OriginPlan plan_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_ORIGIN_PLANNER_H_
