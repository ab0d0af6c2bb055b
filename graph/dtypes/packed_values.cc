#include "graph/dtypes/packed_values.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace lemma {

bool IsPacked(DType dtype) { return BitsOf(dtype) < 8; }

int64_t PackedBytes(const TensorType& type) {
  if (!IsPacked(type.dtype)) return type.num_bytes();
  const int64_t count = type.num_elements(), per_byte = 8 / BitsOf(type.dtype);
  if (count == std::numeric_limits<int64_t>::max()) return count;
  return count / per_byte + (count % per_byte != 0 ? 1 : 0);
}

bool HoldsValues(const Tensor& tensor) {
  const bool is_bool = tensor.dtype() == DType::kBool;
  if (!is_bool && !IsPacked(tensor.dtype())) return true;
  const auto bytes = tensor.data<uint8_t>();
  if (is_bool) return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b <= 1; });
  return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) {
    return IsInteger(tensor.dtype())
               ? static_cast<uint8_t>(NarrowInteger(tensor.dtype(), byte)) == byte
               : byte < 1 << BitsOf(tensor.dtype());
  });
}

std::string Packed(const Tensor& tensor) {
  const int64_t bits = BitsOf(tensor.dtype()), per_byte = 8 / bits;
  const int mask = (1 << bits) - 1;
  std::string packed(static_cast<size_t>(PackedBytes(tensor.type())), '\0');
  const auto values = tensor.data<uint8_t>();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    char& byte = packed[static_cast<size_t>(i / per_byte)];
    byte = static_cast<char>(byte | (values[i] & mask) << (i % per_byte * bits));
  }
  return packed;
}

Tensor FileBytes(const Tensor& tensor) {
  if (!IsPacked(tensor.dtype())) return tensor;
  const auto bytes = std::make_shared<const std::string>(Packed(tensor));
  return Tensor::Borrowed({DType::kU8, {static_cast<int64_t>(bytes->size())}},
                          std::shared_ptr<const void>(bytes, bytes->data()));
}

void Unpack(const TensorType& type, const void* packed, void* values) {
  const int64_t bits = BitsOf(type.dtype), per_byte = 8 / bits;
  const auto* from = static_cast<const uint8_t*>(packed);
  auto* to = static_cast<uint8_t*>(values);
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    const int byte = from[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1);
    to[i] = static_cast<uint8_t>(IsInteger(type.dtype) ? NarrowInteger(type.dtype, byte) : byte);
  }
}

}  // namespace lemma
