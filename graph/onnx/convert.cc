#include "graph/onnx/convert.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/file.h"
#include "graph/dtypes/packed_values.h"

namespace lemma {
namespace {

using onnx::TensorProto;

struct TypePair {
  DType ours;
  TensorProto::DataType onnx;
};
constexpr TypePair kTypes[] = {
    {DType::kF32, TensorProto::FLOAT},   {DType::kF64, TensorProto::DOUBLE},
    {DType::kF16, TensorProto::FLOAT16}, {DType::kBF16, TensorProto::BFLOAT16},
    {DType::kI64, TensorProto::INT64},   {DType::kI32, TensorProto::INT32},
    {DType::kI8, TensorProto::INT8},     {DType::kU8, TensorProto::UINT8},
    {DType::kBool, TensorProto::BOOL},   {DType::kI16, TensorProto::INT16},
    {DType::kU16, TensorProto::UINT16},  {DType::kU32, TensorProto::UINT32},
    {DType::kU64, TensorProto::UINT64},
};

// ONNX's numbers, since some types are newer than the headers, and the opaque types.
struct NumberPair {
  DType ours;
  int32_t onnx;
};
constexpr NumberPair kNewerTypes[] = {
    {DType::kString, 8},    {DType::kC64, 14},    {DType::kC128, 15},     {DType::kF8E4M3, 17},
    {DType::kF8E4M3Uz, 18}, {DType::kF8E5M2, 19}, {DType::kF8E5M2Uz, 20}, {DType::kU4, 21},
    {DType::kI4, 22},       {DType::kF4E2M1, 23}, {DType::kF8E8M0, 24},   {DType::kU2, 25},
    {DType::kI2, 26},
};

absl::Status WrongCount(const TensorType& type, int64_t count) {
  return absl::InvalidArgumentError(
      absl::StrCat(type.ToString(), " needs ", type.num_elements(), " values, has ", count));
}

template <class To, class Field>
absl::StatusOr<Tensor> FromField(const TensorType& type, const Field& field) {
  if (field.size() != type.num_elements()) return WrongCount(type, field.size());
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok()) return tensor;
  auto out = tensor->template mutable_data<To>();
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    const auto x = field.Get(static_cast<int>(i));
    out[i] = type.dtype == DType::kBool ? static_cast<To>(x != 0) : static_cast<To>(x);
  }
  return tensor;
}

// int32_data holds a byte in each number.
absl::StatusOr<Tensor> FromPackedField(const TensorType& type, const TensorProto& proto) {
  if (proto.int32_data_size() != PackedBytes(type)) {
    return absl::InvalidArgumentError(absl::StrCat(type.ToString(), " needs ", PackedBytes(type),
                                                   " packed values, has ",
                                                   proto.int32_data_size()));
  }
  std::string packed;
  for (const int32_t byte : proto.int32_data()) packed.push_back(static_cast<char>(byte));
  auto tensor = Tensor::Allocate(type);
  if (tensor.ok()) Unpack(type, packed.data(), tensor->mutable_raw());
  return tensor;
}

absl::StatusOr<Tensor> FromTypedField(const TensorType& type, const TensorProto& proto) {
  switch (type.dtype) {
    case DType::kF32:
      return FromField<float>(type, proto.float_data());
    case DType::kF64:
      return FromField<double>(type, proto.double_data());
    case DType::kI64:
      return FromField<int64_t>(type, proto.int64_data());
    case DType::kI32:
      return FromField<int32_t>(type, proto.int32_data());
    case DType::kI8:
      return FromField<int8_t>(type, proto.int32_data());
    case DType::kU8:
    case DType::kF8E4M3:
    case DType::kF8E4M3Uz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Uz:
    case DType::kF8E8M0:
      return FromField<uint8_t>(type, proto.int32_data());
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
    case DType::kF4E2M1:
      return FromPackedField(type, proto);
    case DType::kBool:
      return FromField<uint8_t>(type, proto.int32_data());
    case DType::kI16:
      return FromField<int16_t>(type, proto.int32_data());
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16:
      return FromField<uint16_t>(type, proto.int32_data());
    case DType::kU32:
      return FromField<uint32_t>(type, proto.uint64_data());
    case DType::kU64:
      return FromField<uint64_t>(type, proto.uint64_data());
    default:
      return absl::UnimplementedError(
          absl::StrCat("unsupported: values of element type ", Name(type.dtype)));
  }
  return absl::InternalError("element type");
}

