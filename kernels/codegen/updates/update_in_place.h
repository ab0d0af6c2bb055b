// Kernels that write only the elements of a tensor that change, in the tensor's own memory.
#ifndef LEMMA_KERNELS_CODEGEN_UPDATES_UPDATE_IN_PLACE_H_
#define LEMMA_KERNELS_CODEGEN_UPDATES_UPDATE_IN_PLACE_H_

#include <optional>

#include "graph/expr/tensor_expr.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::codegen {

// A program of one kernel for `definition`, whose only output must then be given the memory of
// input number `kept`: the kernel writes the elements that differ from the input's, and reads no
// element of that input. GridProgram::kept is `kept`.
//
// nullopt unless the definition says where the changes are: the output and the input have one type,
// and element i of the output is element i of the input except where index variables are equal to
// integers that are read from other tensors, as in a write at one position along an axis
// (scatter_elements and scatter_nd with one update for each element). A position outside the tensor
// changes nothing.
std::optional<GridProgram> MakeUpdateInPlace(const Definition& definition, int kept);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_UPDATES_UPDATE_IN_PLACE_H_
