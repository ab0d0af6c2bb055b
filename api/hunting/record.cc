#include "api/hunting/record.h"

#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/version.h"
#include "base/file.h"
#include "graph/onnx/tensor_proto.h"
#include "graph/text/text.h"

namespace lemma::api {
namespace {

// JSON has no infinities and no NaN.
Json NumberOf(double number) {
  if (std::isfinite(number)) return number;
  return absl::StrFormat("%g", number);
}

absl::Status StageTensors(const std::vector<Tensor>& tensors, const std::string& prefix,
                          std::vector<StagedFile>* files) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    auto file = StagedFile::Write(absl::StrCat(prefix, i, ".pb"),
                                  {SerializeTensorProto(absl::StrCat("tensor_", i), tensors[i])});
    if (!file.ok()) return file.status();
    files->push_back(*std::move(file));
  }
  return absl::OkStatus();
}

absl::Status StageSubject(const hunt::Subject& subject, const std::string& folder,
                          std::vector<StagedFile>* files) {
  auto model = Serialized(subject);
  if (!model.ok()) return model.status();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  }
  auto file = StagedFile::Write(folder + "/model.onnx", {model->bytes});
  if (!file.ok()) return file.status();
  files->push_back(*std::move(file));
  return StageTensors(subject.inputs, folder + "/input_", files);
}

}  // namespace

Json ToJson(const Finding& finding, const std::string& engine) {
  const hunt::Difference& difference = finding.difference;
  Json json = Json::Object();
  json.Set("fault", Name(difference.fault)).Set("engine", engine);
  json.Set("lemma", kVersion).Set("operators", Json::Texts(finding.operators));
  json.Set("levels", Json::Texts(finding.levels)).Set("threads", 1);
  json.Set("is_optimization", difference.is_optimization);
  json.Set("is_finite", difference.is_finite).Set("message", difference.message);
  if (!difference.output.empty()) {
    json.Set("output", difference.output);
    json.Set("expected_type", difference.expected_type.ToString());
    json.Set("seen_type", difference.seen_type.ToString());
  }
  if (difference.fault == hunt::Fault::kValues) {
    Json index = Json::Array();
    for (int64_t i : difference.index) index.Add(i);
    json.Set("index", std::move(index)).Set("expected", NumberOf(difference.expected));
    json.Set("seen", NumberOf(difference.seen)).Set("in_double", NumberOf(difference.in_double));
    json.Set("explained", NumberOf(difference.explained));
  }
  json.Set("opset", finding.model.opset).Set("model", PrintGraph(finding.model.graph));
  json.Set("source", finding.source).Set("case", finding.case_number);
  json.Set("operators_before", finding.operators_before);
  Json again = Json::Array();
  for (int64_t number : finding.again) again.Add(number);
  json.Set("again", std::move(again));
  if (!finding.own_fault.empty()) json.Set("own_fault", finding.own_fault);
  json.Set("repeat", finding.repeat);
  if (!finding.folder.empty()) json.Set("folder", finding.folder);
  return json;
}

absl::Status WriteSubject(const hunt::Subject& subject, const std::string& folder) {
  std::vector<StagedFile> files;
  if (absl::Status s = StageSubject(subject, folder, &files); !s.ok()) return s;
  return CommitAll(std::move(files));
}

absl::Status WriteFinding(const Finding& finding, const std::string& engine) {
  std::vector<StagedFile> files;
  absl::Status staged = StageSubject(finding.model, finding.folder, &files);
  const hunt::Difference& difference = finding.difference;
  if (staged.ok()) {
    staged = StageTensors(difference.expected_outputs, finding.folder + "/expected_", &files);
  }
  if (staged.ok()) {
    staged = StageTensors(difference.seen_outputs, finding.folder + "/seen_", &files);
  }
  if (!staged.ok()) return staged;
  auto record = StagedFile::Write(finding.folder + "/finding.json",
                                  {ToJson(finding, engine).ToString(), "\n"});
  if (!record.ok()) return record.status();
  files.push_back(*std::move(record));
  return CommitAll(std::move(files));
}

}  // namespace lemma::api
