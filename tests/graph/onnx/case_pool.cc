#include "tests/graph/onnx/case_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

struct Child {
  pid_t pid = -1;
  FILE* results = nullptr;
  int next = 0;  // the case it works on
  int stride = 1;
};

// Each of the child's cases is a line, in order.
Child Start(int first, int count, int stride, const std::function<std::string(int)>& run,
            int seconds) {
  int ends[2];
  Child child;
  child.next = first;
  child.stride = stride;
  if (pipe(ends) != 0) return child;
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    FILE* out = fdopen(ends[1], "w");
    for (int i = first; i < count; i += stride) {
      alarm(static_cast<unsigned>(seconds));
      std::fprintf(out, "%s\n", run(i).c_str());
      std::fflush(out);
    }
    _exit(0);
  }
  close(ends[1]);
  child.results = fdopen(ends[0], "r");
  return child;
}

// One line without its end; false at the end of the stream.
bool ReadLine(FILE* file, std::string* line) {
  line->clear();
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
  }
  return false;
}

// Reads what the child has to say, and replaces it for as long as it dies on the way.
void Drain(Child child, int count, const std::function<std::string(int)>& run, int seconds,
           std::vector<std::string>* results) {
  while (true) {
    std::string line;
    while (child.next < count && ReadLine(child.results, &line)) {
      (*results)[child.next] = line;
      child.next += child.stride;
    }
    std::fclose(child.results);
    int status = 0;
    waitpid(child.pid, &status, 0);
    if (child.next >= count) return;
    (*results)[child.next] =
        absl::StrCat("FAIL: crash (", WIFSIGNALED(status) ? "signal " : "exit status ",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), ")");
    if (child.next + child.stride >= count) return;
    child = Start(child.next + child.stride, count, child.stride, run, seconds);
  }
}

}  // namespace

std::vector<std::string> RunIsolated(int count, const std::function<std::string(int)>& run,
                                     int processes, int seconds) {
  std::vector<std::string> results(count, "FAIL: not run");
  std::vector<Child> children;
  for (int i = 0; i < processes && i < count; ++i) {
    children.push_back(Start(i, count, processes, run, seconds));
  }
  for (const Child& child : children) Drain(child, count, run, seconds, &results);
  return results;
}

}  // namespace lemma
