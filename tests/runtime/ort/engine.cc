#include "tests/runtime/ort/engine.h"

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma {
namespace {

constexpr char kProgram[] = "tools/ort_run";
constexpr char kIsInstalled[] = "tools/lib/ort --installed >/dev/null 2>&1";

std::string NewFolder() {
  const char* base = std::getenv("TEST_TMPDIR");
  const std::string folder = absl::StrCat(base == nullptr ? "/tmp" : base, "/ort_", getpid());
  std::filesystem::create_directories(folder);
  return folder;
}

absl::Status WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return file.good() ? absl::OkStatus() : absl::InternalError(absl::StrCat(path, ": not written"));
}

// The tools install into the user's home, whose path Bazel hides from tests.
void FindHome() {
  if (const passwd* user = getpwuid(getuid()); user != nullptr) setenv("HOME", user->pw_dir, 1);
}

}  // namespace

OrtEngine::OrtEngine(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)), folder_(NewFolder()) {}

OrtEngine::~OrtEngine() {
  End();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

absl::StatusOr<std::unique_ptr<OrtEngine>> OrtEngine::Start(std::vector<std::string> arguments) {
  FindHome();
  if (std::system(kIsInstalled) != 0) {
    return absl::FailedPreconditionError("ONNX Runtime is not installed: run tools/lib/ort");
  }
  std::unique_ptr<OrtEngine> engine(new OrtEngine(std::move(arguments)));
  const absl::Status spawned = engine->Spawn();
  if (!spawned.ok()) return spawned;
  return engine;
}

absl::Status OrtEngine::Spawn() {
  std::signal(SIGPIPE, SIG_IGN);  // a process that ended is found out by its silence
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) return absl::InternalError("no pipe");
  process_ = fork();
  if (process_ == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    for (int end : {to[0], to[1], from[0], from[1]}) close(end);
    std::vector<char*> argv = {const_cast<char*>(kProgram), const_cast<char*>("each")};
    for (const std::string& a : arguments_) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  to_ = fdopen(to[1], "w");
  from_ = fdopen(from[0], "r");
  return Line().status();
}

void OrtEngine::End() {
  if (process_ < 0) return;
  std::fclose(to_);
  std::fclose(from_);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

absl::StatusOr<std::string> OrtEngine::Line() {
  char* line = nullptr;
  size_t capacity = 0;
  const ssize_t length = getline(&line, &capacity, from_);
  std::string text(line, length > 0 ? static_cast<size_t>(length) : 0);
  std::free(line);
  if (length > 0) return text;
  End();
  return absl::InternalError("ONNX Runtime ended");
}

absl::StatusOr<std::vector<Tensor>> OrtEngine::Run(const std::string& model,
                                                   const std::vector<Tensor>& inputs) {
  if (process_ < 0) {
    if (absl::Status status = Spawn(); !status.ok()) return status;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::filesystem::remove(entry.path());
  }
  absl::Status written = WriteBytes(folder_ + "/model.onnx", model);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == DType::kBF16) return absl::UnimplementedError("inputs of type bf16");
    written.Update(WriteBytes(absl::StrCat(folder_, "/input_", i, ".pb"),
                              SerializeTensorProto("x", inputs[i])));
  }
  if (!written.ok()) return written;
  std::fprintf(to_, "%s\n", folder_.c_str());
  std::fflush(to_);
  auto line = Line();
  if (!line.ok()) return line.status();
  if (!absl::StartsWith(*line, "{\"outputs\":")) return absl::InvalidArgumentError(*line);
  std::vector<Tensor> outputs;
  while (true) {
    const std::string path = absl::StrCat(folder_, "/output_", outputs.size(), ".pb");
    if (!std::filesystem::exists(path)) return outputs;
    auto output = ReadTensorProto(path);
    if (!output.ok()) return output.status();
    outputs.push_back(std::move(output->tensor));
  }
}

}  // namespace lemma