absl::Status WrongBytes(const TensorType& type, int64_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat(type.ToString(), " needs ", PackedBytes(type), " bytes, has ", bytes));
}

// Replaces bools other than 0 and 1, which kernels would see.
void NormalizeBools(Tensor* tensor) {
  if (tensor->dtype() != DType::kBool) return;
  for (uint8_t& b : tensor->mutable_data<uint8_t>()) b = b != 0;
}

// Fills the tensor from values in the layout of raw_data.
void CopyRaw(const void* raw, Tensor* tensor) {
  if (tensor->size() == 0) return;
  if (IsPacked(tensor->dtype())) return Unpack(tensor->type(), raw, tensor->mutable_raw());
  std::memcpy(tensor->mutable_raw(), raw, static_cast<size_t>(tensor->type().num_bytes()));
  NormalizeBools(tensor);
}

struct ExternalRange {
  std::string path;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

// The place of external data, after a check that it is inside `directory`.
absl::StatusOr<ExternalRange> FindExternal(const TensorProto& proto, const std::string& directory) {
  namespace fs = std::filesystem;
  ExternalRange range;
  std::string location;
  for (const auto& entry : proto.external_data()) {
    int64_t number = 0;
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (!absl::SimpleAtoi(entry.value(), &number) || number < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("external data: ", entry.key(), " \"", entry.value(), "\" is no size"));
      }
      if (entry.key() == "offset") {
        range.offset = number;
      } else {
        range.length = number;
      }
    }
  }
  if (directory.empty()) {
    return absl::InvalidArgumentError("external data need a model that is read from a file");
  }
  fs::path relative(location);
  bool leaves = location.empty() || relative.is_absolute();
  for (const fs::path& part : relative) leaves |= part == "..";
  std::error_code error;
  fs::path root = fs::weakly_canonical(directory, error);
  fs::path file = fs::weakly_canonical(root / relative, error);
  // A link may also lead outside.
  auto [root_end, file_end] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (leaves || error || root_end != root.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data: location \"", location, "\" is not below the model's folder"));
  }
  range.path = file.string();
  return range;
}

// Whether every bool is 0 or 1.
bool AreNormal(const TensorType& type, const void* data) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  return type.dtype != DType::kBool ||
         std::all_of(bytes, bytes + type.num_elements(), [](uint8_t b) { return b <= 1; });
}

// A tensor of bytes of the type's size, which it shares if it can.
absl::StatusOr<Tensor> FromRaw(const TensorType& type, const RawBytes& raw) {
  const auto address = reinterpret_cast<uintptr_t>(raw.data.get());
  if (raw.size >= kMinSharedBytes && !IsOpaque(type.dtype) && !IsPacked(type.dtype) &&
      address % static_cast<uintptr_t>(SizeOf(type.dtype)) == 0 &&
      AreNormal(type, raw.data.get())) {
    return Tensor::Borrowed(type, raw.data);
  }
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok()) return tensor;
  CopyRaw(raw.data.get(), &*tensor);
  return tensor;
}

absl::StatusOr<Tensor> FromExternal(const TensorType& type, const TensorProto& proto,
                                    TensorFiles* files) {
  auto range = FindExternal(proto, files->folder());
  if (!range.ok()) return range.status();
  auto size = FileSize(range->path);
  if (!size.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("external data: ", size.status().message()));
  }
  int64_t rest = range->offset <= *size ? *size - range->offset : 0;
  int64_t length = range->length.value_or(rest);
  if (length != PackedBytes(type)) return WrongBytes(type, length);
  if (length > rest) {
    return absl::InvalidArgumentError(absl::StrCat("external data: ", range->path, " has ", *size,
                                                   " bytes, ", length, " from byte ", range->offset,
                                                   " on are needed"));
  }
  if (length >= kMinSharedBytes) {
    auto file = files->Map(range->path);
    // The file may have changed since its size was read.
    if (file.ok() && static_cast<int64_t>((*file)->bytes().size()) >= range->offset + length) {
      const char* data = (*file)->bytes().data() + range->offset;
      return FromRaw(type, {std::shared_ptr<const void>(*file, data), length});
    }
  }
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok()) return tensor;
  std::string bytes(IsPacked(type.dtype) ? static_cast<size_t>(length) : 0, '\0');
  void* into = bytes.empty() ? tensor->mutable_raw() : bytes.data();
  auto status = ReadFileRange(range->path, range->offset, length, into);
  if (!status.ok()) return status;
  if (!bytes.empty()) Unpack(type, bytes.data(), tensor->mutable_raw());
  NormalizeBools(&*tensor);
  return tensor;
}

}  // namespace

