// Executes grid programs on the host: their kernels as C++ over the grid emulator.
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

// The kernels of many programs, compiled by the host's compiler with this test's sanitizers.
class HostKernels {
 public:
  // Internal with the compiler's messages if one does not compile.
  static absl::StatusOr<std::unique_ptr<HostKernels>> Compile(
      const std::vector<const codegen::GridProgram*>& programs);
  ~HostKernels();

  // Runs one kernel, which was among those compiled. `pointers`: its arguments, the error word
  // aside. NotFound if it was not; OutOfRange or Internal if it finds an index outside a tensor.
  absl::Status Launch(const codegen::GridKernel& kernel, std::vector<void*> pointers) const;

  // Runs `program`, which was among those compiled.
  absl::Status Run(const codegen::GridProgram& program, absl::Span<const Tensor> inputs,
                   std::vector<Tensor>* outputs) const;

 private:
  std::vector<void*> libraries_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_CODEGEN_HOST_KERNELS_H_
