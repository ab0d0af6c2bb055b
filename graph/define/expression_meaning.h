// The meaning of the expressions in operator definitions.
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

// What a name stands for: a size or an index, a list of them, a real attribute, or a tensor.
struct Real {
  ScalarExpr value;
};
using Named = std::variant<IndexExpr, Idx, Real, TensorId>;
// "a size", "a list", "a real attribute" or "a tensor".
const char* KindOf(const Named& named);

// Reads expressions where names have the meanings that Bind gave them. Errors in the text begin
// with its file and position.
class Expressions {
 public:
  // Both must outlive the object.
  Expressions(const OperatorText& op, OpContext& c) : op_(op), c_(c) {}

  absl::Status Error(text::Position position, absl::string_view message) const;
  // Gives `name` a meaning; an error if it has one.
  absl::Status Bind(const std::string& name, text::Position position, Named named);
  bool IsBound(const std::string& name) const { return names_.count(name) > 0; }
  absl::StatusOr<const Named*> Find(const std::string& name, text::Position position) const;
  // `size` is the size that the text states for an axis of a tensor: reads are compared with it,
  // since it is in terms of the names in their indices.
  void StateSize(TensorId tensor, int axis, IndexExpr size) {
    stated_sizes_[{tensor, axis}] = std::move(size);
  }
  // A condition that holds from here on.
  void Assume(Guard condition) { scope_.conditions.push_back(std::move(condition)); }

  // One extent, or those of a list.
  absl::StatusOr<Idx> ExtentsOf(const Bound& bound);
  // A size, an index or an integer. Quotients become requirements that divisors are positive.
  absl::StatusOr<IndexExpr> IndexOf(const Expr& e);
  // A condition on sizes, indices and integers.
  absl::StatusOr<Guard> GuardOf(const Expr& e);
  // A number. Reads become requirements that they lie inside their tensors.
  absl::StatusOr<ScalarExpr> ScalarOf(const Expr& e);

  // Calls `use` where the variables `index` have the names and extents of the bounds, of which each
  // has counts[b] variables. Keeps the first error, which TakeError returns.
  void WithBounds(const std::vector<Bound>& bounds, const std::vector<int>& counts,
                  const Idx& extents, const Idx& index, absl::FunctionRef<absl::Status()> use);
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
  // A reduction over the bounds from `first` on. A bound that uses an earlier one is a reduction
  // inside it.
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
