// Runs a fuzz target on its corpus and on seeded mutations of it; used in the default tests,
// without libFuzzer. If an input crashes the target, or takes more than two seconds of processor
// time or a gigabyte of memory, the program stores the input in a file and ends.
//
//     driver [--seconds=S] [--seed=N] FILE...        S = 0: the files only
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

extern "C" {
// Null if the target has no mutator, or without AddressSanitizer.
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t*, size_t, size_t, unsigned);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*)());
}

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMaxBytes = 1 << 14;
constexpr int kLimitSeconds = 2;
constexpr rlim_t kMemory = rlim_t{1} << 30;

std::minstd_rand random_numbers;  // NOLINT: LLVMFuzzerMutate has no argument for it
std::vector<Bytes> corpus;
Bytes current;
std::string crash_path;

size_t Below(size_t n) { return random_numbers() % n; }

// Async-signal-safe.
void KeepCurrent() {
  const int file = open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data(), current.size()) >= 0) {
    const char said[] = "fuzz: the input that fails is kept in ";
    (void)!write(2, said, sizeof(said) - 1);
    (void)!write(2, crash_path.data(), crash_path.size());
    (void)!write(2, "\n", 1);
  }
  close(file);
}

void OnSignal(int signal) {
  const char slow[] = "fuzz: an input took more than 2 s\n";
  if (signal == SIGPROF) (void)!write(2, slow, sizeof(slow) - 1);
  KeepCurrent();
  _exit(1);
}

void RunOne(const Bytes& input) {
  current = input;
  itimerval limit = {};
  limit.it_value.tv_sec = kLimitSeconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

Bytes Changed(unsigned seed) {
  Bytes input = corpus[Below(corpus.size())];
  size_t size = input.size();
  input.resize(std::max(kMaxBytes, size));
  for (size_t n = 1 + Below(6); n > 0; --n) {
    size = LLVMFuzzerCustomMutator != nullptr
               ? LLVMFuzzerCustomMutator(input.data(), size, input.size(), seed + n)
               : LLVMFuzzerMutate(input.data(), size, input.size());
  }
  input.resize(size);
  return input;
}

void Prepare() {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  if (folder == nullptr) folder = std::getenv("TEST_TMPDIR");
  crash_path = std::string(folder == nullptr ? "/tmp" : folder) + "/crash";
  std::signal(SIGPROF, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(KeepCurrent);
    std::signal(SIGABRT, OnSignal);
    return;  // AddressSanitizer reserves the whole address space
  }
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, OnSignal);
  const rlimit memory = {kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
}

}  // namespace

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  Bytes bytes(data, data + size);
  const size_t at = Below(size + 1);
  const size_t some = std::min(size - at, 1 + Below(Below(8) == 0 ? 200 : 8));
  const auto place = bytes.begin() + static_cast<long>(at);
  const Bytes* other = corpus.empty() ? &bytes : &corpus[Below(corpus.size())];
  static const char* const kPieces[] = {"0",
                                        "1",
                                        "-1",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "4294967296",
                                        "1e999",
                                        "nan",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "(",
                                        ")",
                                        "\"",
                                        "\\",
                                        "\n",
                                        ",",
                                        ":",
                                        "=",
                                        "#",
                                        " "};
  switch (Below(6)) {
    case 0:
      if (some > 0) *place = static_cast<uint8_t>(*place ^ (1u << Below(8)));
      break;
    case 1:
      if (some > 0) *place = static_cast<uint8_t>(Below(256));
      break;
    case 2:
      bytes.erase(place, place + static_cast<long>(some));
      break;
    case 3: {
      const char* piece = kPieces[Below(std::size(kPieces))];
      bytes.insert(place, piece, piece + std::strlen(piece));
      break;
    }
    case 4: {  // inserts a piece of another input, or of this one
      if (other->empty()) break;
      const size_t from = Below(other->size());
      const size_t length = std::min(other->size() - from, 1 + Below(64));
      const Bytes piece(other->begin() + static_cast<long>(from),
                        other->begin() + static_cast<long>(from + length));
      bytes.insert(bytes.begin() + static_cast<long>(at), piece.begin(), piece.end());
      break;
    }
    default: {  // replaces a run of digits by another number
      size_t digit = at;
      while (digit < size && !std::isdigit(bytes[digit])) ++digit;
      size_t end = digit;
      while (end < size && std::isdigit(bytes[end])) ++end;
      const char* piece = kPieces[Below(6)];
      bytes.erase(bytes.begin() + static_cast<long>(digit), bytes.begin() + static_cast<long>(end));
      bytes.insert(bytes.begin() + static_cast<long>(digit), piece, piece + std::strlen(piece));
    }
  }
  bytes.resize(std::min(bytes.size(), max_size));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

int main(int argc, char** argv) {
  double seconds = 4;
  unsigned seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--seconds=", 0) == 0) {
      seconds = std::atof(argument.c_str() + 10);
    } else if (argument.rfind("--seed=", 0) == 0) {
      seed = static_cast<unsigned>(std::atoi(argument.c_str() + 7));
    } else {
      std::ifstream file(argument, std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      if (!file.good() && !file.eof()) {
        std::fprintf(stderr, "fuzz: cannot read %s\n", argument.c_str());
        return 2;
      }
    }
  }
  Prepare();
  if (corpus.empty()) {
    std::fputs("fuzz: no corpus\n", stderr);
    return 2;
  }
  for (const Bytes& input : corpus) RunOne(input);
  const std::clock_t start = std::clock();
  unsigned runs = 0;
  while (static_cast<double>(std::clock() - start) < seconds * CLOCKS_PER_SEC) {
    const unsigned own = seed * 1000003u + ++runs;  // each input can be reproduced alone
    random_numbers.seed(own);
    RunOne(Changed(own));
  }
  std::printf("fuzz: seed %u, %zu inputs of the corpus, %u changed\n", seed, corpus.size(), runs);
  return 0;
}
