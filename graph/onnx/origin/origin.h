// Describes the ONNX model from which a graph was imported: each node of the model, with the values
// that the import made of the node. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_ORIGIN_ORIGIN_H_
#define LEMMA_GRAPH_ONNX_ORIGIN_ORIGIN_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma {

using NamedValue = std::pair<std::string, Value>;

// A node of the model's graph, as the import understood it: its outputs are expressions over its
// inputs. Importing the node with other inputs of the same types gives the same expressions over
// those inputs, under two conditions: the values in `asked` and all constants stay the same, and
// no further input becomes a constant, since the import computes what depends on constants only.
struct OriginNode {
  // Positions in the model's graph: of the node and, before it, of nodes that make lists of tensors
  // for it. Ascending.
  std::vector<int> nodes;
  std::vector<NamedValue> inputs;   // tensors that `nodes` read, in subgraphs too; each once
  std::vector<NamedValue> outputs;  // tensors that the node makes
  std::vector<Value> asked;         // values whose elements the import of the node looked up
  // Whether the node makes a list of tensors. It is written only with a node that reads the list.
  bool makes_list = false;
  bool draws = false;  // whether the node may draw random numbers
};

struct OnnxOrigin {
  onnx::ModelProto model;             // without the values of its initializers
  std::map<std::string, int> opsets;  // by domain
  std::vector<OriginNode> nodes;      // nodes that the outputs depend on, operands before users
  absl::flat_hash_map<std::string, Value> initializers;  // by name
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_ORIGIN_ORIGIN_H_
