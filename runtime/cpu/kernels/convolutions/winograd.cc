#include "runtime/cpu/kernels/convolutions/winograd.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <dnnl.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "runtime/cpu/kernels/vectorized/plain_rows.h"

namespace lemma::cpu {
namespace {

class WinogradKernel : public Kernel {
 public:
  WinogradKernel(std::unique_ptr<Kernel> winograd,
                 std::function<absl::StatusOr<std::unique_ptr<Kernel>>()> make_direct, int x_input,
                 int64_t elements, float largest, int threads)
      : winograd_(std::move(winograd)),
        make_direct_(std::move(make_direct)),
        x_input_(x_input),
        elements_(elements),
        largest_(largest),
        threads_(ThreadsFor(elements, threads)) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const auto* x = static_cast<const float*>(inputs[x_input_]);
    std::atomic<bool> within{true};
    ParallelFor(threads_, elements_, [&](int64_t begin, int64_t end) {
      if (!kernels::AllWithin(x + begin, end - begin, largest_)) within = false;
    });
    if (within) return winograd_->Run(inputs, outputs, scratch);
    if (direct_ == nullptr) {
      LEMMA_ASSIGN_OR_RETURN(direct_, make_direct_());
      direct_scratch_.resize(direct_->scratch_bytes() + kAlignment);
    }
    const auto at = reinterpret_cast<uintptr_t>(direct_scratch_.data());
    const uintptr_t aligned = (at + kAlignment - 1) / kAlignment * kAlignment;
    return direct_->Run(inputs, outputs, reinterpret_cast<void*>(aligned));
  }
  size_t scratch_bytes() const override { return winograd_->scratch_bytes(); }
  size_t packed_bytes() const override { return winograd_->packed_bytes(); }
  std::vector<absl::Span<const char>> PackedWeights() const override {
    return winograd_->PackedWeights();
  }
  bool NeedsStatic(int input) const override { return winograd_->NeedsStatic(input); }
  std::string note() const override { return winograd_->note(); }
  const Kernel* library() const override { return winograd_.get(); }

 private:
  static constexpr size_t kAlignment = 64;  // bytes

  std::unique_ptr<Kernel> winograd_, direct_;
  std::function<absl::StatusOr<std::unique_ptr<Kernel>>()> make_direct_;
  std::vector<char> direct_scratch_;
  int x_input_;
  int64_t elements_;
  float largest_;
  int threads_;
};

int64_t Tiles(const WinogradSizes& s, int64_t side) {
  return s.images * ((s.rows + side - 1) / side) * ((s.columns + side - 1) / side);
}

// Whether tiles of 4 x 4 are faster on Intel's processors. Measured on a Xeon (Emerald Rapids) with
// one and two threads, for 390 sizes. The direct convolution is faster there than on AMD's, so few
// channels do not pay (96 -> 32 at 128 x 128 pixels: 5.5 ms, direct, and 7.4; 16 -> 224 at 38 x 38:
// 0.56 and 1.04; with one thread also 256 -> 80 at 35 x 35: 2.6 and 3.1). Neither do many channels
// on few tiles, unless they fill the library's blocks (768 -> 224 at 13 x 13: 3.0 and 8.9; 512 ->
// 512 at 13 x 13: 4.5 and 3.1).
bool SmallTilesAreFasterOnIntel(const WinogradSizes& s, int threads) {
  const int64_t pairs = s.in * s.out;
  if (s.in < (threads == 1 ? 48 : 64) || s.out < 64) return false;
  if (pairs < 128 * 128) return true;
  if (pairs < 224 * 224) return threads > 1 || s.in <= 3 * s.out;
  return s.in % 128 == 0 && s.out % 128 == 0 && std::min(s.in, s.out) >= 256 && Tiles(s, 2) >= 36;
}

}  // namespace

bool MayTakeWinograd(const WinogradSizes& s) {
  // cpu_isa is a set of bits: an instruction set has the bits of those that it contains.
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & avx512) == avx512 && s.in % 16 == 0 && s.out % 16 == 0;
}

bool IsIntel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

// Measured on an AMD EPYC with AVX-512, one thread, reorders included, for 300 sizes: where this
// returns true, the direct convolution takes 1.1 to 3 times as long. Between 128 * 128 and
// 224 * 224 pairs of channels, tiles of 4 x 4 get a slow order of loops (144 -> 144 channels at
// 13 x 13 pixels: 0.25 ms, direct, and 0.31). Weights that do not fit into the cache are not worth
// it for few tiles of 6 x 6 (640 -> 640 at 17 x 17: 10.3 and 11.8). For few channels, transforms
// are most of the work (32 -> 64 at 147 x 147: 4.2 and 5.3), and so are reorders inside a model for
// few outputs (48 -> 192 at 13 x 13: 0.13 and 0.15).
//
// With two threads (70 sizes, and those of six models), the order of loops is not slow between
// these pairs (144 -> 144 at 14 x 14: 0.132 and 0.112). Fewer products than 60 million need at
// least as many outputs as inputs (32 -> 128 at 27 x 27: 0.107 and 0.091; 256 -> 64 at 13 x 13:
// 0.100 and 0.159), and large tiles need 64 outputs (two images, 256 -> 48 at 17 x 17: 0.234 and
// 0.331). The limits grow with the number of threads, since each step waits for the slowest one.
bool IsFasterByWinograd(const WinogradSizes& s, const std::string& code, int threads, bool intel) {
  const int64_t pairs = s.in * s.out, products = 9 * pairs * s.images * s.rows * s.columns;
  const bool is_large = code.find("wino_4x3") != std::string::npos;
  if (threads == 1) {
    if (products < 20'000'000) return false;
  } else if (products < int64_t{30'000'000} * threads) {
    if (products < int64_t{12'000'000} * threads) return false;
    if (s.in < 32 || s.out < std::max<int64_t>(s.in, 64)) return false;
  }
  if (is_large) {
    constexpr int64_t kCached = 6'000'000 / (36 * sizeof(float));
    return s.in >= 48 && s.out >= (threads == 1 ? 48 : 64) &&
           Tiles(s, 4) >= (pairs > kCached ? 49 : 16);
  }
  if (intel) return SmallTilesAreFasterOnIntel(s, threads);
  return s.out >= 32 &&
         (threads > 1 ? pairs >= 2048 || s.in > s.out : pairs < 128 * 128 || pairs >= 224 * 224);
}

float LargestWinogradInput(absl::Span<const float> weights, int64_t out) {
  const size_t row = weights.size() / static_cast<size_t>(std::max<int64_t>(out, 1));
  double most = 1;
  for (size_t k = 0; row > 0 && k + row <= weights.size(); k += row) {
    double sum = 0;
    for (size_t i = 0; i < row; ++i) sum += std::fabs(double{weights[k + i]});
    if (!std::isfinite(sum)) return 0;
    most = std::max(most, sum);
  }
  // The transforms of tiles of 6 x 6: a row of the input's has factors of magnitude 10 in all, of
  // the weights' 1, of the output's 19; each is applied to rows and columns.
  constexpr double kGrowth = 10.0 * 10 * 19 * 19;
  return static_cast<float>(std::numeric_limits<float>::max() / (2 * kGrowth * most));
}

std::unique_ptr<Kernel> WinogradOrDirect(
    std::unique_ptr<Kernel> winograd,
    std::function<absl::StatusOr<std::unique_ptr<Kernel>>()> make_direct, int x_input,
    int64_t elements, float largest, int threads) {
  return std::make_unique<WinogradKernel>(std::move(winograd), std::move(make_direct), x_input,
                                          elements, largest, threads);
}

}  // namespace lemma::cpu
