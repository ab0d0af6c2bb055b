#include "tests/graph/onnx/case_runner.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"
#include "tests/graph/onnx/onnx_checker.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

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

using ValueInfos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

// The files KIND_I.pb; `declared` are the model's inputs or outputs they are for.
absl::StatusOr<std::vector<Tensor>> ReadTensors(const fs::path& directory, absl::string_view kind,
                                                const ValueInfos& declared) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    fs::path path = directory / absl::StrCat(kind, "_", i, ".pb");
    if (!fs::exists(path)) return tensors;
    auto bytes = ReadFile(path.string(), INT32_MAX);
    if (!bytes.ok()) return bytes.status();
    // numpy has no bfloat16: the files keep its bits as u16.
    onnx::TensorProto proto;
    const bool bits = i < declared.size() && proto.ParseFromString(*bytes) &&
                      proto.data_type() == onnx::TensorProto::UINT16 &&
                      declared[i].type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16;
    if (bits) proto.set_data_type(onnx::TensorProto::BFLOAT16);
    auto tensor = ParseTensorProto(bits ? proto.SerializeAsString() : *bytes);
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

// Empty if the graph computes the expected outputs.
std::string RunAndCompare(const Graph& graph, const DataSet& data, double slack) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  if (!executable.ok()) return FromStatus(executable.status());
  auto outputs = (*executable)->Run(data.inputs);
  if (!outputs.ok()) return FromStatus(outputs.status());
  std::string mismatch = Mismatch(graph, *outputs, data.outputs, slack, (*executable)->findings());
  return mismatch.empty() ? "" : "FAIL: " + mismatch;
}

// Whether onnx.checker refuses the model because of its version alone. A kept operator may need a
// version that the checker does not know.
bool IsNewerThanChecker(const std::string& bytes) {
  onnx::ModelProto model;
  return model.ParseFromString(bytes) && model.ir_version() > onnx::Version::IR_VERSION;
}

// The exported graph, imported again.
absl::StatusOr<Graph> RoundTrip(const Graph& graph, const ImportOptions& options) {
  auto bytes = ExportOnnx(graph);
  if (!bytes.ok()) return bytes.status();
  std::string complaint = IsNewerThanChecker(*bytes) ? "" : CheckWithOnnx(*bytes);
  if (!complaint.empty()) return absl::InternalError(absl::StrCat("onnx.checker: ", complaint));
  auto again = ImportOnnxBytes(*bytes, options);
  if (!again.ok()) return again.status();
  return again->graph;
}

std::string CheckExport(const Graph& graph, const ImportOptions& options, const DataSet& data,
                        double slack) {
  auto again = RoundTrip(graph, options);
  if (absl::IsUnimplemented(again.status())) {
    return OneLine(absl::StrCat("pass, not exported: ", again.status().message()));
  }
  if (!again.ok()) return OneLine(absl::StrCat("FAIL: export: ", again.status().message()));
  if (again->StructuralHash() == graph.StructuralHash()) return "pass";
  // Some operators are spelled with others in ONNX: the graph has to settle, and to mean the same.
  std::string difference = RunAndCompare(*again, data, slack);
  if (!difference.empty()) return absl::StrCat(difference, " after export and import");
  auto third = RoundTrip(*again, options);
  if (!third.ok() || third->StructuralHash() != again->StructuralHash()) {
    return "FAIL: export: every export and import changes the graph";
  }
  return "pass";
}

// The model that is written is the one that was read: the same nodes, in meaning and number. ""
// if so.
std::string CheckKept(const ImportedModel& model, const ImportOptions& options,
                      const std::string& original) {
  ExportOptions kept;
  kept.info = model.info;
  auto bytes = ExportOnnx(model.graph, kept);
  if (!bytes.ok()) return absl::StrCat("FAIL: kept: ", OneLine(bytes.status().message()));
  std::string complaint = CheckWithOnnx(original).empty() ? CheckWithOnnx(*bytes) : "";
  if (!complaint.empty()) return absl::StrCat("FAIL: kept: onnx.checker: ", OneLine(complaint));
  auto again = ImportOnnxBytes(*bytes, options);
  if (!again.ok()) return absl::StrCat("FAIL: kept: ", OneLine(again.status().message()));
  if (again->graph.StructuralHash() != model.graph.StructuralHash()) {
    return "FAIL: kept: the model that is written is another";
  }
  onnx::ModelProto before, after;
  before.ParseFromString(original);
  after.ParseFromString(*bytes);
  if (after.graph().node_size() <= before.graph().node_size()) return "";
  return absl::StrCat("FAIL: kept: ", before.graph().node_size(), " nodes became ",
                      after.graph().node_size());
}

