#include "api/execution/session_server.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "graph/dtype.h"
#include "graph/dtypes/packed_values.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"

namespace lemma::api {
namespace {

Json TypeJson(const TensorType& type) {
  Json shape = Json::Array();
  for (int64_t size : type.shape) {
    shape.Add(IsSymbolic(size) ? Json(SizeName(size)) : Json(size));
  }
  Json json = Json::Object();
  json.Set("dtype", Name(type.dtype)).Set("shape", std::move(shape));
  return json;
}

Json ValuesJson(const std::vector<std::string>& names, const std::vector<Value>& values) {
  Json list = Json::Array();
  for (size_t i = 0; i < values.size(); ++i) {
    Json json = TypeJson(values[i].type());
    json.Set("name", names[i]);
    list.Add(std::move(json));
  }
  return list;
}

absl::Status Say(const Json& json, std::FILE* out) {
  const std::string line = json.ToString() + "\n";
  std::fwrite(line.data(), 1, line.size(), out);
  if (std::fflush(out) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError("session: the answer cannot be written");
}

// A line without its break; nullopt at the end of the input.
std::optional<std::string> ReadLine(std::FILE* in) {
  std::string line;
  for (int c = std::fgetc(in); c != EOF; c = std::fgetc(in)) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  return std::nullopt;
}

absl::Status BadRequest(const std::string& line) {
  return absl::InvalidArgumentError(absl::StrCat(
      "session: '", line, "' is none of: run OUTPUT..., quit, DTYPE SIZE..., default"));
}

// The type that a line "f32 2 3" names.
absl::StatusOr<TensorType> ParseType(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const auto dtype = words.empty() ? std::nullopt : ParseDType(words[0]);
  if (!dtype || IsOpaque(*dtype)) return BadRequest(line);
  TensorType type{*dtype, {}};
  for (size_t i = 1; i < words.size(); ++i) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(words[i], &size) || size < 0) return BadRequest(line);
    type.shape.push_back(size);
  }
  return type;
}

// One line for each input, then the bytes of those that are no defaults.
absl::StatusOr<std::vector<Tensor>> ReadInputs(const Model& model, std::FILE* in) {
  std::vector<Tensor> tensors;
  std::vector<bool> is_sent;
  for (const std::string& name : model.graph.input_names()) {
    const auto line = ReadLine(in);
    if (!line) return absl::InvalidArgumentError("session: the request ends too early");
    is_sent.push_back(*line != "default");
    if (!is_sent.back()) {
      const auto value = model.info.defaults.find(name);
      tensors.push_back(value == model.info.defaults.end() ? Tensor() : value->second);
      if (tensors.back().empty_handle()) return BadRequest(*line);
      continue;
    }
    auto type = ParseType(*line);
    if (!type.ok()) return type.status();
    auto tensor = Tensor::Allocate(*std::move(type));
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto bytes = static_cast<size_t>(tensors[i].type().num_bytes());
    if (is_sent[i] && std::fread(tensors[i].mutable_raw(), 1, bytes, in) != bytes) {
      return absl::InvalidArgumentError("session: the request ends too early");
    }
    if (is_sent[i] && !HoldsValues(tensors[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("session: a byte is no value of ", Name(tensors[i].dtype())));
    }
  }
  return tensors;
}

absl::Status Answer(const std::vector<Tensor>& outputs, const std::vector<int64_t>& wanted,
                    std::FILE* out) {
  Json list = Json::Array();
  for (int64_t i : wanted) list.Add(TypeJson(outputs[static_cast<size_t>(i)].type()));
  Json json = Json::Object();
  json.Set("outputs", std::move(list));
  if (absl::Status s = Say(json, out); !s.ok()) return s;
  for (int64_t i : wanted) {
    const Tensor& tensor = outputs[static_cast<size_t>(i)];
    std::fwrite(tensor.raw(), 1, static_cast<size_t>(tensor.type().num_bytes()), out);
  }
  if (std::fflush(out) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError("session: the answer cannot be written");
}

}  // namespace

absl::Status ServeSession(Session* session, std::FILE* in, std::FILE* out) {
  const Graph& graph = session->model().graph;
  Json defaults = Json::Array();
  for (const auto& [name, value] : session->model().info.defaults) defaults.Add(name);
  Json ready = Json::Object();
  ready.Set("inputs", ValuesJson(graph.input_names(), graph.inputs()));
  ready.Set("outputs", ValuesJson(graph.output_names(), graph.outputs()));
  ready.Set("defaults", std::move(defaults));
  if (absl::Status s = Say(ready, out); !s.ok()) return s;
  while (const auto line = ReadLine(in)) {
    const std::vector<std::string> words = absl::StrSplit(*line, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    if (words[0] == "quit") break;
    if (words[0] != "run") return BadRequest(*line);
    std::vector<int64_t> wanted;
    for (size_t i = 1; i < words.size(); ++i) {
      int64_t output = -1;
      if (!absl::SimpleAtoi(words[i], &output) || output < 0 ||
          output >= static_cast<int64_t>(graph.outputs().size())) {
        return BadRequest(*line);
      }
      wanted.push_back(output);
    }
    auto inputs = ReadInputs(session->model(), in);
    if (!inputs.ok()) return inputs.status();
    auto outputs = session->Run(*inputs);
    if (outputs.ok()) {
      if (absl::Status s = Answer(*outputs, wanted, out); !s.ok()) return s;
      continue;
    }
    Json failed = Json::Object();
    failed.Set("error", absl::string_view(outputs.status().message()));
    failed.Set("code", absl::StatusCodeToString(outputs.status().code()));
    if (absl::Status s = Say(failed, out); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace lemma::api
