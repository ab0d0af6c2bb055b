// A subject as lists that can be edited, to make smaller ones of it.
#ifndef LEMMA_API_HUNTING_DRAFT_H_
#define LEMMA_API_HUNTING_DRAFT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "api/hunting/subject.h"
#include "graph/attr.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma::hunt {

struct Draft {
  // A result of a step, or a leaf.
  struct Ref {
    int step = -1;   // -1: a leaf
    int number = 0;  // of the leaf, or of the step's output
    friend bool operator==(const Ref& a, const Ref& b) {
      return a.step == b.step && a.number == b.number;
    }
  };
  struct Leaf {
    Node::Kind kind = Node::Kind::kInput;  // or a weight or constant
    Tensor value;
  };
  struct Step {
    const OpDef* op = nullptr;
    Attrs attrs;
    std::vector<Ref> operands;
    std::vector<Tensor> results;  // by the definitions; empty once an operand was changed
  };

  std::vector<Leaf> leaves;
  std::vector<Step> steps;  // operands before users
  std::vector<Ref> outputs;
  int opset = 17;

  // With the steps' results. nullopt if the definitions give no values, an operator has no
  // definition, or a weight has no values.
  static std::optional<Draft> Of(const Subject& subject);

  // The subject, without steps and leaves that no output depends on; nullopt if it is not
  // well-formed. Leaves are named anew.
  std::optional<Subject> Build() const;

  // Every use of `from` becomes a use of `to`.
  void Replace(const Ref& from, const Ref& to);
  Ref AddLeaf(Node::Kind kind, Tensor value);
};

// The leading part of a tensor. `shape` must not be larger in any dimension.
Tensor Cropped(const Tensor& tensor, const Shape& shape);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_DRAFT_H_
