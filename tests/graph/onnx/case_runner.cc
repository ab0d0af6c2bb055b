#include "tests/graph/onnx/case_runner.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/onnx/export.h"
#include "graph/onnx/file.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"
#include "tests/graph/onnx/onnx_checker.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

// Thrown by nobody: the text of a result that is not a pass.
struct Outcome {
  std::string text;
};

std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", " "}}); }

std::string FromStatus(const absl::Status& status) {
  // Drop what differs between machines (paths) and say the reason first.
  std::string message(status.message());
  if (absl::IsUnimplemented(status)) {
    size_t at = message.find("unsupported: ");
    return OneLine(at == std::string::npos ? "unsupported: " + message : message.substr(at));
  }
  return OneLine(absl::StrCat("FAIL: ", message));
}

struct DataSet {
  std::vector<Tensor> inputs, outputs;
};

absl::StatusOr<std::vector<Tensor>> ReadTensors(const fs::path& directory, absl::string_view kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    fs::path path = directory / absl::StrCat(kind, "_", i, ".pb");
    if (!fs::exists(path)) return tensors;
    auto tensor = ReadTensorProto(path.string());
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(tensor->tensor);
  }
}

// The model's inputs that have no initializer.
std::vector<std::string> InputNames(const onnx::ModelProto& model) {
  std::set<std::string> known;
  for (const auto& tensor : model.graph().initializer()) known.insert(tensor.name());
  std::vector<std::string> names;
  for (const auto& input : model.graph().input()) {
    if (known.count(input.name()) == 0) names.push_back(input.name());
  }
  return names;
}

std::string CheckExport(const ImportedModel& model, const ImportOptions& options) {
  ExportOptions export_options;
  export_options.info = model.info;
  auto bytes = ExportOnnx(model.graph, export_options);
  if (absl::IsUnimplemented(bytes.status())) {
    return absl::StrCat("pass, not exported: ", bytes.status().message());
  }
  if (!bytes.ok()) return OneLine(absl::StrCat("FAIL: export: ", bytes.status().message()));
  std::string complaint = CheckWithOnnx(*bytes);
  if (!complaint.empty()) return OneLine(absl::StrCat("FAIL: onnx.checker: ", complaint));
  auto again = ImportOnnxBytes(*bytes, options);
  if (!again.ok()) return OneLine(absl::StrCat("FAIL: export: ", again.status().message()));
  if (again->graph.StructuralHash() != model.graph.StructuralHash()) {
    return "FAIL: export: imported again it is another graph";
  }
  return "pass";
}

std::string RunDataSet(const std::string& model_path, const std::vector<std::string>& names,
                       const DataSet& data) {
  ImportOptions options;
  if (names.size() < data.inputs.size()) return "FAIL: more input files than inputs";
  for (size_t i = 0; i < data.inputs.size(); ++i) options.input_values[names[i]] = data.inputs[i];
  auto model = ImportOnnx(model_path, options);
  if (!model.ok()) return FromStatus(model.status());
  if (!model->opaque.empty()) {
    const std::string& reason = model->opaque.front();
    CheckExport(*model, options);  // must not crash
    return OneLine(reason.substr(std::min(reason.find("unsupported"), reason.size())));
  }
  auto executable = MakeReferenceBackend()->Compile(model->graph, {});
  if (!executable.ok()) return FromStatus(executable.status());
  auto outputs = (*executable)->Run(data.inputs);
  if (!outputs.ok()) return FromStatus(outputs.status());
  if (outputs->size() < data.outputs.size()) return "FAIL: too few outputs";
  const double length = ReductionLength(model->graph);
  for (size_t i = 0; i < data.outputs.size(); ++i) {
    std::string difference = Difference((*outputs)[i], data.outputs[i], length);
    if (!difference.empty()) return absl::StrCat("FAIL: output ", i, " ", difference);
  }
  return CheckExport(*model, options);
}

}  // namespace

std::string RunCase(const std::string& directory) {
  const std::string model_path = (fs::path(directory) / "model.onnx").string();
  auto bytes = ReadFile(model_path, INT32_MAX);
  if (!bytes.ok()) return FromStatus(bytes.status());
  onnx::ModelProto model;
  if (!model.ParseFromString(*bytes)) return "FAIL: the model does not parse";
  std::string result = "FAIL: there is no data set";
  for (int i = 0;; ++i) {
    fs::path data_path = fs::path(directory) / absl::StrCat("test_data_set_", i);
    if (!fs::exists(data_path)) return result;
    auto inputs = ReadTensors(data_path, "input");
    auto outputs = ReadTensors(data_path, "output");
    // Sequences and types that we lack do not parse as tensors; the import says what is wrong.
    DataSet data;
    if (inputs.ok()) data.inputs = *inputs;
    if (outputs.ok()) data.outputs = *outputs;
    result = RunDataSet(model_path, InputNames(model), data);
    for (const auto& status : {inputs.status(), outputs.status()}) {
      if (!status.ok() && result.rfind("pass", 0) == 0) return FromStatus(status);
    }
    if (result.rfind("pass", 0) != 0) return result;
  }
}

}  // namespace lemma
