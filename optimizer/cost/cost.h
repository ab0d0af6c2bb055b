// The cost of a graph: time and peak memory.
#ifndef LEMMA_OPTIMIZER_COST_COST_H_
#define LEMMA_OPTIMIZER_COST_COST_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

namespace lemma::optimizer {

// A time and a peak of memory in bytes. The time is in whole nanoseconds, so that a sum does not
// depend on the order of its terms. The time saturates at kInfinite; arithmetic on an infinite cost
// stays infinite.
class Cost {
 public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();

  constexpr Cost() = default;  // zero
  // Costs without memory. A negative time counts as 0, NaN as infinite.
  static Cost Nanoseconds(double ns) { return Cost(Saturate(ns), 0); }
  static Cost Milliseconds(double ms) { return Nanoseconds(ms * 1e6); }
  static constexpr Cost Infinite() { return Cost(kInfinite, kInfinite); }

  int64_t ns() const { return ns_; }
  double ms() const { return is_infinite() ? HUGE_VAL : static_cast<double>(ns_) * 1e-6; }
  int64_t peak_bytes() const { return peak_bytes_; }
  bool is_infinite() const { return ns_ == kInfinite; }

  // The same time with this peak; a negative peak counts as 0.
  Cost WithPeak(int64_t bytes) const { return Cost(ns_, bytes < 0 ? 0 : bytes); }

  // The cost of sequential execution: times add up, the larger peak counts.
  friend Cost operator+(Cost a, Cost b) {
    int64_t ns = a.ns_ > kInfinite - b.ns_ ? kInfinite : a.ns_ + b.ns_;
    return Cost(ns, a.peak_bytes_ > b.peak_bytes_ ? a.peak_bytes_ : b.peak_bytes_);
  }
  Cost& operator+=(Cost other) { return *this = *this + other; }
  // Scales the time only; factor >= 0.
  Cost Scaled(double factor) const {
    return is_infinite() ? *this : Cost(Saturate(static_cast<double>(ns_) * factor), peak_bytes_);
  }

  // Time decides; memory breaks ties.
  friend bool operator<(Cost a, Cost b) {
    return std::tie(a.ns_, a.peak_bytes_) < std::tie(b.ns_, b.peak_bytes_);
  }
  friend bool operator==(Cost a, Cost b) {
    return a.ns_ == b.ns_ && a.peak_bytes_ == b.peak_bytes_;
  }

 private:
  constexpr Cost(int64_t ns, int64_t peak_bytes) : ns_(ns), peak_bytes_(peak_bytes) {}
  // NaN counts as infinite: an unknown time must not look cheap.
  static int64_t Saturate(double ns) {
    if (!(ns < 9.2e18)) return kInfinite;
    return ns <= 0 ? 0 : static_cast<int64_t>(std::llround(ns));
  }

  int64_t ns_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_H_
