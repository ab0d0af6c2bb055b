#include "graph/safetensors.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace lemma {
namespace {

using Object = google::protobuf::Struct;
using JsonValue = google::protobuf::Value;

constexpr char kMetadata[] = "__metadata__";
constexpr int64_t kMaxHeader = 100'000'000;  // the format's own limit

// In the order of DType. The format has no names for some types.
constexpr const char* kTypeNames[] = {
    "F32", "F64",     "F16", "BF16",    "I64", "I32",     "I8", "U8", "BOOL", "I16", "U16", "U32",
    "U64", "F8_E4M3", "",    "F8_E5M2", "",    "F8_E8M0", "",   "",   "",     "",    ""};
static_assert(sizeof(kTypeNames) / sizeof(kTypeNames[0]) == kNumDTypes);

const char* TypeName(DType dtype) { return kTypeNames[static_cast<int>(dtype)]; }

std::optional<DType> ParseTypeName(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == kTypeNames[i] && !name.empty()) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// A tensor's place, counted from the end of the header.
struct Entry {
  std::string name;
  TensorType type;
  int64_t begin = 0, end = 0;
};

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("no valid safetensors file: ", what));
}

const JsonValue* Find(const Object& object, const std::string& key) {
  auto it = object.fields().find(key);
  return it == object.fields().end() ? nullptr : &it->second;
}

// A list of whole numbers from 0 to 2^53.
std::optional<std::vector<int64_t>> Counts(const JsonValue* value) {
  if (value == nullptr || !value->has_list_value()) return std::nullopt;
  std::vector<int64_t> counts;
  for (const JsonValue& element : value->list_value().values()) {
    const double number = element.number_value();
    if (element.kind_case() != JsonValue::kNumberValue || !(number >= 0) || number > 0x1p53 ||
        number != std::floor(number)) {
      return std::nullopt;
    }
    counts.push_back(static_cast<int64_t>(number));
  }
  return counts;
}

absl::StatusOr<Entry> ReadEntry(const std::string& name, const JsonValue& value) {
  auto bad = [&](absl::string_view what) { return Bad(absl::StrCat("tensor ", name, ": ", what)); };
  if (!value.has_struct_value()) return bad("its description is no object");
  const JsonValue* type_name = Find(value.struct_value(), "dtype");
  if (type_name == nullptr) return bad("no dtype");
  const std::optional<DType> dtype = ParseTypeName(type_name->string_value());
  if (!dtype) {
    std::vector<absl::string_view> known(std::begin(kTypeNames), std::end(kTypeNames));
    known.erase(std::remove(known.begin(), known.end(), ""), known.end());
    return bad(absl::StrCat("dtype \"", type_name->string_value(), "\"; known are ",
                            absl::StrJoin(known, ", ")));
  }
  const auto shape = Counts(Find(value.struct_value(), "shape"));
  if (!shape) return bad("shape is no list of sizes");
  const auto offsets = Counts(Find(value.struct_value(), "data_offsets"));
  if (!offsets || offsets->size() != 2) return bad("data_offsets are not two numbers");
  Entry entry{name, {*dtype, *shape}, (*offsets)[0], (*offsets)[1]};
  if (entry.end - entry.begin != entry.type.num_bytes()) {
    return bad(absl::StrCat(entry.type.ToString(), " takes ", entry.type.num_bytes(),
                            " bytes, data_offsets give ", entry.end - entry.begin));
  }
  return entry;
}

// All entries sorted by position. They must be contiguous up to `data_bytes`.
absl::StatusOr<std::vector<Entry>> ReadEntries(const Object& header, int64_t data_bytes) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.fields()) {
    if (name == kMetadata) continue;
    LEMMA_ASSIGN_OR_RETURN(Entry entry, ReadEntry(name, value));
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t position = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != position) {
      return Bad(absl::StrCat("tensor ", entry.name, " begins at byte ", entry.begin,
                              " of the data, ", position, " is where the one before it ends"));
    }
    position = entry.end;
  }
  if (position != data_bytes) {
    return Bad(absl::StrCat("the tensors take ", position, " bytes, the file has ", data_bytes));
  }
  return entries;
}

absl::StatusOr<std::map<std::string, std::string>> ReadMetadata(const Object& header) {
  std::map<std::string, std::string> metadata;
  const JsonValue* value = Find(header, kMetadata);
  if (value == nullptr) return metadata;
  if (!value->has_struct_value()) return Bad("the metadata are no object");
  for (const auto& [key, text] : value->struct_value().fields()) {
    if (text.kind_case() != JsonValue::kStringValue) {
      return Bad(absl::StrCat("metadata ", key, " is no string"));
    }
    metadata[key] = text.string_value();
  }
  return metadata;
}

// Checks that bools are stored as 0 and 1; readers of the tensor rely on this.
absl::Status CheckTruthValues(const Entry& entry, const Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return absl::OkStatus();
  for (uint8_t byte : tensor.data<uint8_t>()) {
    if (byte > 1) return Bad(absl::StrCat("tensor ", entry.name, " has a truth value ", byte));
  }
  return absl::OkStatus();
}

