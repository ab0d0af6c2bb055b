// Translates the expressions in operator definitions from the syntax tree (operator_syntax.h) to
// index expressions, guards and scalar expressions.
#ifndef LEMMA_GRAPH_DEFINE_EXPRESSION_MEANING_H_
#define LEMMA_GRAPH_DEFINE_EXPRESSION_MEANING_H_

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/define/operator_syntax.h"
#include "graph/define/read_bounds.h"
#include "graph/op_def.h"

namespace lemma::define {

// A real attribute.
struct Real {
  ScalarExpr value;
};
// The meaning of a name: a size or an index, a list of sizes or indices, a real
// attribute, or a tensor.
using Named = std::variant<IndexExpr, Idx, Real, TensorId>;
// "a size", "a list", "a real attribute" or "a tensor".
const char* KindOf(const Named& named);

// Translates expressions, in which names have the meanings that Bind gave them. Errors in the text
// are InvalidArgument and begin with the text's file and position.
class Expressions {
 public:
  // Both arguments must outlive the object. `c` receives the requirements.
  Expressions(const OperatorText& op, OpContext& c) : op_(op), c_(c) {}

  // InvalidArgument; the text's file and `position` come before `message`.
  absl::Status Error(text::Position position, absl::string_view message) const;
  // Gives `name` a meaning; an error if it already has a meaning.
  absl::Status Bind(const std::string& name, text::Position position, Named named);
  bool IsBound(const std::string& name) const { return names_.count(name) > 0; }
  // The meaning of `name`; an error if it has none.
  absl::StatusOr<const Named*> Find(const std::string& name, text::Position position) const;
  // Records that the text states this size for an axis of a tensor. Reads along this axis are
  // checked against this size.
  void StateSize(TensorId tensor, int axis, IndexExpr size) {
    stated_sizes_[{tensor, axis}] = std::move(size);
  }
  // States a condition that holds for all expressions translated from now on.
  void Assume(Guard condition) { scope_.conditions.push_back(std::move(condition)); }

  // If the bound is one variable, its extent; if the bound is a list of variables, their extents.
  absl::StatusOr<Idx> ExtentsOf(const Bound& bound);
  // Translates a size, an index or an integer. Requires that divisors are
  // positive. An error if a divisor is not positive, or if no condition on
  // sizes is found that makes it positive.
  absl::StatusOr<IndexExpr> IndexOf(const Expr& e);
  // Translates a condition on sizes, indices and integers.
  absl::StatusOr<Guard> GuardOf(const Expr& e);
  // Translates a number. Requires that reads without "else" lie inside their
  // tensors. An error if such a read lies outside, or if no condition on sizes
  // is found that keeps it inside.
  absl::StatusOr<ScalarExpr> ScalarOf(const Expr& e);

  // Calls `use` while the names of the bounds stand for index variables.
  // `index` has the variables of all bounds, one bound after the other, and
  // `extents` has their extents; bound number b has counts[b] variables. An
  // error (a name that already has a meaning, or an error of `use`) is kept for
  // TakeError, unless an earlier error is kept. Does not call `use` while an
  // error is kept.
  void WithBounds(const std::vector<Bound>& bounds, const std::vector<int>& counts,
                  const Idx& extents, const Idx& index, absl::FunctionRef<absl::Status()> use);
  // Returns the first error that was kept since the last call, or OK, and forgets it.
  absl::Status TakeError() { return std::exchange(error_, absl::OkStatus()); }

 private:
  void Keep(absl::Status error);
  absl::StatusOr<Idx> ListOf(const Expr& splice);
  // Whether `e` is computed from sizes, indices and integers only.
  bool IsIndex(const Expr& e) const;
  // An element of a list of integers, or of a tensor of integers, as an index.
  absl::StatusOr<IndexExpr> ReadIndex(const Expr& e);
  // A condition, as 0 or 1.
  absl::StatusOr<ScalarExpr> TruthOf(const Expr& e);
  absl::StatusOr<ScalarExpr> IfOf(const Expr& e);
  absl::StatusOr<ScalarExpr> ReduceOf(const Expr& e);
  // A reduction over the bounds from number `first` on. Bounds whose extents use an earlier bound
  // form another reduction inside this one.
  absl::StatusOr<ScalarExpr> ReduceFrom(const Expr& e, ReduceKind kind, size_t first);
  absl::StatusOr<ScalarExpr> ReadElement(const Expr& e, TensorId tensor);

  const OperatorText& op_;
  OpContext& c_;
  std::map<std::string, Named> names_;
  std::map<std::pair<TensorId, int>, IndexExpr> stated_sizes_;
  Scope scope_;
  absl::Status error_;
};

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_EXPRESSION_MEANING_H_
