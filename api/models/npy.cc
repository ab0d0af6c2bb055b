#include "api/models/npy.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace lemma::api {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;  // of the values, in files that are written

struct Descriptor {
  const char* text;
  DType dtype;
};
constexpr Descriptor kDescriptors[] = {
    {"<f4", DType::kF32}, {"<f8", DType::kF64}, {"<f2", DType::kF16}, {"<i8", DType::kI64},
    {"<i4", DType::kI32}, {"<i2", DType::kI16}, {"|i1", DType::kI8},  {"<u8", DType::kU64},
    {"<u4", DType::kU32}, {"<u2", DType::kU16}, {"|u1", DType::kU8},  {"|b1", DType::kBool},
};

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a .npy file: ", what));
}

// The text after "'key':" in the header, which is a Python dictionary.
std::optional<absl::string_view> Entry(absl::string_view header, absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "':"));
  if (at == absl::string_view::npos) return std::nullopt;
  return absl::StripLeadingAsciiWhitespace(header.substr(at + key.size() + 3));
}

absl::StatusOr<Shape> ParseShape(absl::string_view text) {
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == absl::string_view::npos) {
    return Damaged("its header has no shape");
  }
  Shape shape;
  for (absl::string_view part : absl::StrSplit(text.substr(1, end - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 0) {
      return Damaged(absl::StrCat("its shape has the size '", part, "'"));
    }
    shape.push_back(size);
  }
  return shape;
}

// Copies values whose first axis runs fastest.
void CopyFortran(const char* from, const Shape& shape, size_t element, char* to) {
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0);
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) at = at * shape[d] + index[d];
    std::memcpy(to + at * element, from + i * element, element);
    for (size_t d = 0; d < rank && ++index[d] == shape[d]; ++d) index[d] = 0;
  }
}

}  // namespace

bool IsNpy(absl::string_view bytes) { return absl::StartsWith(bytes, kMagic); }

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes) {
  if (!IsNpy(bytes) || bytes.size() < 10) return Damaged("it does not begin as one");
  const int version = bytes[6];
  if (version < 1 || version > 3) return Damaged(absl::StrCat("version ", version));
  const size_t length_bytes = version == 1 ? 2 : 4, begin = 8 + length_bytes;
  if (bytes.size() < begin) return Damaged("it is truncated");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  if (length > bytes.size() - begin) return Damaged("it is truncated");
  const absl::string_view header = bytes.substr(begin, length);
  const absl::string_view values = bytes.substr(begin + length);

  const auto descr = Entry(header, "descr"), order = Entry(header, "fortran_order"),
             shape_text = Entry(header, "shape");
  if (!descr || !order || !shape_text) return Damaged("its header lacks an entry");
  auto shape = ParseShape(*shape_text);
  if (!shape.ok()) return shape.status();
  const Descriptor* found = nullptr;
  for (const Descriptor& known : kDescriptors) {
    if (absl::StartsWith(*descr, absl::StrCat("'", known.text, "'"))) found = &known;
  }
  if (found == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: element type ", descr->substr(0, descr->find(','))));
  }
  TensorType type{found->dtype, *std::move(shape)};
  const int64_t size = type.num_bytes();
  if (size != static_cast<int64_t>(values.size())) {
    return Damaged(
        absl::StrCat(type.ToString(), " has ", size, " bytes, the file ", values.size()));
  }
  auto tensor = Tensor::Allocate(std::move(type));
  if (!tensor.ok() || size == 0) return tensor;
  char* to = static_cast<char*>(tensor->mutable_raw());
  if (absl::StartsWith(*order, "True")) {
    CopyFortran(values.data(), tensor->type().shape, static_cast<size_t>(SizeOf(found->dtype)), to);
  } else {
    std::memcpy(to, values.data(), values.size());
  }
  if (found->dtype == DType::kBool) {
    for (int64_t i = 0; i < size; ++i) to[i] = to[i] != 0 ? 1 : 0;
  }
  return tensor;
}

absl::StatusOr<std::string> SerializeNpy(const Tensor& tensor) {
  const char* descr = nullptr;
  for (const Descriptor& known : kDescriptors) {
    if (known.dtype == tensor.dtype()) descr = known.text;
  }
  if (descr == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: NumPy has no ", tensor.type().ToString()));
  }
  const Shape& shape = tensor.type().shape;
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(shape, ", "), shape.size() == 1 ? "," : "", "), }");
  const size_t before = kMagic.size() + 4;
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header.push_back('\n');
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(static_cast<const char*>(tensor.raw()), tensor.type().num_bytes());
  return bytes;
}

}  // namespace lemma::api
