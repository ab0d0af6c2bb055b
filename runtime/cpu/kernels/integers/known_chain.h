// A chain (chain_program.h) whose operands, except the first one, are known single numbers. A
// quantization is an example.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_KNOWN_CHAIN_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_KNOWN_CHAIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/cpu/kernels/integers/chain_program.h"
#include "runtime/cpu/kernels/integers/requantization/requantize.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

class KnownChain {
 public:
  // The chain that computes the spec's last node from `start`, an f32 value that a node before it
  // computes. nullopt if there is none, if it reads more than `start` and known single numbers, or
  // if HasIntegerTiles (tiles.h) is false.
  static std::optional<KnownChain> Compile(const CpuKernelSpec& spec, const Value& start,
                                           const StaticValues& statics);

  // Runs the chain on x, `rows` rows of `columns` floats without gaps, and stores the results to y.
  // The rows of y begin `y_step` elements apart.
  void Run(const float* x, int64_t rows, int64_t columns, void* y, int64_t y_step) const;

  int64_t result_bytes() const { return result_bytes_; }  // of an element
  kernels::ChainResult result() const { return result_; }
  absl::Span<const kernels::ChainStep> steps() const { return steps_; }

 private:
  KnownChain() = default;

  std::vector<kernels::ChainStep> steps_;
  kernels::ChainResult result_ = kernels::ChainResult::kF32;
  int64_t result_bytes_ = 4;
  std::optional<kernels::Requantization> requantization_;  // with the same results, and faster
};

// Whether `user` may be a step of such a chain behind the f32 value `v`: arithmetic, rounding,
// bounds and changes of type with known single numbers. Compile decides.
bool MayBeKnownStep(const Value& v, const Node& user);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_KNOWN_CHAIN_H_
