// Reads and writes tensors as NumPy's .npy files.
//
// Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3.
#ifndef LEMMA_API_MODELS_NPY_H_
#define LEMMA_API_MODELS_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma::api {

// Whether a file that begins with `bytes` is a .npy file.
bool IsNpy(absl::string_view bytes);

// The array of a .npy file, which may be in C or Fortran order. InvalidArgument if the file is
// damaged; Unimplemented for big-endian elements, and for element types that Lemma does not have.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes);

// The bytes of a .npy file with the tensor. Unimplemented for types that NumPy lacks, such as bf16.
absl::StatusOr<std::string> SerializeNpy(const Tensor& tensor);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_NPY_H_
