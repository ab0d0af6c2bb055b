// Builds one of our rules: applies operators one by one and infers types.
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

// How TASO's concats joined a dimension of this size from parts, which may be joined ones too;
// recorded for TASO's split. No children: no parts are known.
struct Parts {
  IndexExpr size;
  std::vector<Parts> children;
};

struct TypedValue {
  std::string name;
  // "", or the list symbol for the dimensions before `dims`, of any number.
  std::string batch;
  Idx dims;
  std::vector<Parts> parts;  // one for each of `dims`
  DType dtype = DType::kF32;

  int rank() const { return static_cast<int>(dims.size()); }
};
// For each of `dims`: no parts are known.
std::vector<Parts> NoParts(const Idx& dims);

// Call AddVariable for all variables; then, for each side, Begin and its operators; then AddOutput
// for all outputs; then Text.
class RuleBuilder {
 public:
  enum class Side { kSource, kTarget };

  TypedValue AddVariable(std::string name, std::string batch, Idx dims);
  void Begin(Side side) { side_ = side; }
  Side side() const { return side_; }
  SizeSolver& sizes() { return sizes_; }

  // Adds Lemma's operator `op` to the side and returns its outputs; ApplyOne returns the first. Its
  // requirements on sizes become equations. InvalidArgument if it cannot be well-formed.
  absl::StatusOr<std::vector<TypedValue>> Apply(absl::string_view op,
                                                const std::vector<TypedValue>& inputs,
                                                ExprAttrs attrs = {});
  absl::StatusOr<TypedValue> ApplyOne(absl::string_view op, const std::vector<TypedValue>& inputs,
                                      ExprAttrs attrs = {});
  TypedValue Constant(ScalarExpr fill, std::string batch, Idx dims);
  // Adds the condition a <= b to the rule, unless it holds for all sizes.
  void RequireLe(const IndexExpr& a, const IndexExpr& b) { at_most_.emplace_back(a, b); }

  // Source and target return these values as their next output; their types must agree.
  absl::Status AddOutput(const TypedValue& source, const TypedValue& target);

  // The rule in the text form.
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
