#include "tests/kernels/codegen/host_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::GridProgram;

#if defined(__SANITIZE_ADDRESS__)
constexpr char kSanitizers[] = "-fsanitize=address,undefined -fno-sanitize-recover=undefined ";
#else
constexpr char kSanitizers[] = "";
#endif

// Kernels of one name have equal code, but may copy from different tensors in bulk. The entry has
// these tensors, so its name does, too.
std::string EntryName(const GridKernel& kernel) {
  std::string name = kernel.name;
  for (const codegen::BulkSource& source : kernel.bulk) {
    absl::StrAppend(&name, "_", source.slot, "_", source.offset, "_",
                    absl::StrJoin(source.dims, "_"), "_", absl::StrJoin(source.strides, "_"), "_",
                    absl::StrJoin(source.box, "_"));
  }
  return name + "_host";
}

// void ENTRY(pointers, blocks, threads, synchronizes): a launch.
std::string HostEntry(const GridProgram& program, const GridKernel& kernel) {
  std::string arguments, maps;
  int count = 0;
  auto add = [&](const std::string& type) {
    absl::StrAppend(&arguments, count > 0 ? ", " : "", "static_cast<", type, "*>(p[", count, "])");
    ++count;
  };
  for (int slot : kernel.reads) {
    add(absl::StrCat("const ", codegen::TypeName(program.slots[slot].dtype)));
  }
  for (int slot : kernel.writes) add(codegen::TypeName(program.slots[slot].dtype));
  if (kernel.checks) add("int");
  for (size_t i = 0; i < kernel.bulk.size(); ++i) {
    const codegen::BulkSource& source = kernel.bulk[i];
    const auto read = std::find(kernel.reads.begin(), kernel.reads.end(), source.slot);
    const int bytes = SizeOf(program.slots[source.slot].dtype);
    absl::StrAppend(&maps, "  const BulkMap map_", i, " = {static_cast<const char*>(p[",
                    read - kernel.reads.begin(), "]) + ", source.offset * bytes, ", ",
                    source.dims.size(), ", ", bytes, ", {", absl::StrJoin(source.dims, ", "),
                    "}, {", absl::StrJoin(source.strides, ", "), "}, {",
                    absl::StrJoin(source.box, ", "), "}};\n");
    absl::StrAppend(&arguments, ", map_", i);
  }
  return absl::StrCat("extern \"C\" void ", EntryName(kernel),
                      "(void* const* p, long long blocks, int threads, bool synchronizes) {\n"
                      "  using namespace lemma_gpu;\n",
                      maps, "  grid_emulator::Launch(blocks, threads, synchronizes, [&] { ",
                      kernel.name, "(", arguments, "); });\n}\n");
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string CompilerWithFlags(bool run_long) {
  return absl::StrCat("c++ -std=c++17 ", run_long ? "-O2 -march=native" : "-O1",
                      " -ffp-contract=off -w -fPIC ", kSanitizers, "-I. ");
}

std::string TemporaryFolder() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return folder != nullptr ? folder : "/tmp";
}

constexpr char kEmulator[] = "tests/kernels/codegen/grid_emulator.h";

// Flags that include the emulator. Most of the time of a small compilation goes into this header,
// so a process that compiles several times precompiles it, if the header is compiled with the same
// flags as the kernels.
std::string EmulatorFlags(bool run_long) {
  constexpr int kCompileBefore = 2;
  static int calls = 0;
  static const std::string* precompiled = nullptr;
  if (run_long || calls++ < kCompileBefore) return absl::StrCat("-include ", kEmulator, " ");
  if (precompiled == nullptr) {
    const std::string copy = absl::StrCat(TemporaryFolder(), "/grid_emulator_", getpid(), ".h");
    std::ofstream(copy) << "#include \"" << kEmulator << "\"\n";
    const std::string command =
        absl::StrCat(CompilerWithFlags(run_long), "-x c++-header ", copy, " -o ", copy, ".gch");
    precompiled = new std::string(std::system(command.c_str()) == 0 ? copy : kEmulator);
  }
  return absl::StrCat("-include ", *precompiled, " ");
}

