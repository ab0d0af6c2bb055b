#include "runtime/onnxruntime/ort_session.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/dtypes/packed_values.h"

namespace lemma::ort {
namespace {

// The library's number of an element type, which is ONNX's.
struct ElementTypeNumber {
  DType dtype;
  int number;
};
constexpr ElementTypeNumber kElementTypes[] = {
    {DType::kF32, 1},       {DType::kU8, 2},      {DType::kI8, 3},        {DType::kU16, 4},
    {DType::kI16, 5},       {DType::kI32, 6},     {DType::kI64, 7},       {DType::kBool, 9},
    {DType::kF16, 10},      {DType::kF64, 11},    {DType::kU32, 12},      {DType::kU64, 13},
    {DType::kBF16, 16},     {DType::kF8E4M3, 17}, {DType::kF8E4M3Uz, 18}, {DType::kF8E5M2, 19},
    {DType::kF8E5M2Uz, 20}, {DType::kU4, 21},     {DType::kI4, 22},       {DType::kF4E2M1, 23},
    {DType::kF8E8M0, 24},   {DType::kU2, 25},     {DType::kI2, 26}};

std::optional<int> NumberOf(DType dtype) {
  for (const ElementTypeNumber& entry : kElementTypes) {
    if (entry.dtype == dtype) return entry.number;
  }
  return std::nullopt;
}

std::optional<DType> DTypeOf(int number) {
  for (const ElementTypeNumber& entry : kElementTypes) {
    if (entry.number == number) return entry.dtype;
  }
  return std::nullopt;
}

// Copies a tensor out of the library.
absl::StatusOr<Tensor> CopyOf(const Library& library, ApiValue* value) {
  const Functions& f = library.api();
  ShapeInfo* info = nullptr;
  if (absl::Status s = library.Take(f.TypeAndShape(value, &info)); !s.ok()) return s;
  const std::unique_ptr<ShapeInfo, void (*)(ShapeInfo*)> owner(info, f.ReleaseShapeInfo);
  int type = 0;
  size_t rank = 0;
  absl::Status s = library.Take(f.ElementType(info, &type));
  if (s.ok()) s = library.Take(f.Rank(info, &rank));
  Shape shape(rank);
  if (s.ok()) s = library.Take(f.Dimensions(info, shape.data(), rank));
  if (!s.ok()) return s;
  const std::optional<DType> dtype = DTypeOf(type);
  if (!dtype) {
    return absl::UnimplementedError(
        absl::StrCat("ONNX Runtime gave a tensor of the element type ", type));
  }
  auto tensor = Tensor::Allocate({*dtype, std::move(shape)});
  if (!tensor.ok() || tensor->size() == 0) return tensor;
  void* data = nullptr;
  if (absl::Status taken = library.Take(f.TensorData(value, &data)); !taken.ok()) return taken;
  if (IsPacked(*dtype)) {
    Unpack(tensor->type(), data, tensor->mutable_raw());
  } else {
    std::memcpy(tensor->mutable_raw(), data, static_cast<size_t>(tensor->type().num_bytes()));
  }
  return tensor;
}

std::vector<const char*> PointersTo(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

}  // namespace

class LoadedModel::Values {
 public:
  Values(const Library* library, size_t count) : library_(library), values_(count) {}
  ~Values() {
    for (ApiValue* value : values_) library_->api().ReleaseValue(value);
  }
  Values(const Values&) = delete;

  std::vector<ApiValue*>& all() { return values_; }

 private:
  const Library* const library_;
  std::vector<ApiValue*> values_;
};

LoadedModel::LoadedModel(const Library* library, std::vector<std::string> inputs,
                         std::vector<std::string> outputs)
    : library_(library),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      input_names_(PointersTo(inputs_)),
      output_names_(PointersTo(outputs_)) {}

LoadedModel::~LoadedModel() { library_->api().ReleaseSession(session_); }

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::Create(const Library* library,
                                                                 absl::string_view model,
                                                                 std::vector<std::string> inputs,
                                                                 std::vector<std::string> outputs,
                                                                 const LoadSettings& settings) {
  const Functions& f = library->api();
  SessionOptions* options = nullptr;
  if (absl::Status s = library->Take(f.CreateSessionOptions(&options)); !s.ok()) return s;
  const std::unique_ptr<SessionOptions, void (*)(SessionOptions*)> owner(options,
                                                                         f.ReleaseSessionOptions);
  absl::Status s = library->Take(f.SetIntraOpThreads(options, settings.threads));
  if (s.ok()) s = library->Take(f.SetInterOpThreads(options, 1));
  if (s.ok()) {
    s = library->Take(f.SetOptimizationLevel(options, static_cast<int>(settings.level)));
  }
  // Threads of a session that waits would take the processor from another one that is timed.
  if (s.ok()) s = library->Take(f.AddConfigEntry(options, "session.force_spinning_stop", "1"));
  if (s.ok() && !settings.optimized_model.empty()) {
    s = library->Take(f.SetOptimizedModelPath(options, settings.optimized_model.c_str()));
  }
  if (!s.ok()) return s;
  std::unique_ptr<LoadedModel> loaded(
      new LoadedModel(library, std::move(inputs), std::move(outputs)));
  s = library->Take(f.CreateSession(library->environment(), model.data(), model.size(), options,
                                    &loaded->session_));
  if (!s.ok()) return s;
  return loaded;
}

absl::Status LoadedModel::Execute(absl::Span<const Tensor> inputs, Values* outputs) {
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", inputs_.size(), " inputs; got ", inputs.size()));
  }
  const Functions& f = library_->api();
  Values values(library_, inputs.size());
  std::vector<Tensor> given;  // as long as the library reads them
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    given.push_back(FileBytes(t));
    const std::optional<int> type = NumberOf(t.dtype());
    if (!type) {
      return absl::UnimplementedError(
          absl::StrCat("input ", inputs_[i], ": ONNX Runtime gets no ", Name(t.dtype())));
    }
    // The library takes a pointer to mutable data and only reads them.
    absl::Status s =
        library_->Take(f.CreateTensor(library_->cpu_memory(), const_cast<void*>(given[i].raw()),
                                      static_cast<size_t>(given[i].type().num_bytes()),
                                      t.shape().data(), t.shape().size(), *type, &values.all()[i]));
    if (!s.ok()) return s;
  }
  return library_->Take(f.Run(session_, nullptr, input_names_.data(), values.all().data(),
                              inputs.size(), output_names_.data(), outputs_.size(),
                              outputs->all().data()));
}

absl::StatusOr<std::vector<Tensor>> LoadedModel::Run(absl::Span<const Tensor> inputs) {
  Values outputs(library_, outputs_.size());
  if (absl::Status s = Execute(inputs, &outputs); !s.ok()) return s;
  std::vector<Tensor> tensors;
  for (ApiValue* value : outputs.all()) {
    auto tensor = CopyOf(*library_, value);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

absl::Status LoadedModel::RunOnly(absl::Span<const Tensor> inputs) {
  Values outputs(library_, outputs_.size());
  return Execute(inputs, &outputs);
}

}  // namespace lemma::ort
