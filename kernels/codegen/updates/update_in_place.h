// Kernels that write only the elements of a tensor that change, in the tensor's own memory.
#ifndef LEMMA_KERNELS_CODEGEN_UPDATES_UPDATE_IN_PLACE_H_
#define LEMMA_KERNELS_CODEGEN_UPDATES_UPDATE_IN_PLACE_H_

#include <optional>

#include "graph/expr/tensor_expr.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::codegen {

// A program of one kernel for `definition`. The only output must be given the memory of input
// number `kept`: the kernel writes only the elements of the output that differ from this input's,
// and reads no element of this input. GridProgram::kept is `kept`.
//
// nullopt unless the definition says where the changes are: the output and the input have one type,
// and element i of the output is element i of the input, except where index variables equal
// integers that are constants or are read from other tensors. An example is a write at one position
// along an axis (scatter_elements and scatter_nd with one update for each element). A position
// outside the tensor changes nothing.
std::optional<GridProgram> MakeUpdateInPlace(const Definition& definition, int kept);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_UPDATES_UPDATE_IN_PLACE_H_