// Memory that ends with the tensor, so that the sanitizer sees accesses behind it.
using Buffer = std::unique_ptr<void, void (*)(void*)>;
Buffer Allocate(int64_t bytes) {
  void* data = nullptr;
  if (posix_memalign(&data, 256, static_cast<size_t>(std::max<int64_t>(bytes, 1))) != 0) {
    std::abort();
  }
  std::memset(data, 0x5a, static_cast<size_t>(bytes));
  return Buffer(data, std::free);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostKernels>> HostKernels::Compile(
    const std::vector<const GridProgram*>& programs, bool run_long) {
  constexpr size_t kKernelsPerFile = 120;
  std::vector<std::vector<const GridKernel*>> files(1);
  std::vector<std::string> entries(1);
  std::set<std::string> names;
  for (const GridProgram* program : programs) {
    for (const GridKernel& kernel : program->kernels) {
      if (!names.insert(EntryName(kernel)).second) continue;
      if (files.back().size() == kKernelsPerFile) {
        files.emplace_back();
        entries.emplace_back();
      }
      files.back().push_back(&kernel);
      entries.back() += HostEntry(*program, kernel);
    }
  }
  static int round = 0;
  const std::string stem =
      absl::StrCat(TemporaryFolder(), "/kernels_", getpid(), "_", round++, "_");
  const std::string compiler =
      absl::StrCat(CompilerWithFlags(run_long), EmulatorFlags(run_long), "-shared ");
  std::string compile;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string file = absl::StrCat(stem, i);
    std::ofstream(file + ".cc") << codegen::SourceOf(files[i]) << entries[i];
    // Compiles two files at a time.
    absl::StrAppend(&compile, compiler, file, ".cc -o ", file, ".so 2> ", file, ".log &\n",
                    i % 2 == 1 ? "wait\n" : "");
  }
  absl::StrAppend(&compile, "wait\n");
  if (std::system(compile.c_str()) != 0) return absl::InternalError("the shell failed");
  auto result = std::make_unique<HostKernels>();
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string file = absl::StrCat(stem, i);
    void* library = dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return absl::InternalError(
          absl::StrCat(file, ".cc: ", ReadFile(file + ".log").substr(0, 4000)));
    }
    result->libraries_.push_back(library);
    for (const char* end : {".cc", ".so", ".log"}) (void)std::remove((file + end).c_str());
  }
  return result;
}

HostKernels::~HostKernels() {
  for (void* library : libraries_) dlclose(library);
}

absl::Status HostKernels::Launch(const GridKernel& kernel, std::vector<void*> pointers) const {
  using Entry = void (*)(void* const*, long long, int, bool);
  Entry entry = nullptr;
  const std::string name = EntryName(kernel);
  for (void* library : libraries_) {
    void* symbol = dlsym(library, name.c_str());
    if (symbol != nullptr) entry = reinterpret_cast<Entry>(symbol);
  }
  if (entry == nullptr) return absl::NotFoundError(kernel.name);
  int error = 0;
  pointers.push_back(&error);
  entry(pointers.data(), kernel.blocks, kernel.threads, kernel.synchronizes);
  if (error == 1) return absl::OutOfRangeError("an index that was loaded is outside its tensor");
  if (error != 0) return absl::InternalError("an index is outside its tensor");
  return absl::OkStatus();
}

absl::Status HostKernels::Run(const GridProgram& program, absl::Span<const Tensor> inputs,
                              std::vector<Tensor>* outputs) const {
  std::vector<Buffer> memory;
  for (size_t slot = 0; slot < program.slots.size(); ++slot) {
    const int64_t bytes = program.slots[slot].elements * SizeOf(program.slots[slot].dtype);
    memory.push_back(Allocate(bytes));
    if (static_cast<int>(slot) < program.num_inputs) {
      std::memcpy(memory[slot].get(), inputs[slot].raw(), static_cast<size_t>(bytes));
    }
  }
  for (const GridKernel& kernel : program.kernels) {
    std::vector<void*> pointers;
    for (int slot : kernel.reads) pointers.push_back(memory[slot].get());
    for (int slot : kernel.writes) pointers.push_back(memory[slot].get());
    if (absl::Status s = Launch(kernel, std::move(pointers)); !s.ok()) return s;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::memcpy((*outputs)[i].mutable_raw(), memory[program.outputs[i]].get(),
                static_cast<size_t>((*outputs)[i].type().num_bytes()));
  }
  return absl::OkStatus();
}

}  // namespace lemma
