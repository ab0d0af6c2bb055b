// A subject (api/hunting/subject.h) as lists that can be edited. The reduction of a finding
// (api/hunting/reduce.h) edits them to make smaller subjects.
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
  // Refers to a result of a Step, or to a Leaf.
  struct Ref {
    int step = -1;   // number in `steps`; -1: a leaf
    int number = 0;  // in `leaves`, or among the step's results
    friend bool operator==(const Ref& a, const Ref& b) {
      return a.step == b.step && a.number == b.number;
    }
  };
  // An input, a weight or a constant.
  struct Leaf {
    Node::Kind kind = Node::Kind::kInput;
    Tensor value;
  };
  // An application of an operator.
  struct Step {
    const OpDef* op = nullptr;
    Attrs attrs;
    std::vector<Ref> operands;
    // The values of the step's results, computed by FromSubject from the definitions. They are not
    // computed again when the draft is edited.
    std::vector<Tensor> results;
  };

  std::vector<Leaf> leaves;
  std::vector<Step> steps;  // operands before users
  std::vector<Ref> outputs;
  int opset = 17;

  // The draft of a subject, with the results of all steps. All weights must have values. nullopt if
  // the definitions give no values, for example because an operator has no definition.
  static std::optional<Draft> FromSubject(const Subject& subject);

  // The draft as a subject, without the steps and leaves on which no output depends. Leaves and
  // outputs get new names. nullopt if an operator does not accept its operands or attributes, if an
  // output names a result that its step does not have, or if there are no outputs. Each operand
  // must name an existing leaf, or an existing result of an earlier step.
  std::optional<Subject> Build() const;

  // Every use of `from`, as an operand or an output, becomes a use of `to`.
  void Replace(const Ref& from, const Ref& to);
  Ref AddLeaf(Node::Kind kind, Tensor value);
};

// The tensor cut to `shape`: for the shape [2, 3], the elements tensor[:2, :3]. `shape` must have
// the tensor's rank and must not be larger in any dimension.
Tensor Cropped(const Tensor& tensor, const Shape& shape);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_DRAFT_H_
