// Mixed precision: products of a model take and give 16-bit floats, and other operators keep f32.
#ifndef LEMMA_GRAPH_GRAD_MIXED_PRECISION_H_
#define LEMMA_GRAPH_GRAD_MIXED_PRECISION_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ops/formula.h"

namespace lemma {

// Chooses the types in which the operators of a model are applied, one operator after the other. A
// value that the model has in f32 is then f32 or `narrow`; other types stay. The rules, by
// PrecisionRole (precision_role.h):
//   kProduct  of f32 operands: takes and gives `narrow`. It stays in f32 if none of its operands
//             depends on a weight, as in the computation of a table of positions.
//   kFollows  gives `narrow` if an operand is `narrow` and each other f32 operand is computed only
//             from weights and constants in the range of `narrow`. Then it also takes `narrow` if
//             all f32 operands are `narrow` and none is repeated (PrecisionRole::repeats);
//             otherwise it is computed in f32, and its result is rounded. If it does not give
//             `narrow`, it takes and gives f32.
//   kWide     takes and gives f32.
class MixedPrecision {
 public:
  // `narrow` is kF16 or kBF16. `formula` must outlive the object.
  MixedPrecision(Formula* formula, DType narrow) : f_(*formula), narrow_(narrow) {}

  struct Form {
    std::vector<Value> inputs;  // the operands to which the operator is applied
    bool rounds = false;        // whether f32 results are to be rounded to `narrow`
  };
  // The form of `node`, an operator of the model; `inputs` are the values of its operands. Call it
  // for all operators in topological order.
  Form FormOf(const Node& node, const std::vector<Value>& inputs);
  // The results of a form: rounded if it says so.
  std::vector<Value> Results(const Form& form, std::vector<Value> outputs);

  // The number of operators so far that take and give `narrow` as products.
  int products() const { return products_; }

 private:
  // Whether a value of the model is computed from inputs, and whether from weights.
  struct Origin {
    bool inputs = false, weights = false;
  };
  Origin OriginOf(const Value& value) const;
  bool Fits(const Value& value);
  Form Cast(const std::vector<Value>& model, std::vector<Value> inputs, DType to);

  Formula& f_;
  const DType narrow_;
  absl::flat_hash_map<const Node*, Origin> origins_;
  absl::flat_hash_map<const Node*, bool> fits_;
  int products_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_MIXED_PRECISION_H_
