#include "cli/verdict_text.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace lemma::cli {

void AddVerdict(const Verdict& verdict, Json* json) {
  json->Set("verdict", Word(verdict));
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    json->Set("contract", Name(proved->contract)).Set("coverage", proved->coverage);
    json->Set("id", proved->id).Set("queries", proved->queries).Set("work", proved->work);
  } else if (auto* refuted = std::get_if<Refuted>(&verdict)) {
    Json values = Json::Object(), index = Json::Array();
    for (const auto& [name, value] : refuted->values) values.Set(name, value);
    json->Set("values", std::move(values)).Set("seed", static_cast<int64_t>(refuted->seed));
    json->Set("output", refuted->output);
    if (refuted->shapes_differ()) {
      Json source = Json::Array(), target = Json::Array();
      for (int64_t size : refuted->source_shape) source.Add(size);
      for (int64_t size : refuted->target_shape) target.Add(size);
      json->Set("source_shape", std::move(source)).Set("target_shape", std::move(target));
      return;
    }
    for (int64_t i : refuted->index) index.Add(i);
    json->Set("index", std::move(index));
    json->Set("source", refuted->source).Set("target", refuted->target);
  } else {
    json->Set("reason", std::get<Unknown>(verdict).reason);
  }
}

std::string Shortened(const std::string& text, size_t width) {
  size_t characters = 0, cut = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xc0) == 0x80) continue;  // inside a character
    if (++characters == width) cut = i;
  }
  return characters <= width ? text : text.substr(0, cut) + "…";
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": no folder can be made here",
                   error ? absl::StrCat(": ", error.message()) : std::string()));
}

}  // namespace lemma::cli