// What a case's expected output misses beyond rounding, relative to its largest element.
double Slack(const std::string& directory) {
  // The expected outputs of window functions were made with pi = 3.1415.
  if (absl::StrContains(directory, "window")) return 1e-4;
  // These have four digits.
  return absl::StrContains(directory, "roialign") ? 1e-4 : 0;
}

// Inputs with a default, which have no file.
void AddDefaults(const ImportedModel& model, std::vector<Tensor>* inputs) {
  const std::vector<std::string>& names = model.graph.input_names();
  for (size_t i = 0; i < names.size() && i <= inputs->size(); ++i) {
    auto value = model.info.defaults.find(names[i]);
    if (value == model.info.defaults.end()) continue;
    inputs->insert(inputs->begin() + static_cast<std::ptrdiff_t>(i), value->second);
  }
}

std::string RunDataSet(const std::string& model_path, const std::string& bytes,
                       const std::vector<std::string>& names, const DataSet& data, double slack) {
  ImportOptions options;
  if (names.size() < data.inputs.size()) return "FAIL: more input files than inputs";
  for (size_t i = 0; i < data.inputs.size(); ++i) options.input_values[names[i]] = data.inputs[i];
  auto model = ImportOnnx(model_path, options);
  if (absl::StrContains(model.status().message(), "declared, the value is")) {
    return "contradiction: the case's inputs are not of the types its model declares";
  }
  if (!model.ok()) return FromStatus(model.status());
  // What is kept may be executed all the same.
  const bool runs = model->opaque.empty() || MakeReferenceBackend()->Compile(model->graph, {}).ok();
  if (!runs) {
    const std::string& reason = model->opaque.front();
    RoundTrip(model->graph, options).status().IgnoreError();  // must not crash
    if (std::string lost = CheckKept(*model, options, bytes); !lost.empty()) return lost;
    return OneLine(reason.substr(std::min(reason.find("unsupported"), reason.size())));
  }
  DataSet complete = data;
  AddDefaults(*model, &complete.inputs);
  std::string difference = RunAndCompare(model->graph, complete, slack);
  if (!difference.empty()) return difference;
  if (std::string lost = CheckKept(*model, options, bytes); !lost.empty()) return lost;
  return CheckExport(model->graph, options, complete, slack);
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
    auto inputs = ReadTensors(data_path, "input", model.graph().input());
    auto outputs = ReadTensors(data_path, "output", model.graph().output());
    // Sequences and types that we lack do not parse as tensors; the import says what is wrong.
    DataSet data;
    if (inputs.ok()) data.inputs = *inputs;
    if (outputs.ok()) data.outputs = *outputs;
    result = RunDataSet(model_path, *bytes, InputNames(model), data, Slack(directory));
    for (const auto& status : {inputs.status(), outputs.status()}) {
      if (!status.ok() && result.rfind("pass", 0) == 0) return FromStatus(status);
    }
    if (result.rfind("pass", 0) != 0) return result;
  }
}

std::string DamageCase(const std::string& directory, int count, uint64_t seed) {
  auto bytes = ReadFile((fs::path(directory) / "model.onnx").string(), INT32_MAX);
  if (!bytes.ok() || bytes->empty()) return FromStatus(bytes.status());
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    std::string damaged = *bytes;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged.erase(random() % damaged.size(), 1 + random() % 8);
    auto model = ImportOnnxBytes(damaged);
    if (model.ok()) ExportOnnx(model->graph).status().IgnoreError();
  }
  return "pass";
}

}  // namespace lemma
