// Builds a rule of Lemma: applies operators one by one and infers types.
#ifndef LEMMA_REWRITE_TASO_RULE_BUILDER_H_
#define LEMMA_REWRITE_TASO_RULE_BUILDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"
#include "rewrite/taso/sizes.h"

namespace lemma::taso {

// The parts from which TASO's concats made a dimension. TASO's split needs them: it splits the
// dimension into the parts that the last concat along the same axis joined. A part may itself
// consist of parts.
struct Parts {
  IndexExpr size;               // of the dimension or part
  std::vector<Parts> children;  // in order; empty: no parts are known
};

// A value of the rule with its type: shape [batch.., dims], element type `dtype`.
struct TypedValue {
  std::string name;
  // The list symbol that stands for any number of dimensions before `dims`; "": there are none.
  std::string batch;
  Idx dims;
  std::vector<Parts> parts;  // one for each of `dims`
  DType dtype = DType::kF32;

  int rank() const { return static_cast<int>(dims.size()); }
};
// One element for each of `dims`, without known parts.
std::vector<Parts> NoParts(const Idx& dims);

// Call AddVariable for all variables; then, for each side, call Begin and add the side's operators;
// then call AddOutput for all outputs; then Text.
class RuleBuilder {
 public:
  enum class Side { kSource, kTarget };

  TypedValue AddVariable(std::string name, std::string batch, Idx dims);
  void Begin(Side side) { side_ = side; }
  Side side() const { return side_; }
  SizeSolver& sizes() { return sizes_; }

  // Adds Lemma's operator `op` to the current side and returns its outputs; ApplyOne returns the
  // first output only. The equations among the operator's requirements go to sizes(); its other
  // requirements are ignored. InvalidArgument if the operator cannot be well-formed.
  absl::StatusOr<std::vector<TypedValue>> Apply(absl::string_view op,
                                                const std::vector<TypedValue>& inputs,
                                                ExprAttrs attrs = {});
  absl::StatusOr<TypedValue> ApplyOne(absl::string_view op, const std::vector<TypedValue>& inputs,
                                      ExprAttrs attrs = {});
  // Adds a constant of shape [batch.., dims], whose elements are all `fill`, to the current side.
  TypedValue Constant(ScalarExpr fill, std::string batch, Idx dims);
  // Adds the condition a <= b to the rule, unless b - a is a constant of at least 0. Ignores the
  // condition if a or b is not a polynomial over atoms (rewrite/taso/sizes.h).
  void RequireLe(const IndexExpr& a, const IndexExpr& b) { at_most_.emplace_back(a, b); }

  // Makes these values the next output of source and target. Their sizes are equated.
  // InvalidArgument if the ranks, batch dimensions or sizes cannot agree.
  absl::Status AddOutput(const TypedValue& source, const TypedValue& target);

  // The rule in the text form. InvalidArgument if b - a is a negative constant in a condition of
  // RequireLe.
  absl::StatusOr<std::string> Text(absl::string_view name, absl::string_view doc);

 private:
  struct Node {
    const OpDef* op = nullptr;  // nullptr: a constant
    std::vector<std::string> inputs, outputs;
    ExprAttrs attrs;
    std::string batch;
    Idx dims;
    ScalarExpr fill;
  };

  TypedValue NewValue(std::string batch, Idx dims);
  std::string TextOf(const ExprAttr& attr);
  std::string TextOf(const std::string& batch, const Idx& dims);
  std::string TextOf(const Node& node);
  std::string TextOfSide(Side side);
  absl::StatusOr<std::string> TextOfConditions();

  Side side_ = Side::kSource;
  SizeSolver sizes_;
  std::vector<TypedValue> variables_;
  std::vector<Node> nodes_[2];
  std::vector<std::string> outputs_[2];
  std::vector<std::pair<IndexExpr, IndexExpr>> at_most_;
  int values_ = 0;
};

}  // namespace lemma::taso

#endif  // LEMMA_REWRITE_TASO_RULE_BUILDER_H_
