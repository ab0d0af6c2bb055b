#include "graph/onnx/quantization/quantizable_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/quantization/find_operators.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/product_weights.h"
#include "graph/onnx/quantization/rewrite.h"

namespace lemma {

absl::StatusOr<QuantizableModel> QuantizableModel::Read(const std::string& path) {
  LEMMA_ASSIGN_OR_RETURN(auto file, MappedFile::Open(path));
  auto impl = std::make_shared<Impl>();
  impl->path = path;
  impl->folder = std::filesystem::path(path).parent_path().string();
  if (impl->folder.empty()) impl->folder = ".";
  const absl::string_view bytes = file->bytes();
  auto fail = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  };
  if (!LooksLikeOnnx(bytes)) return fail("not an ONNX model, and only these can be quantized");
  if (static_cast<int64_t>(bytes.size()) > kMaxProtoBytes ||
      !impl->proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !impl->proto.has_graph()) {
    return fail("the ONNX model is truncated or damaged");
  }
  if (const std::string already = QuantizedAlready(impl->proto); !already.empty()) {
    return fail(absl::StrCat("is quantized already: it has ", already));
  }
  impl->FindAll();
  return QuantizableModel(std::move(impl));
}

void QuantizableModel::Impl::FindAll() {
  index = std::make_unique<ModelIndex>(&proto, folder);
  FoundOperators found = FindOperators(*index);
  operators = std::move(found.operators);
  kept = std::move(found.kept);
}

const std::string& QuantizableModel::path() const { return impl_->path; }

absl::StatusOr<int64_t> QuantizableModel::BytesOnDisk() const {
  std::set<std::string> files = {impl_->path};
  for (const onnx::TensorProto& tensor : impl_->proto.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() != "location") continue;
      files.insert((std::filesystem::path(impl_->folder) / entry.value()).string());
    }
  }
  int64_t bytes = 0;
  for (const std::string& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const int64_t size, FileSize(file));
    bytes += size;
  }
  return bytes;
}

const std::vector<QuantizableOp>& QuantizableModel::operators() const { return impl_->operators; }
const std::vector<KeptOp>& QuantizableModel::kept() const { return impl_->kept; }

std::vector<std::string> QuantizableModel::NodeNames() const {
  std::vector<std::string> names;
  for (const auto& node : impl_->proto.graph().node()) names.push_back(NameOf(node));
  return names;
}

std::map<std::string, int> QuantizableModel::CountTypes() const {
  std::map<std::string, int> types;
  for (const auto& node : impl_->proto.graph().node()) {
    const bool is_constant = node.output_size() > 0 && impl_->index->IsConstant(node.output(0));
    if (!is_constant) ++types[node.op_type()];
  }
  return types;
}

std::vector<std::string> QuantizableModel::ValuesAfter(int op) const {
  std::vector<std::string> values;
  std::string value = impl_->operators[static_cast<size_t>(op)].result;
  for (int i = 0; i < 4; ++i) {
    const int reader = impl_->index->OnlyReaderOf(value);
    if (reader < 0 || impl_->proto.graph().node(reader).output_size() != 1) break;
    value = impl_->proto.graph().node(reader).output(0);
    values.push_back(value);
  }
  return values;
}

std::vector<std::string> QuantizableModel::TypesWith(int op) const {
  std::vector<std::string> types;
  for (const int position : impl_->operators[static_cast<size_t>(op)].followers) {
    types.push_back(impl_->proto.graph().node(position).op_type());
  }
  return types;
}

namespace {

// The model with more outputs.
onnx::ModelProto WithOutputs(onnx::ModelProto model, const std::vector<std::string>& values) {
  std::map<std::string, onnx::ValueInfoProto> declared;
  std::set<std::string> outputs;
  for (const auto& info : model.graph().value_info()) declared.emplace(info.name(), info);
  for (const auto& output : model.graph().output()) outputs.insert(output.name());
  for (const std::string& name : values) {
    if (!outputs.insert(name).second) continue;
    auto* output = model.mutable_graph()->add_output();
    auto known = declared.find(name);
    if (known != declared.end()) *output = known->second;
    output->set_name(name);
  }
  return model;
}

}  // namespace

absl::StatusOr<ImportedModel> QuantizableModel::Import(const std::vector<std::string>& values,
                                                       const ImportOptions& options) const {
  onnx::ModelProto model = WithOutputs(impl_->proto, values);
  return ImportProto(&model, impl_->path, impl_->folder, options);
}

absl::StatusOr<ImportedModel> QuantizableModel::ImportInputs(const ImportOptions& options) const {
  onnx::ModelProto model = impl_->proto;
  onnx::GraphProto* graph = model.mutable_graph();
  std::set<std::string> initializers;
  for (const onnx::TensorProto& tensor : graph->initializer()) initializers.insert(tensor.name());
  graph->clear_node();
  graph->clear_output();
  for (const onnx::ValueInfoProto& input : graph->input()) {
    // Up to IR version 3, weights are inputs too.
    if (model.ir_version() >= 4 || initializers.count(input.name()) == 0) {
      *graph->add_output() = input;
    }
  }
  return ImportProto(&model, impl_->path, impl_->folder, options);
}

std::vector<bool> QuantizableModel::Settled(std::vector<bool> chosen) const {
  const std::vector<QuantizableOp>& ops = impl_->operators;
  for (bool changes = true; changes;) {
    changes = false;
    const std::set<std::string> results = ResultsOf(ops, chosen);
    const std::set<std::string> read = ReadsOf(ops, chosen);
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!chosen[i] || ops[i].role == QuantizedRole::kProduct) continue;
      const bool is_fed = std::all_of(ops[i].reads.begin(), ops[i].reads.end(),
                                      [&](const auto& name) { return results.count(name) > 0; });
      const bool is_read =
          ops[i].role != QuantizedRole::kSelection || read.count(ops[i].result) > 0;
      if (is_fed && is_read) continue;
      chosen[i] = false;
      changes = true;
    }
  }
  return chosen;
}

std::set<std::string> QuantizableModel::WrittenBy(const std::vector<bool>& chosen) const {
  return ResultsOf(impl_->operators, chosen);
}

std::set<std::string> QuantizableModel::ValuesOf(const std::vector<bool>& chosen) const {
  std::set<std::string> values = ResultsOf(impl_->operators, chosen);
  values.merge(ReadsOf(impl_->operators, chosen));
  return values;
}

absl::StatusOr<ProductWeights> QuantizableModel::WeightsOf(int op,
                                                           const QuantizationPlan& plan) const {
  return MakeProductWeights(*impl_->index, impl_->operators,
                            impl_->operators[static_cast<size_t>(op)], plan);
}

absl::StatusOr<QuantizedModel> QuantizableModel::Quantize(const QuantizationPlan& plan) const {
  auto result = std::make_shared<QuantizedModel::Impl>();
  result->source = impl_;
  auto made = MakeQuantized(*impl_, plan, &result->notes);
  if (!made.ok()) {
    return absl::Status(made.status().code(),
                        absl::StrCat(impl_->path, ": ", made.status().message()));
  }
  result->proto = *std::move(made);
  return QuantizedModel(std::move(result));
}

absl::StatusOr<ImportedModel> QuantizedModel::Import(const std::vector<std::string>& values,
                                                     const ImportOptions& options) const {
  onnx::ModelProto model = WithOutputs(impl_->proto, values);
  return ImportProto(&model, impl_->source->path, impl_->source->folder, options);
}

const std::vector<std::string>& QuantizedModel::notes() const { return impl_->notes; }

}  // namespace lemma
