#include "runtime/onnxruntime/ort_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "runtime/onnxruntime/message.h"
#include "runtime/onnxruntime/ort_library.h"
#include "runtime/onnxruntime/ort_session.h"

namespace lemma {
namespace {

using ort::MessageReader;
using ort::MessageWriter;

constexpr int kPollMs = 50;  // how soon an interruption is noticed

struct NamedLevel {
  const char* name;
  ort::OrtLevel level;
};
constexpr NamedLevel kLevels[] = {{"disabled", ort::OrtLevel::kDisabled},
                                  {"basic", ort::OrtLevel::kBasic},
                                  {"extended", ort::OrtLevel::kExtended},
                                  {"all", ort::OrtLevel::kAll}};

// Sends all of it; false if the other end is gone.
bool Send(int socket, const std::string& message) {
  const uint64_t size = message.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += message;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

// Receives exactly `size` bytes; false if the other end is gone. `wait` is called before each
// piece, and false ends it.
template <typename Wait>
bool ReceiveBytes(int socket, size_t size, std::string* bytes, const Wait& wait) {
  char buffer[65536];
  bytes->clear();
  while (bytes->size() < size) {
    if (!wait()) return false;
    const ssize_t got = recv(socket, buffer, std::min(sizeof buffer, size - bytes->size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes->append(buffer, static_cast<size_t>(got));
  }
  return true;
}

template <typename Wait>
bool ReceiveMessage(int socket, std::string* message, const Wait& wait) {
  uint64_t size = 0;
  if (!ReceiveBytes(socket, sizeof size, message, wait)) return false;
  std::memcpy(&size, message->data(), sizeof size);
  return ReceiveBytes(socket, size, message, wait);
}

absl::StatusOr<std::vector<Tensor>> RunHere(const ort::Library* library,
                                            const std::string& message) {
  MessageReader reader(message);
  ort::LoadSettings settings;
  settings.level = static_cast<ort::OrtLevel>(reader.Number());
  const std::string model = reader.Text();
  std::vector<std::string> inputs = reader.Texts(), outputs = reader.Texts();
  auto tensors = reader.Tensors();
  if (!tensors.ok()) return tensors.status();
  auto loaded =
      ort::LoadedModel::Create(library, model, std::move(inputs), std::move(outputs), settings);
  if (!loaded.ok()) return loaded.status();
  return (*loaded)->Run(*tensors);
}

// The process apart: answers until the socket closes. It shares its files, handlers and terminal
// with the caller, so it must not end as the caller would.
[[noreturn]] void Serve(int socket, const std::string& library_path) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGTERM}) {
    std::signal(signal, SIG_DFL);
  }
  std::signal(SIGINT, SIG_IGN);  // the caller hears Ctrl-C, and ends this process
  const rlimit no_dump = {0, 0};
  setrlimit(RLIMIT_CORE, &no_dump);
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    for (int standard : {0, 1, 2}) dup2(null, standard);
  }
  auto library = ort::Library::Load(library_path);
  MessageWriter hello;
  hello.Status(library.status());
  if (library.ok()) hello.Text((*library)->version());
  if (!Send(socket, hello.bytes()) || !library.ok()) _exit(0);
  std::string message;
  while (ReceiveMessage(socket, &message, [] { return true; })) {
    auto outputs = RunHere(*library, message);
    MessageWriter answer;
    answer.Status(outputs.status());
    if (outputs.ok()) answer.Tensors(*outputs);
    if (!Send(socket, answer.bytes())) break;
  }
  _exit(0);
}

}  // namespace

std::string OrtProcess::Name() const { return absl::StrCat("ONNX Runtime ", version_); }

const std::vector<std::string>& OrtProcess::Levels() const {
  static const auto* names = [] {
    auto* all = new std::vector<std::string>;
    for (const NamedLevel& level : kLevels) all->push_back(level.name);
    return all;
  }();
  return *names;
}

absl::StatusOr<std::unique_ptr<Engine>> OrtProcess::Start(const OrtProcessOptions& options) {
  std::unique_ptr<OrtProcess> process(new OrtProcess(options));
  if (absl::Status s = process->Spawn(); !s.ok()) return s;
  return process;
}

OrtProcess::~OrtProcess() { End(); }

absl::Status OrtProcess::Spawn() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no socket: ", std::strerror(errno)));
  }
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    Serve(ends[1], options_.library);
  }
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    return absl::ResourceExhaustedError(absl::StrCat("no process: ", std::strerror(errno)));
  }
  auto hello = Receive();
  if (!hello.ok()) return hello.status();
  MessageReader reader(*hello);
  const absl::Status loaded = reader.Status();
  if (!loaded.ok()) {
    End();
    return loaded;
  }
  version_ = reader.Text();
  return absl::OkStatus();
}

std::string OrtProcess::End() {
  if (process_ < 0) return "it was not running";
  close(socket_);
  int status = 0;
  // Closing the socket ends a process that waits. One that computes, or is about to die by itself,
  // gets a moment, so that its own end is seen.
  for (int waited = 0; waitpid(process_, &status, WNOHANG) == 0; ++waited) {
    if (waited == 100) kill(process_, SIGKILL);
    usleep(2000);
  }
  process_ = -1;
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return absl::StrCat("exit status ", WEXITSTATUS(status));
}

absl::StatusOr<std::string> OrtProcess::Receive() {
  const Deadline deadline = Deadline::After(options_.seconds, options_.interrupted);
  const auto ready = [&] {
    while (!deadline.Passed()) {
      pollfd poll_for = {socket_, POLLIN, 0};
      if (poll(&poll_for, 1, kPollMs) > 0) return true;
    }
    return false;
  };
  std::string message;
  if (ReceiveMessage(socket_, &message, ready)) return message;
  if (!deadline.Passed()) {
    return absl::AbortedError(absl::StrCat("ONNX Runtime's process ended: ", End()));
  }
  kill(process_, SIGKILL);
  End();
  if (deadline.interrupted()) return Deadline::Interruption();
  return absl::DeadlineExceededError(
      absl::StrCat("ONNX Runtime gave no answer within ", options_.seconds, " s"));
}

absl::StatusOr<std::vector<Tensor>> OrtProcess::Run(const SerializedModel& model,
                                                    absl::Span<const Tensor> inputs,
                                                    const std::string& level) {
  const auto* named = std::find_if(std::begin(kLevels), std::end(kLevels),
                                   [&](const NamedLevel& l) { return l.name == level; });
  if (named == std::end(kLevels)) {
    return absl::InvalidArgumentError(absl::StrCat("no level of optimization: ", level));
  }
  if (process_ < 0) {
    if (absl::Status s = Spawn(); !s.ok()) return s;
  }
  MessageWriter message;
  message.Number(static_cast<int64_t>(named->level));
  message.Text(model.bytes);
  message.Texts(model.inputs);
  message.Texts(model.outputs);
  message.Tensors(inputs);
  Send(socket_, message.bytes());  // Receive finds out whether the process has ended
  auto answer = Receive();
  if (!answer.ok()) return answer.status();
  MessageReader reader(*answer);
  if (absl::Status s = reader.Status(); !s.ok()) return s;
  return reader.Tensors();
}

}  // namespace lemma
