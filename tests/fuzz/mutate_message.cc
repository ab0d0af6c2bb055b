#include "tests/fuzz/mutate_message.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace lemma::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  void Change(Message* root) {
    messages_.clear();
    strings_.clear();
    Collect(root, 0);
    Message* message = messages_[Below(messages_.size())];
    if (message->GetDescriptor()->field_count() == 0) return;
    if (Below(6) == 0 && CopyAnother(message)) return;
    // Prefers fields that are present.
    std::vector<const FieldDescriptor*> present;
    message->GetReflection()->ListFields(*message, &present);
    const int fields = message->GetDescriptor()->field_count();
    const FieldDescriptor* field =
        !present.empty() && Below(4) != 0
            ? present[Below(present.size())]
            : message->GetDescriptor()->field(static_cast<int>(Below(static_cast<size_t>(fields))));
    if (field->is_repeated()) {
      ChangeRepeated(message, field);
    } else if (message->GetReflection()->HasField(*message, field) && Below(4) == 0) {
      message->GetReflection()->ClearField(message, field);
    } else {
      Set(message, field, -1);
    }
  }

  size_t Below(size_t n) { return random_() % n; }

 private:
  void Collect(Message* message, int depth) {
    messages_.push_back(message);
    if (depth > 20) return;
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int n = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < n; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                       : reflection->MutableMessage(message, field),
                  depth + 1);
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          strings_.push_back(field->is_repeated()
                                 ? reflection->GetRepeatedString(*message, field, i)
                                 : reflection->GetString(*message, field));
        }
      }
    }
  }

  bool CopyAnother(Message* message) {
    std::vector<const Message*> alike;
    for (const Message* other : messages_) {
      if (other != message && other->GetDescriptor() == message->GetDescriptor()) {
        alike.push_back(other);
      }
    }
    if (alike.empty()) return false;
    const std::unique_ptr<Message> copy(message->New());  // one may contain the other
    copy->CopyFrom(*alike[Below(alike.size())]);
    message->CopyFrom(*copy);
    return true;
  }

  void ChangeRepeated(Message* message, const FieldDescriptor* field) {
    const Reflection* reflection = message->GetReflection();
    const int n = reflection->FieldSize(*message, field);
    const size_t kind = n == 0 ? 0 : Below(5);
    const int at = n == 0 ? 0 : static_cast<int>(Below(static_cast<size_t>(n)));
    if (kind == 0) {
      Set(message, field, n);
    } else if (kind == 1) {
      reflection->SwapElements(message, field, at, n - 1);
      reflection->RemoveLast(message, field);
    } else if (kind == 2) {
      reflection->SwapElements(message, field, at, static_cast<int>(Below(static_cast<size_t>(n))));
    } else {
      Set(message, field, at);
    }
  }

  int64_t Integer(int64_t old) {
    static const int64_t kKnown[] = {0,
                                     1,
                                     2,
                                     3,
                                     -1,
                                     -2,
                                     7,
                                     64,
                                     65536,
                                     std::numeric_limits<int32_t>::max(),
                                     std::numeric_limits<int32_t>::min(),
                                     int64_t{1} << 32,
                                     int64_t{1} << 61,
                                     int64_t{1} << 62,
                                     std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min()};
    switch (Below(4)) {
      case 0:
        return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
      case 1:
        return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
      case 2:
        return static_cast<int64_t>(Below(20));
      default:
        return kKnown[Below(std::size(kKnown))];
    }
  }

  double Real() {
    static const double kKnown[] = {0.0, -0.0, 1, -1, 0.5, 1e30, 1e308, 1e-320, NAN, INFINITY};
    return kKnown[Below(std::size(kKnown))];
  }

  std::string String(const std::string& old) {
    if (!strings_.empty() && Below(3) != 0) return strings_[Below(strings_.size())];
    std::string text = old;
    text.resize(old.size() + 16);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), old.size(), text.size()));
    return text;
  }

  // Sets element `i` of a repeated field, or appends it if `i` is the size; -1: a singular field.
  void Set(Message* message, const FieldDescriptor* field, int i) {
    const Reflection* r = message->GetReflection();
    const bool one = i < 0;
    const bool add = !one && i == r->FieldSize(*message, field);
#define LEMMA_SET(TYPE, VALUE)                                        \
  {                                                                   \
    if (one) r->Set##TYPE(message, field, VALUE);                     \
    if (add) r->Add##TYPE(message, field, VALUE);                     \
    if (!one && !add) r->SetRepeated##TYPE(message, field, i, VALUE); \
    break;                                                            \
  }
#define LEMMA_GET(TYPE, NONE) \
  (one ? r->Get##TYPE(*message, field) : add ? NONE : r->GetRepeated##TYPE(*message, field, i))
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        LEMMA_SET(Int32, static_cast<int32_t>(Integer(LEMMA_GET(Int32, 0))))
      case FieldDescriptor::CPPTYPE_UINT32:
        LEMMA_SET(UInt32, static_cast<uint32_t>(Integer(LEMMA_GET(UInt32, 0u))))
      case FieldDescriptor::CPPTYPE_INT64:
        LEMMA_SET(Int64, Integer(LEMMA_GET(Int64, 0)))
      case FieldDescriptor::CPPTYPE_UINT64:
        LEMMA_SET(UInt64,
                  static_cast<uint64_t>(Integer(static_cast<int64_t>(LEMMA_GET(UInt64, 0u)))))
      case FieldDescriptor::CPPTYPE_ENUM:
        LEMMA_SET(EnumValue, static_cast<int>(Below(24)))
      case FieldDescriptor::CPPTYPE_BOOL:
        LEMMA_SET(Bool, Below(2) == 0)
      case FieldDescriptor::CPPTYPE_FLOAT:
        LEMMA_SET(Float, static_cast<float>(Real()))
      case FieldDescriptor::CPPTYPE_DOUBLE:
        LEMMA_SET(Double, Real())
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string value = String(LEMMA_GET(String, ""));
        LEMMA_SET(String, value)
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (one) r->MutableMessage(message, field);
        if (add) CopyAnother(r->AddMessage(message, field));
        break;
    }
#undef LEMMA_SET
#undef LEMMA_GET
  }

  std::minstd_rand random_;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_;
};

}  // namespace

void MutateMessage(Message* message, unsigned seed) {
  Mutator mutator(seed);
  for (size_t n = 1 + mutator.Below(4); n > 0; --n) mutator.Change(message);
}

size_t MutateSerialized(Message* message, uint8_t* data, size_t size, size_t max_size,
                        unsigned seed) {
  // Sometimes mutates the plain bytes, to test the parser itself.
  if (seed % 16 == 0 || !message->ParsePartialFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  MutateMessage(message, seed);
  const std::string bytes = message->SerializePartialAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace lemma::fuzz
