// Immutable tensor programs.
//
// A Graph is a DAG of hash-consed nodes: structurally equal applications are one Node in the whole
// process. So structurally equal values have equal node pointers, graphs share common parts, and
// common subexpressions are merged by construction. GraphBuilder (graph/builder.h) makes graphs and
// checks shapes; an existing Graph is always well-formed.
#ifndef LEMMA_GRAPH_GRAPH_H_
#define LEMMA_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/attr.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma {

class Node;
using NodePtr = std::shared_ptr<const Node>;

// One output of a node. A default-constructed Value is empty (false): it has no node and no type.
class Value {
 public:
  Value() = default;
  Value(NodePtr node, int output) : node_(std::move(node)), output_(output) {}

  const Node& node() const { return *node_; }
  const NodePtr& node_ptr() const { return node_; }
  int output() const { return output_; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  explicit operator bool() const { return node_ != nullptr; }

  // Stable hash of the expression (no addresses, no labels); see Node::hash.
  uint64_t hash() const;

  // Equal nodes are the same node (hash-consing), so comparing pointers compares structures.
  friend bool operator==(const Value& a, const Value& b) {
    return a.node_ == b.node_ && a.output_ == b.output_;
  }
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }
  // For unordered containers within one process. Not for an order that affects results.
  template <typename H>
  friend H AbslHashValue(H h, const Value& v) {
    return H::combine(std::move(h), v.node_.get(), v.output_);
  }

 private:
  NodePtr node_;
  int output_ = 0;
};

// An input, weight, constant or operator application. Immutable; lives as long as a NodePtr to it.
class Node {
 public:
  enum class Kind {
    kInput,     // the graph's input number input_index()
    kWeight,    // a weight of the model, called name(); payload() if its values are known
    kConstant,  // payload()
    kOp,        // op() with attrs() applied to inputs()
  };

  Kind kind() const { return kind_; }
  bool is_op() const { return kind_ == Kind::kOp; }
  // A constant, or a weight whose values are known.
  bool has_payload() const { return !payload_.empty_handle(); }
  // Whether all elements of the payload are finite; true without a payload.
  bool is_finite() const { return finite_; }
  bool IsOp(absl::string_view name) const { return is_op() && op_->name == name; }

  const OpDef& op() const { return *op_; }  // kOp only
  const Attrs& attrs() const { return attrs_; }
  const std::vector<Value>& inputs() const { return inputs_; }
  int num_outputs() const { return static_cast<int>(types_.size()); }
  const TensorType& type(int output) const { return types_[output]; }
  const std::vector<TensorType>& types() const { return types_; }
  std::vector<TensorType> input_types() const;

  int input_index() const { return input_index_; }    // kInput
  const std::string& name() const { return name_; }   // kWeight
  const Tensor& payload() const { return payload_; }  // kConstant, kWeight

  // The value of an attribute. The operator must declare the attribute with this kind; otherwise
  // the process ends.
  int64_t Int(absl::string_view attr) const;
  double Float(absl::string_view attr) const;
  const std::string& String(absl::string_view attr) const;
  const std::vector<int64_t>& Ints(absl::string_view attr) const;
  const std::vector<double>& Floats(absl::string_view attr) const;

  // Stable: contains no addresses. Depends on weights' names, but not on labels or on the graph.
  uint64_t hash() const { return hash_; }
  // A stable hash of only the operator's name and the attributes. kOp only.
  uint64_t operator_hash() const { return operator_hash_; }

  // Each returns the node with these properties, and makes it if there is none yet. The caller must
  // have checked the types. Thread-safe. Weights are identified by name, type and payload, which is
  // empty if the values are unknown; inputs by index and type.
  static NodePtr Input(int index, TensorType type);
  static NodePtr Weight(std::string name, TensorType type, Tensor payload);
  static NodePtr Constant(Tensor payload);
  static NodePtr Apply(const OpDef* op, std::vector<Value> inputs, Attrs attrs,
                       std::vector<TensorType> types);

  Node() = default;  // use the factories
  Node(const Node&) = delete;

 private:
  const AttrValue& Attr(absl::string_view name) const;
  bool Same(const Node& other) const;
  static NodePtr Intern(std::unique_ptr<Node> node);
  uint64_t ComputeHash() const;

  Kind kind_ = Kind::kOp;
  const OpDef* op_ = nullptr;
  Attrs attrs_;
  std::vector<Value> inputs_;
  std::vector<TensorType> types_;
  int input_index_ = -1;
  std::string name_;
  Tensor payload_;
  bool finite_ = true;
  uint64_t hash_ = 0, operator_hash_ = 0;
};

// A stable hash of the operator of a node, its attributes, and the types of its inputs. Together
// these determine the definition.
uint64_t HashApplication(const Node& node);

// Named inputs and outputs, and the nodes between them. Copies share the nodes.
class Graph {
 public:
  Graph() = default;

  const std::string& name() const { return name_; }
  // In the order of declaration, including unused inputs. inputs()[i] is the node Input(i).
  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<Value>& outputs() const { return outputs_; }
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  // All inputs and every node that an output depends on, operands before users. The order depends
  // on the structure alone (the inputs, then depth first from the outputs, operands in order).
  const std::vector<NodePtr>& nodes() const { return nodes_; }
  // The number of operator applications among nodes().
  int num_ops() const { return num_ops_; }

  // A label for people: the name of an input, output or weight, or the label given to the builder;
  // "" if the value has none. Several values may have the same label.
  absl::string_view LabelOf(const Value& value) const;
  // Labels by Node::hash and the output number of the value. The order is
  // unspecified. A label in the map keeps its address.
  using Labels = absl::node_hash_map<std::pair<uint64_t, int>, std::string>;
  const Labels& labels() const { return labels_; }

  // Equal for graphs that apply the same operators to the same inputs, constants and weights.
  // Independent of names, labels and the order of construction. Weights without values are
  // identified by the order of their first use.
  uint64_t StructuralHash() const;

  // The same graph with other values for its outputs; the process ends if their number or types
  // differ.
  Graph WithOutputs(std::vector<Value> outputs) const;

 private:
  friend class GraphBuilder;
  void Index();

  std::string name_;
  std::vector<Value> inputs_, outputs_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<NodePtr> nodes_;
  int num_ops_ = 0;
  Labels labels_;
};

// The definition of an operator node for the types of its inputs (Define in graph/op_def.h). An
// error for an opaque operator, which has no definition.
absl::StatusOr<Definition> DefinitionOf(const Node& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAPH_H_
