// Mixed precision: products of a model take and give 16-bit floats, and other operators keep f32.
#ifndef LEMMA_GRAPH_GRAD_MIXED_PRECISION_H_
#define LEMMA_GRAPH_GRAD_MIXED_PRECISION_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ops/formula.h"

namespace lemma {

// Chooses the types in which the operators of a model are applied, one operator
// after the other. A value that the model has in f32 is then f32 or `narrow`;
// other types stay. The rules, by PrecisionRole (precision_role.h), speak of
// the operands and results that the model has in f32:
//   kProduct  takes and gives `narrow` if the model has all operands in f32 and
//             an operand depends on a weight. Otherwise takes and gives f32, as
//             in the computation of a table of positions.
//   kFollows  takes and gives `narrow` if all these operands are `narrow` and
//             none of them is repeated (PrecisionRole::repeats).
//             Otherwise takes f32. The result is then rounded to `narrow` if an
//             operand is `narrow` and every other operand is computed only from
//             weights and constants in the range of `narrow`. If not, the
//             result is f32.
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
  // The results of a form: `outputs`, rounded if form.rounds.
  std::vector<Value> Results(const Form& form, std::vector<Value> outputs);

  // The number of kProduct operators so far that take and give `narrow`.
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
