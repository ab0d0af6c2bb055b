// Translates TASO's operators into Lemma's (docs/taso.md); the translations are in lowering.cc.
#ifndef LEMMA_REWRITE_TASO_OPERATORS_H_
#define LEMMA_REWRITE_TASO_OPERATORS_H_

#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rewrite/taso/rule_builder.h"
#include "rewrite/taso/rules.pb.h"

namespace lemma::taso {

// An operator of a rule file, with checked type and parameters.
class TasoOp {
 public:
  // InvalidArgument if its type or a parameter is missing, unknown or out of range, if the type is
  // not supported (docs/taso.md), if a parameter is given twice, or if the number of operands does
  // not fit its type.
  static absl::StatusOr<TasoOp> Read(const Operator& op);

  const char* name() const;  // of the operator's type
  int num_outputs() const { return num_outputs_; }

  // The ranks that the operator allows. `fixed` is the rank of all operands and results. If `fixed`
  // is absent, all operands and results have the same rank, which is at least `least`.
  struct Ranks {
    std::optional<int> fixed;
    int least = 0;
    bool scalar_operand = false;  // an exception: the second operand has rank 0
    // The operator's axis counts from the first dimension, so no batch dimensions may be added.
    bool counts_from_first = false;
  };
  Ranks ranks() const;

  // Adds the operator to `builder` and returns its results. `batch` (as in TypedValue) and `rank`
  // describe the result of constant_one, a tensor of ones; other operators ignore these two.
  // InvalidArgument if the operands' sizes do not fit, or if a rule cannot express the operator.
  absl::StatusOr<std::vector<TypedValue>> Lower(RuleBuilder& builder,
                                                const std::vector<TypedValue>& inputs,
                                                const std::string& batch, int rank) const;
  // Whether operand `i` is a convolution's kernel: the second operand of conv2d, or any operand of
  // enlarge or merge_gconv.
  bool TakesWeight(int i) const;

 private:
  absl::Status ReadParameters(const Operator& op);
  absl::Status Require(int key, int lo, int hi);
  int At(int key) const { return parameters_.at(key); }
  absl::Status CheckConcat(size_t inputs) const;
  absl::Status CheckTranspose();

  using Result = absl::StatusOr<std::vector<TypedValue>>;
  Result Conv(RuleBuilder& b, const std::vector<TypedValue>& in) const;
  Result Pool(RuleBuilder& b, const std::vector<TypedValue>& in) const;
  Result Split(RuleBuilder& b, const std::vector<TypedValue>& in) const;
  Result Enlarge(RuleBuilder& b, const std::vector<TypedValue>& in) const;
  Result MergeGroups(RuleBuilder& b, const std::vector<TypedValue>& in) const;
  Result Constant(RuleBuilder& b, const std::string& batch, int rank) const;
  absl::StatusOr<TypedValue> Activated(RuleBuilder& b, TypedValue value) const;
  absl::Status SetParts(const SizeSolver& sizes, const std::vector<TypedValue>& in,
                        TypedValue* result) const;

  int type_ = 0;
  int num_outputs_ = 1;
  std::map<int, int> parameters_;
  std::vector<int64_t> permutation_;
};

}  // namespace lemma::taso

#endif  // LEMMA_REWRITE_TASO_OPERATORS_H_