int32_t ToOnnxType(DType dtype) {
  for (const TypePair& pair : kTypes) {
    if (pair.ours == dtype) return pair.onnx;
  }
  for (const NumberPair& pair : kNewerTypes) {
    if (pair.ours == dtype) return pair.onnx;
  }
  return TensorProto::UNDEFINED;
}

absl::StatusOr<DType> FromOnnxType(int32_t onnx_type) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == onnx_type) return pair.ours;
  }
  for (const NumberPair& pair : kNewerTypes) {
    if (pair.onnx == onnx_type) return pair.ours;
  }
  return absl::UnimplementedError(absl::StrCat(
      "unsupported: element type ",
      onnx_type == TensorProto::UNDEFINED ? "undefined" : absl::StrCat("number ", onnx_type)));
}

absl::StatusOr<std::shared_ptr<const MappedFile>> TensorFiles::Map(const std::string& path) {
  std::shared_ptr<const MappedFile>& file = files_[path];
  if (file != nullptr) return file;
  auto opened = MappedFile::Open(path);
  if (!opened.ok()) return opened.status();
  return file = *std::move(opened);
}

std::vector<std::shared_ptr<const MappedFile>> TensorFiles::mapped() const {
  std::vector<std::shared_ptr<const MappedFile>> all;
  for (const auto& [path, file] : files_) {
    if (file != nullptr) all.push_back(file);
  }
  return all;
}

absl::StatusOr<Tensor> ToTensor(const TensorProto& proto, TensorFiles* files, const RawBytes& raw) {
  auto dtype = FromOnnxType(proto.data_type());
  if (!dtype.ok()) return dtype.status();
  TensorType type{*dtype, Shape(proto.dims().begin(), proto.dims().end())};
  for (int64_t d : type.shape) {
    if (d < 0) return absl::InvalidArgumentError(absl::StrCat(type.ToString(), ": negative size"));
  }
  if (proto.has_segment()) return absl::UnimplementedError("unsupported: tensor segments");
  if (proto.data_location() == TensorProto::EXTERNAL) return FromExternal(type, proto, files);
  if (raw.data != nullptr) {
    if (raw.size != PackedBytes(type)) return WrongBytes(type, raw.size);
    return FromRaw(type, raw);
  }
  if (!proto.has_raw_data()) return FromTypedField(type, proto);
  const std::string& own = proto.raw_data();
  if (static_cast<int64_t>(own.size()) != PackedBytes(type)) {
    return WrongBytes(type, static_cast<int64_t>(own.size()));
  }
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok()) return tensor;
  CopyRaw(own.data(), &*tensor);
  return tensor;
}

absl::StatusOr<Tensor> ToTensor(const TensorProto& proto, const std::string& folder) {
  TensorFiles files(folder);
  return ToTensor(proto, &files);
}

TensorProto ToProto(absl::string_view name, const Tensor& tensor) {
  TensorProto proto;
  proto.set_name(std::string(name));
  proto.set_data_type(ToOnnxType(tensor.dtype()));
  for (int64_t d : tensor.shape()) proto.add_dims(d);
  if (IsPacked(tensor.dtype())) {
    proto.set_raw_data(Packed(tensor));
  } else {
    proto.set_raw_data(tensor.raw(), static_cast<size_t>(tensor.type().num_bytes()));
  }
  return proto;
}

}  // namespace lemma
