#include "kernels/evaluate/contraction_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "kernels/evaluate/nest_runner.h"
#include "kernels/lanes/lane_ops.h"

namespace lemma {
namespace loops {
namespace {

// Block sizes in elements: a panel of `kDepth` fits into the first-level cache, a block of `kRows`
// panels into the second.
constexpr int64_t kDepth = 256;
constexpr int64_t kRows = 96;
constexpr int64_t kColumns = 256;
// The maximum size of a factor's copy; larger factors are copied in parts.
constexpr int64_t kMaxCopyBytes = int64_t{32} << 20;
constexpr double kNsPerThread = 20000;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

template <class T>
bool IsOrdinary(T value) {
  if constexpr (std::is_same_v<T, Field>) return !value.is_special();
  return value - value == T(0);
}

// Sets the first `count` of `vars` to the digits of `index`.
template <class T>
void SetDigits(NestRunner<T>* runner, const Nest& nest, const std::vector<int>& vars, int64_t index,
               size_t count) {
  for (size_t i = vars.size(); i-- > 0;) {
    const int64_t extent = nest.vars[vars[i]].extent;
    if (i < count) runner->Set(vars[i], index % extent);
    index /= extent;
  }
}

// A range of rows of a factor, in panels of `width` rows. A panel's depth is contiguous: element
// (row, depth) lies at depth * width + row. Rows beyond the range are zero.
template <class T>
class Panels {
 public:
  Panels(int64_t width, int64_t depth, int64_t max_rows)
      : width_(width), depth_(depth), data_(new T[RoundUp(max_rows, width) * depth + kAlign]) {}

  int64_t width() const { return width_; }
  T* Panel(int64_t row) {
    auto address = reinterpret_cast<uintptr_t>(data_.get());
    T* aligned = reinterpret_cast<T*>((address + 63) / 64 * 64);
    return aligned + row / width_ * width_ * depth_;
  }

  // Copies rows first + [begin, end) of `factor` to rows [begin, end); begin is a multiple of
  // width. Returns false at a value that is not finite.
  bool Fill(NestRunner<T>* runner, const Factor& factor, int64_t first, int64_t begin, int64_t end,
            bool check);

 private:
  static constexpr int64_t kAlign = 64 / sizeof(T);

  // Copies `n` values of consecutive rows at one depth, or of consecutive depths of one row.
  void PutRows(int64_t row, int64_t depth, const T* values, int64_t n);
  void PutDepths(int64_t row, int64_t depth, const T* values, int64_t n);

  int64_t width_, depth_;
  std::unique_ptr<T[]> data_;
};

template <class T>
void Panels<T>::PutRows(int64_t row, int64_t depth, const T* values, int64_t n) {
  while (n > 0) {
    int64_t in_panel = row % width_, count = std::min(n, width_ - in_panel);
    T* to = Panel(row) + depth * width_ + in_panel;
    std::copy(values, values + count, to);
    row += count;
    values += count;
    n -= count;
  }
}

template <class T>
void Panels<T>::PutDepths(int64_t row, int64_t depth, const T* values, int64_t n) {
  T* to = Panel(row) + depth * width_ + row % width_;
  for (int64_t i = 0; i < n; ++i) to[i * width_] = values[i];
}

template <class T>
bool Panels<T>::Fill(NestRunner<T>* runner, const Factor& factor, int64_t first, int64_t begin,
                     int64_t end, bool check) {
  const int64_t block = factor.nest.block;
  bool ordinary = true;
  auto inspect = [&](const T* values, int64_t n) {
    if (!check) return;
    for (int64_t i = 0; i < n; ++i) ordinary = ordinary & IsOrdinary(values[i]);
  };
  if (end % width_ != 0) {
    T* last = Panel(end - 1);
    std::fill(last, last + width_ * depth_, T{});
  }
  // Blocks of lanes run along the last axis of rows or of depths.
  const bool rows_adjacent = factor.nest.lane == factor.rows.back();
  const std::vector<int>& lanes = rows_adjacent ? factor.rows : factor.depths;
  const std::vector<int>& others = rows_adjacent ? factor.depths : factor.rows;
  const int64_t lane_extent = factor.nest.vars[factor.nest.lane].extent;
  const int64_t from = rows_adjacent ? begin : 0, to = rows_adjacent ? end : depth_;
  const int64_t lane_first = rows_adjacent ? first : 0, other_first = rows_adjacent ? 0 : first;
  const int64_t other_end = rows_adjacent ? depth_ : end;
  for (int64_t other = rows_adjacent ? 0 : begin; other < other_end; ++other) {
    SetDigits(runner, factor.nest, others, other_first + other, others.size());
    for (int64_t at = from; at < to;) {
      const int64_t lane = (lane_first + at) % lane_extent;
      const int64_t n = std::min({block, lane_extent - lane, to - at});
      SetDigits(runner, factor.nest, lanes, lane_first + at, lanes.size() - 1);
      const T* values = runner->Root(lane, n);
      inspect(values, n);
      if (rows_adjacent) {
        PutRows(at, other, values, n);
      } else {
        PutDepths(other, at, values, n);
      }
      at += n;
    }
  }
  return ordinary;
}

template <class T>
class Runner {
 public:
  Runner(const Contraction& contraction, absl::Span<const BoundSlot> slots, int num_inputs)
      : c_(contraction), slots_(slots), num_inputs_(num_inputs), ops_(Lanes<T>()) {}

