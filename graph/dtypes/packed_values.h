// Converts values of 4 and 2 bits between tensors, which have one value in a
// byte, and ONNX files, which pack several values into a byte.
#ifndef LEMMA_GRAPH_DTYPES_PACKED_VALUES_H_
#define LEMMA_GRAPH_DTYPES_PACKED_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma {

// Whether files pack several values of the type into a byte.
bool IsPacked(DType dtype);
// The bytes that a tensor of the type takes in a file; INT64_MAX if the number of bytes, or of
// elements, is larger.
int64_t PackedBytes(const TensorType& type);
// Whether every byte of the tensor is a value of the tensor's type. Checks
// packed types and bool, whose bytes must be 0 or 1; true for all other types.
// Readers of bytes that other programs may have written call this.
bool HoldsValues(const Tensor& tensor);
// The values in the layout of a file: the first value is in the lowest bits of
// the first byte; the bits after the last value are 0. The type must be packed.
std::string Packed(const Tensor& tensor);
// The result of Packed as a vector of u8; `tensor` itself if its type is not packed.
Tensor FileBytes(const Tensor& tensor);
// The reverse of Packed: writes type.num_elements() bytes to `values`. `packed`
// has PackedBytes(type) bytes. The type must be packed.
void Unpack(const TensorType& type, const void* packed, void* values);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DTYPES_PACKED_VALUES_H_
