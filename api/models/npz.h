// Reads NumPy's .npz files: several arrays with names.
#ifndef LEMMA_API_MODELS_NPZ_H_
#define LEMMA_API_MODELS_NPZ_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma::api {

// Whether a file that begins with `bytes` is a zip archive, as .npz files are.
bool IsNpz(absl::string_view bytes);

// The arrays, by name, of a file that numpy.savez has written. InvalidArgument if the file is
// damaged or contains anything but arrays; Unimplemented for compressed arrays (savez_compressed),
// for files above 4 GB, and for the arrays that ParseNpy (api/models/npy.h) does not support.
absl::StatusOr<std::map<std::string, Tensor>> ParseNpz(absl::string_view bytes);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_NPZ_H_