  absl::StatusOr<bool> Run(int threads);

 private:
  void RunBatch(int64_t batch, int threads);
  void Copy(const Factor& factor, int64_t batch, int64_t first, int64_t rows, Panels<T>* panels,
            int threads);
  void Multiply(int64_t batch, int64_t m0, int64_t m_end, int64_t n0, int64_t n_end, Panels<T>* a,
                Panels<T>* b, int threads);
  void MultiplyBlock(Panels<T>* a, Panels<T>* b, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, T* sums);
  void Store(int64_t batch, int64_t m, int64_t rows, int64_t n, int64_t columns, const T* sums);

  bool failed() const { return extraordinary_ || error_; }
  void Fail(const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = status;
    error_ = true;
  }

  const Contraction& c_;
  absl::Span<const BoundSlot> slots_;
  int num_inputs_;
  const LaneOps<T>& ops_;
  std::atomic<bool> extraordinary_{false}, error_{false};
  std::mutex mutex_;
  absl::Status status_;
};

template <class T>
void Runner<T>::Copy(const Factor& factor, int64_t batch, int64_t first, int64_t rows,
                     Panels<T>* panels, int threads) {
  // Field tiles are correct for ordinary elements only.
  constexpr bool kField = std::is_same_v<T, Field>;
  const bool check = kField || (c_.guarded && std::is_floating_point_v<T>);
  // Whole panels, enough for a block of lanes.
  const int64_t step = RoundUp(std::max<int64_t>(factor.nest.block, 64), panels->width());
  ParallelFor(threads, (rows + step - 1) / step, [&](int64_t begin, int64_t end) {
    NestRunner<T> runner(factor.nest, slots_, num_inputs_);
    SetDigits(&runner, factor.nest, factor.batch, batch, factor.batch.size());
    for (int64_t i = begin; i < end && !failed(); ++i) {
      int64_t last = std::min(rows, (i + 1) * step);
      if (!panels->Fill(&runner, factor, first, i * step, last, check)) extraordinary_ = true;
    }
    if (!runner.error().ok()) Fail(runner.error());
  });
}

template <class T>
void Runner<T>::MultiplyBlock(Panels<T>* a, Panels<T>* b, int64_t row, int64_t rows, int64_t column,
                              int64_t columns, T* sums) {
  const int64_t stride = RoundUp(columns, ops_.nr);
  for (int64_t k = 0; k < c_.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, c_.k - k);
    for (int64_t j = 0; j < columns; j += ops_.nr) {
      const T* b_panel = b->Panel(column + j) + k * ops_.nr;
      for (int64_t i = 0; i < rows; i += ops_.mr) {
        const T* a_panel = a->Panel(row + i) + k * ops_.mr;
        ops_.tile(sums + i * stride + j, stride, a_panel, b_panel, depth, k > 0);
      }
    }
  }
}

template <class T>
void Runner<T>::Store(int64_t batch, int64_t m, int64_t rows, int64_t n, int64_t columns,
                      const T* sums) {
  const BoundSlot& slot = slots_[c_.out.out_slot];
  const int64_t stride = RoundUp(columns, ops_.nr);
  IndexEvaluator index(c_.out, slots_, num_inputs_);
  for (size_t i = c_.batch.size(); i-- > 0;) {
    index.Set(c_.out_batch[i], batch % c_.batch[i]);
    batch /= c_.batch[i];
  }
  index.Set(c_.out_n, n);
  for (int64_t i = 0; i < rows; ++i) {
    index.Set(c_.out_m, m + i);
    for (int64_t j = 0; j < columns;) {
      LaneRun run = index.Scan(c_.out.out, c_.out_n, j);
      int64_t end = std::min(run.end, columns);
      auto store =
          slot.has_number_type ? ops_.store_number : ops_.store[static_cast<int>(*slot.storage)];
      store(slot.At(run.value), run.slope, sums + i * stride + j, end - j);
      j = end;
    }
  }
}

template <class T>
void Runner<T>::Multiply(int64_t batch, int64_t m0, int64_t m_end, int64_t n0, int64_t n_end,
                         Panels<T>* a, Panels<T>* b, int threads) {
  const int64_t row_step = RoundUp(kRows, ops_.mr), column_step = RoundUp(kColumns, ops_.nr);
  const int64_t row_blocks = (m_end - m0 + row_step - 1) / row_step;
  const int64_t column_blocks = (n_end - n0 + column_step - 1) / column_step;
  ParallelFor(threads, row_blocks * column_blocks, [&](int64_t begin, int64_t end) {
    std::unique_ptr<T[]> sums(new T[row_step * column_step]);
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = i % row_blocks * row_step, column = i / row_blocks * column_step;
      int64_t rows = std::min(row_step, m_end - m0 - row);
      int64_t columns = std::min(column_step, n_end - n0 - column);
      MultiplyBlock(a, b, row, rows, column, columns, sums.get());
      Store(batch, m0 + row, rows, n0 + column, columns, sums.get());
    }
  });
}

template <class T>
void Runner<T>::RunBatch(int64_t batch, int threads) {
  const int64_t most = std::max<int64_t>(kMaxCopyBytes / sizeof(T) / c_.k, 1);
  const int64_t m_step = std::min(c_.m, RoundUp(most, RoundUp(kRows, ops_.mr)));
  const int64_t n_step = std::min(c_.n, RoundUp(most, RoundUp(kColumns, ops_.nr)));
  Panels<T> a(ops_.mr, c_.k, m_step), b(ops_.nr, c_.k, n_step);
  for (int64_t m = 0; m < c_.m; m += m_step) {
    const int64_t m_end = std::min(c_.m, m + m_step);
    Copy(c_.a, batch, m, m_end - m, &a, threads);
    for (int64_t n = 0; n < c_.n && !failed(); n += n_step) {
      const int64_t n_end = std::min(c_.n, n + n_step);
      // All parts of a use the single copy of b.
      if (m == 0 || n_step < c_.n) Copy(c_.b, batch, n, n_end - n, &b, threads);
      if (!failed()) Multiply(batch, m, m_end, n, n_end, &a, &b, threads);
    }
  }
}

template <class T>
absl::StatusOr<bool> Runner<T>::Run(int threads) {
  int64_t batches = 1;
  for (int64_t extent : c_.batch) batches *= extent;
  const double work_ns = 0.1 * static_cast<double>(batches) * static_cast<double>(c_.m) *
                         static_cast<double>(c_.n) * static_cast<double>(c_.k);
  threads = static_cast<int>(std::min<double>(threads, 1 + work_ns / kNsPerThread));
  // Runs many products in parallel, but splits each of a few products.
  const bool side_by_side = batches >= 2 * threads;
  ParallelFor(side_by_side ? threads : 1, batches, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !failed(); ++i) RunBatch(i, side_by_side ? 1 : threads);
  });
  // A guard elsewhere may protect this read of the factor.
  if (error_ && !c_.guarded) return status_;
  return !failed();
}

}  // namespace

template <class T>
absl::StatusOr<bool> RunContraction(const Contraction& contraction,
                                    absl::Span<const BoundSlot> slots, int num_inputs,
                                    int threads) {
  return Runner<T>(contraction, slots, num_inputs).Run(threads);
}

template absl::StatusOr<bool> RunContraction<double>(const Contraction&,
                                                     absl::Span<const BoundSlot>, int, int);
template absl::StatusOr<bool> RunContraction<float>(const Contraction&, absl::Span<const BoundSlot>,
                                                    int, int);
template absl::StatusOr<bool> RunContraction<int64_t>(const Contraction&,
                                                      absl::Span<const BoundSlot>, int, int);
template absl::StatusOr<bool> RunContraction<Field>(const Contraction&, absl::Span<const BoundSlot>,
                                                    int, int);

}  // namespace loops
}  // namespace lemma
