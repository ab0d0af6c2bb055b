// Finds the nodes of the imported model that still describe what a graph computes, so that an
// export can write them as they were. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_ORIGIN_PLAN_H_
#define LEMMA_GRAPH_ONNX_ORIGIN_PLAN_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "graph/onnx/origin/origin.h"

namespace lemma {

// A node of the model that is written as it was, except for the names of its inputs.
struct KeptNode {
  std::vector<Value> inputs;              // in the order of OriginNode::inputs
  absl::flat_hash_set<const Node*> body;  // the graph's operators that it computes
};

// Each value of the graph that is needed has one source: it is an input, an output of a kept node
// of the model, a kept initializer, or it is *spelled*: written as a new node or initializer.
struct OriginPlan {
  std::map<int, KeptNode> kept;                   // by position in OnnxOrigin::nodes
  absl::flat_hash_set<std::string> initializers;  // the names of kept initializers
  absl::flat_hash_set<const Node*> spelled;       // the nodes of spelled values
  // By name in the model, the value that has this name. A value may have several names.
  absl::flat_hash_map<std::string, Value> named;
  // A name of each value that is not spelled.
  absl::flat_hash_map<Value, std::string> names;
  // By spelled value, a name. An operator's result gets this name, because a kept node or an output
  // of the graph reads the result under this name. For a constant or weight, it is the name of the
  // value that the constant or weight replaces; the export derives a new name from it.
  absl::flat_hash_map<Value, std::string> wished;
  // Spelled constants and weights that only kept nodes read. They are not among the graph's nodes.
  std::vector<Value> leaves;
};

// Makes the plan. `usable` tells whether a node of the model may be written as it was. The plan
// depends only on the graph, its labels, the origin and `usable`. If labels tell from which node
// each value comes, the time is linear in the size of the graph plus the sizes of the nodes'
// expressions.
OriginPlan PlanExport(const Graph& graph, const OnnxOrigin& origin,
                      const std::function<bool(const OriginNode&)>& usable);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_ORIGIN_PLAN_H_
