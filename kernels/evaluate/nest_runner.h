// Runs one loop nest. Internal to kernels/evaluate.
#ifndef LEMMA_KERNELS_EVALUATE_NEST_RUNNER_H_
#define LEMMA_KERNELS_EVALUATE_NEST_RUNNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/evaluate/index_evaluator.h"
#include "kernels/lanes/lane_ops.h"
#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// Interprets a scheduled nest in blocks of lanes. A node is evaluated on demand for all lanes of a
// block at once, and its value is kept until a variable that it depends on changes. Use one object
// per thread. The nest, the slots and their memory must outlive the object. `num_inputs`: as in
// IndexEvaluator.
template <class T>
class NestRunner {
 public:
  NestRunner(const Nest& nest, absl::Span<const BoundSlot> slots, int num_inputs);

  // The number of items of the output box. An item is one block of lanes at one value of the other
  // axes.
  static int64_t NumItems(const Nest& nest);
  // Computes and stores items [begin, end). Returns the error of the first check that fails.
  absl::Status Run(int64_t begin, int64_t end);

  // For a nest used as a function: the values of its root at `count` <= nest.block consecutive
  // values of the lane, from `first` on. Call Set for the other axes first. The result is valid
  // until the next call. It is meaningless if error() is not OK.
  void Set(int var, int64_t value) { index_.Set(var, value); }
  const T* Root(int64_t first, int64_t count);
  const absl::Status& error() const { return index_.error(); }

  // If false, a block of an output is written only after everything that it depends on has been
  // read. True by default.
  void set_direct_output(bool allowed) { direct_output_ = allowed; }

 private:
  struct Operand {
    const T* data;
    bool vector;
  };
  // The known part of a node's value: lanes [from, to) in its buffer, or its scalar.
  struct Memo {
    int64_t stamp = -1, from = 0, to = 0;
  };

  void RunItem(int64_t block, int64_t lanes);
  void StoreRuns(const T* values, int64_t lanes);

  Operand Get(int n, int64_t from, int64_t to, T* into);
  const T* Vector(int n, int64_t from, int64_t to, T* into);
  const T* ReadVector(const Node& node, int64_t from, int64_t to, T* dst);
  const T* SelectVector(const Node& node, int64_t from, int64_t to, T* dst);
  void IndexVector(const Node& node, int64_t from, int64_t to, T* dst);
  void ApplyVector(const Node& node, int64_t from, int64_t to, T* dst);
  // If `node` adds or subtracts a product that has no other user, computes both in one loop.
  // Otherwise returns false.
  bool MulThenVector(const Node& node, int64_t from, int64_t to, T* dst);
  void ReduceVector(const Node& node, int64_t from, int64_t to, T* dst);
  void AccumulateVector(const Node& node, int64_t from, int64_t to, T* acc);

  T Scalar(int n);
  T ComputeScalar(const Node& node);
  T ReadScalar(const Node& node);
  T ApplyScalar(const Node& node);
  T ReduceScalar(const Node& node);
  void AccumulateLanes(const Node& node, T* partials);
  void AccumulateRun(const Node& node, int64_t from, int64_t to, T* partials);

  // Runs `leaf` for every value of a reduction's loops that satisfies its scalar guards.
  template <class Leaf>
  void ForEachStep(const Node& node, size_t level, const Leaf& leaf);
  // Calls then(from, to) for the maximal runs of lanes where `cond` holds, and otherwise(from, to)
  // for the other runs, in order.
  template <class Then, class Otherwise>
  void ForRuns(int cond, int lane, int64_t from, int64_t to, const Then& then,
               const Otherwise& otherwise);

  // Whether operand `child` of `parent` may be computed in the buffer of `parent`.
  bool MayUseParentBuffer(const Node& parent, int child) const;
  T* Buffer(int n) { return buffers_.get() + buffer_[n]; }
  void Load(const BoundSlot& slot, int64_t offset, int64_t stride, T* dst, int64_t n);
  void Store(const BoundSlot& slot, int64_t offset, int64_t stride, const T* src, int64_t n);

  const Nest& nest_;
  absl::Span<const BoundSlot> slots_;
  const LaneOps<T>& ops_;
  IndexEvaluator index_;
  std::vector<Memo> memo_;
  std::vector<T> scalars_;
  std::vector<int64_t> buffer_;  // of each vector node
  std::unique_ptr<T[]> buffers_;
  T* root_buffer_ = nullptr;
  std::vector<int64_t> offsets_, scratch_;
  bool direct_output_ = true;
};

extern template class NestRunner<double>;
extern template class NestRunner<float>;
extern template class NestRunner<int64_t>;
extern template class NestRunner<Field>;

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_EVALUATE_NEST_RUNNER_H_
