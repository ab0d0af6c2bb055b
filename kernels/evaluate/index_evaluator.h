// Computes the values of indices and conditions while a nest runs. Internal to kernels/evaluate.
#ifndef LEMMA_KERNELS_EVALUATE_INDEX_EVALUATOR_H_
#define LEMMA_KERNELS_EVALUATE_INDEX_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/dtype.h"
#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// The memory of a slot during a run.
struct BoundSlot {
  void* data = nullptr;          // written only if the slot is an output or a local
  std::optional<DType> storage;  // nullopt: elements have the number type of the computation
  // Whether elements have the number type: `storage` is nullopt or that type. If the number type is
  // int64_t, `storage` may also be u64.
  bool has_number_type = false;
  int64_t element_size = 0;  // in bytes
  // Reads the element at `offset`, in elements, as an integer.
  int64_t (*read_integer)(const void* data, int64_t offset) = nullptr;

  void* At(int64_t offset) const { return static_cast<char*>(data) + offset * element_size; }
};

// A piece of an index that depends on the lane: `value` at the first lane of the piece, value +
// slope at the next lane, and so on for lanes before `end`.
struct LaneRun {
  int64_t value, slope, end;
};

// A piece of a condition that depends on the lane: its value at all lanes before `end`.
struct CondRun {
  bool value;
  int64_t end;
};

// Holds the current values of a nest's variables and evaluates indices and conditions on them.
//
// In the methods below, `lane` is the number of the variable that runs over the lanes, and `at` is
// the number of a lane, counted from the start of the current block. At lane `at`, this variable
// has the value passed to Set plus `at`; all others have the values passed to Set. If `lane` is -1,
// no variable changes, and `at` has no effect.
//
// Slots below `num_inputs` are inputs; this affects only messages. The nest and the slots must
// outlive the object.
class IndexEvaluator {
 public:
  IndexEvaluator(const Nest& nest, absl::Span<const BoundSlot> slots, int num_inputs);

  void Set(int var, int64_t value);
  int64_t Get(int var) const { return values_[var]; }

  // now() grows whenever a variable changes. Unchanged returns true if no variable that `node`
  // depends on has changed since now() was `stamp`.
  int64_t now() const { return clock_; }
  bool Unchanged(const Node& node, int64_t stamp) const;

  // The value of `p` at lane `at`.
  int64_t Value(const Affine& p, int lane, int64_t at);
  // The piece of `p` that begins at lane `at`.
  LaneRun Scan(const Affine& p, int lane, int64_t at);
  // out[i] = Value(p, lane, from + i) for from + i < to.
  void Points(const Affine& p, int lane, int64_t from, int64_t to, int64_t* out);

  // The value of condition number `cond` of the nest at lane `at`.
  bool Test(int cond, int lane, int64_t at);
  // The piece of the condition that begins at lane `at`; it ends at `to` at the latest.
  CondRun ScanCond(int cond, int lane, int64_t at, int64_t to);

  // Whether all checks of the read `node` hold for lanes [from, to). A failure is kept in error().
  // CheckAffine is for indices that are affine on these lanes, CheckPoints for any indices;
  // `scratch` has room for to - from numbers.
  bool CheckAffine(const Node& node, int lane, int64_t from, int64_t to);
  bool CheckPoints(const Node& node, int lane, int64_t from, int64_t to, int64_t* scratch);

  // The error of the first failed check; OK if no check has failed. After a failure, values are
  // meaningless, but no memory outside a tensor is touched.
  bool failed() const { return !error_.ok(); }
  const absl::Status& error() const { return error_; }

 private:
  int64_t LeafValue(const IndexLeaf& leaf, int lane, int64_t at);
  LaneRun ScanLeaf(const IndexLeaf& leaf, int lane, int64_t at);
  void LeafPoints(const IndexLeaf& leaf, int lane, int64_t from, int64_t to, int64_t* out);
  int64_t Integer(int node, int lane, int64_t at);
  int64_t ReduceInteger(const Node& node, size_t axis, int64_t so_far, int lane, int64_t at);
  bool InBounds(const Node& node, const Check& check, int64_t index);

  const Nest& nest_;
  absl::Span<const BoundSlot> slots_;
  int num_inputs_;
  std::vector<int64_t> values_, epochs_;
  int64_t clock_ = 1;
  absl::Status error_;
};

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_EVALUATE_INDEX_EVALUATOR_H_
