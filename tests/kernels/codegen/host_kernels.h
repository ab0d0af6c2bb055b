// Runs grid programs (kernels/codegen/grid_program.h) on the host: compiles their CUDA kernels as
// C++ with the grid emulator (grid_emulator.h).
#ifndef LEMMA_TESTS_KERNELS_CODEGEN_HOST_KERNELS_H_
#define LEMMA_TESTS_KERNELS_CODEGEN_HOST_KERNELS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "kernels/codegen/grid_program.h"

namespace lemma {

// The kernels of several programs, compiled by the host's compiler with this test's sanitizers.
class HostKernels {
 public:
  // `run_long`: optimize more, for kernels that run longer than they compile. Internal, with the
  // compiler's messages, if a kernel does not compile.
  static absl::StatusOr<std::unique_ptr<HostKernels>> Compile(
      const std::vector<const codegen::GridProgram*>& programs, bool run_long = false);
  ~HostKernels();

  // Runs one of the compiled kernels. `pointers`: the memory of the slots that
  // the kernel reads, then of the slots that it writes (GridKernel::reads and
  // writes). NotFound if the kernel was not compiled. If the kernel finds an
  // index outside a tensor: OutOfRange if the index was loaded from a tensor,
  // otherwise Internal.
  absl::Status Launch(const codegen::GridKernel& kernel, std::vector<void*> pointers) const;

  // Runs one of the compiled programs. The tensors in *outputs must have the types of its outputs;
  // their elements are overwritten. Errors are those of Launch.
  absl::Status Run(const codegen::GridProgram& program, absl::Span<const Tensor> inputs,
                   std::vector<Tensor>* outputs) const;

 private:
  std::vector<void*> libraries_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_CODEGEN_HOST_KERNELS_H_