// Whether lists and objects are nested at most as deep as in the format, plus room for extensions.
// The JSON reader would take more than linear time on deeper nesting.
bool IsFlat(absl::string_view json) {
  constexpr int kMaxDepth = 16;
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '[' || c == '{')) {
      if (++depth > kMaxDepth) return false;
    } else if (!in_text && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return true;
}

absl::StatusOr<NamedTensors> Read(const std::string& path) {
  LEMMA_ASSIGN_OR_RETURN(const int64_t file_bytes, FileSize(path));
  uint64_t header_bytes = 0;
  if (file_bytes < 8) return Bad("it is shorter than 8 bytes");
  LEMMA_RETURN_IF_ERROR(ReadFileRange(path, 0, 8, &header_bytes));
  if (header_bytes > kMaxHeader || static_cast<int64_t>(header_bytes) > file_bytes - 8) {
    return Bad(absl::StrCat("its header of ", header_bytes, " bytes does not fit into the file"));
  }
  std::string text(header_bytes, '\0');
  LEMMA_RETURN_IF_ERROR(ReadFileRange(path, 8, static_cast<int64_t>(header_bytes), text.data()));
  Object header;
  if (!IsFlat(text)) return Bad("its header nests lists or objects too deeply");
  if (!google::protobuf::util::JsonStringToMessage(text, &header).ok()) {
    return Bad("its header is no JSON object");
  }
  const int64_t data = 8 + static_cast<int64_t>(header_bytes);
  NamedTensors contents;
  LEMMA_ASSIGN_OR_RETURN(contents.metadata, ReadMetadata(header));
  LEMMA_ASSIGN_OR_RETURN(auto entries, ReadEntries(header, file_bytes - data));
  for (const Entry& entry : entries) {
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(entry.type));
    LEMMA_RETURN_IF_ERROR(
        ReadFileRange(path, data + entry.begin, entry.end - entry.begin, tensor.mutable_raw()));
    LEMMA_RETURN_IF_ERROR(CheckTruthValues(entry, tensor));
    contents.tensors.emplace(entry.name, std::move(tensor));
  }
  return contents;
}

std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The header with its length in front, padded so that the data begin at a multiple of 8.
std::string Header(const std::vector<Entry>& entries,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) {
    auto pair = [](std::string* out, const std::pair<const std::string, std::string>& p) {
      absl::StrAppend(out, Quoted(p.first), ":", Quoted(p.second));
    };
    members.push_back(
        absl::StrCat(Quoted(kMetadata), ":{", absl::StrJoin(metadata, ",", pair), "}"));
  }
  for (const Entry& entry : entries) {
    members.push_back(absl::StrCat(Quoted(entry.name), ":{\"dtype\":\"", TypeName(entry.type.dtype),
                                   "\",\"shape\":[", absl::StrJoin(entry.type.shape, ","),
                                   "],\"data_offsets\":[", entry.begin, ",", entry.end, "]}"));
  }
  std::string text = absl::StrCat("{", absl::StrJoin(members, ","), "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  return header + text;
}

}  // namespace

absl::StatusOr<NamedTensors> ReadSafetensors(const std::string& path) {
  auto contents = Read(path);
  if (contents.ok() || absl::StrContains(contents.status().message(), path)) return contents;
  return absl::Status(contents.status().code(),
                      absl::StrCat(path, ": ", contents.status().message()));
}

absl::StatusOr<StagedFile> StageSafetensors(const std::string& path, const NamedTensors& contents) {
  std::vector<Entry> entries;
  for (const auto& [name, tensor] : contents.tensors) {
    if (name == kMetadata) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": no tensor can be named ", name));
    }
    if (TypeName(tensor.dtype())[0] == '\0') {
      return absl::UnimplementedError(
          absl::StrCat(path, ": tensor ", name, ": safetensors has no ", Name(tensor.dtype())));
    }
    entries.push_back({name, tensor.type()});
  }
  // Widest elements first, so that every tensor is aligned to its elements.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return SizeOf(a.type.dtype) > SizeOf(b.type.dtype);
  });
  int64_t position = 0;
  for (Entry& entry : entries) {
    entry.begin = position;
    entry.end = position += entry.type.num_bytes();
  }
  const std::string header = Header(entries, contents.metadata);
  std::vector<absl::string_view> pieces = {header};
  for (const Entry& entry : entries) {
    const Tensor& tensor = contents.tensors.at(entry.name);
    pieces.emplace_back(static_cast<const char*>(tensor.raw()),
                        static_cast<size_t>(entry.end - entry.begin));
  }
  return StagedFile::Write(path, pieces);
}

absl::Status WriteSafetensors(const std::string& path, const NamedTensors& contents) {
  auto staged = StageSafetensors(path, contents);
  return staged.ok() ? staged->Commit() : staged.status();
}

}  // namespace lemma
