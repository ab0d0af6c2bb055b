#include "graph/onnx/export/inline_values.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

namespace lemma {
namespace {

using google::protobuf::internal::WireFormatLite;

struct Field {
  int number = 0;
  absl::string_view bytes;    // all of it
  absl::string_view message;  // what it holds, if its length is written before it
};

// The fields of a message that protobuf has serialized.
std::vector<Field> FieldsOf(absl::string_view message) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  std::vector<Field> fields;
  for (int begin = 0; const uint32_t tag = in.ReadTag(); begin = in.CurrentPosition()) {
    Field field;
    field.number = WireFormatLite::GetTagFieldNumber(tag);
    uint32_t length = 0;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      in.ReadVarint32(&length);
      field.message = message.substr(static_cast<size_t>(in.CurrentPosition()), length);
      in.Skip(static_cast<int>(length));
    } else {
      WireFormatLite::SkipField(&in, tag);
    }
    field.bytes = message.substr(static_cast<size_t>(begin),
                                 static_cast<size_t>(in.CurrentPosition() - begin));
    fields.push_back(field);
  }
  return fields;
}

// What stands before the bytes of a field with a length.
std::string Header(int number, size_t length) {
  std::string header;
  google::protobuf::io::StringOutputStream stream(&header);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint64(length);
  out.Trim();
  return header;
}

class Writer {
 public:
  Writer(const std::vector<Tensor>& values, std::deque<std::string>* headers)
      : values_(values), headers_(headers) {}

  std::vector<absl::string_view> Model(absl::string_view model) {
    Pieces pieces;
    for (const Field& field : FieldsOf(model)) {
      if (field.number == onnx::ModelProto::kGraphFieldNumber) {
        pieces.Add(Nested(field.number, Graph(field.message)));
      } else {
        pieces.Add(field.bytes);
      }
    }
    return std::move(pieces.list);
  }

 private:
  struct Pieces {
    std::vector<absl::string_view> list;
    size_t bytes = 0;

    void Add(absl::string_view piece) {
      list.push_back(piece);
      bytes += piece.size();
    }
    void Add(const Pieces& more) {
      list.insert(list.end(), more.list.begin(), more.list.end());
      bytes += more.bytes;
    }
  };

  Pieces Nested(int number, const Pieces& message) {
    Pieces pieces;
    pieces.Add(headers_->emplace_back(Header(number, message.bytes)));
    pieces.Add(message);
    return pieces;
  }

  Pieces Graph(absl::string_view graph) {
    Pieces pieces;
    for (const Field& field : FieldsOf(graph)) {
      if (field.number == onnx::GraphProto::kInitializerFieldNumber) {
        pieces.Add(Nested(field.number, Initializer(field.message, values_[next_++])));
      } else {
        pieces.Add(field.bytes);
      }
    }
    return pieces;
  }

  // Protobuf writes fields by their numbers.
  Pieces Initializer(absl::string_view initializer, const Tensor& value) {
    constexpr int kRaw = onnx::TensorProto::kRawDataFieldNumber;
    Pieces before, after;
    for (const Field& field : FieldsOf(initializer)) {
      (field.number < kRaw ? before : after).Add(field.bytes);
    }
    if (!value.empty_handle()) {
      const auto bytes = static_cast<size_t>(value.type().num_bytes());
      before.Add(headers_->emplace_back(Header(kRaw, bytes)));
      before.Add(absl::string_view(static_cast<const char*>(value.raw()), bytes));
    }
    before.Add(after);
    return before;
  }

  const std::vector<Tensor>& values_;
  std::deque<std::string>* const headers_;
  size_t next_ = 0;
};

}  // namespace

std::vector<absl::string_view> WithInlineValues(absl::string_view model,
                                                const std::vector<Tensor>& values,
                                                std::deque<std::string>* headers) {
  return Writer(values, headers).Model(model);
}

}  // namespace lemma
