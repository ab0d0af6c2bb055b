#include "verifier/kernels/kernel_check.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "verifier/kernels/analysis.h"
#include "verifier/kernels/machine.h"
#include "verifier/kernels/meaning.h"
#include "verifier/kernels/memory.h"
#include "verifier/kernels/parser.h"

namespace lemma::kernels {

using codegen::GridKernel;
using codegen::GridProgram;

namespace {

// What ends a check: InvalidArgument or ResourceExhausted says why there is none,
// FailedPrecondition what is wrong.
absl::Status NotChecked(const std::string& why) { return absl::InvalidArgumentError(why); }
absl::Status Wrong(const std::string& what) { return absl::FailedPreconditionError(what); }

class Checker {
 public:
  Checker(const GridProgram& program, absl::Span<const ProgramPart> parts,
          const ProgramCheckOptions& options)
      : program_(program), parts_(parts), options_(options) {}

  absl::Status Run() {
    if (absl::Status s = ReadMeanings(); !s.ok()) return s;
    if (absl::Status s = ReadKernels(); !s.ok()) return s;
    // With the maximum itself, and with one under which every operand counts.
    const bool extremes =
        !integers_ && std::any_of(meanings_.begin(), meanings_.end(),
                                  [](const Meaning& meaning) { return meaning.has_extremes(); });
    const uint64_t seed = Mix(options_.seed);
    if (absl::Status s = Compare(std::nullopt, seed); !s.ok()) return s;
    return extremes ? Compare(RandomExtremes(seed), seed + 1) : absl::OkStatus();
  }

 private:
  absl::Status ReadMeanings() {
    double operations = 0;
    int64_t elements = 0;
    for (const codegen::GridSlot& slot : program_.slots) elements += slot.elements;
    for (const ProgramPart& part : parts_) {
      auto meaning = Meaning::Of(part.nodes, part.operands);
      if (!meaning.ok()) return NotChecked(std::string(meaning.status().message()));
      operations += meaning->operations();
      if (!meanings_.empty() && meaning->arithmetic() != meanings_[0].arithmetic()) mixed_ = true;
      meanings_.push_back(*std::move(meaning));
    }
    integers_ = meanings_[0].integers();
    if (operations > options_.operations) {
      return NotChecked(absl::StrCat("it has ", operations, " operations"));
    }
    // Values of the kernels and of the nodes, and marks.
    if (elements > options_.bytes / 24) {
      return NotChecked(absl::StrCat("its tensors have ", elements, " elements"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadKernels() {
    std::vector<SlotInfo> slots;
    for (const codegen::GridSlot& slot : program_.slots) {
      slots.push_back({slot.dtype, slot.elements});
    }
    for (const GridKernel& kernel : program_.kernels) {
      auto printed = ParseKernel(kernel, slots);
      if (!printed.ok()) {
        return NotChecked(absl::StrCat(kernel.name, ": ", printed.status().message()));
      }
      constexpr int kWarp = 32, kMost = 1024;
      if (printed->threads != kernel.threads || kernel.threads % kWarp != 0 ||
          kernel.threads < kWarp || kernel.threads > kMost || kernel.blocks < 1) {
        return Wrong(absl::StrCat(kernel.name, " is launched with ", kernel.threads,
                                  " threads, and promises ", printed->threads));
      }
      if (absl::Status s = CheckNumbers(kernel, *printed); !s.ok()) return s;
      for (int slot : kernel.reads) {
        const bool written = std::count(kernel.writes.begin(), kernel.writes.end(), slot) > 0;
        if (written) return Wrong(absl::StrCat(kernel.name, " reads what it writes"));
      }
      FindUniform(&*printed);
      kernels_.push_back(*std::move(printed));
    }
    return CheckReadBack();
  }

  // Numbers have the type in which the nodes are computed, so conversions are the definition's.
  absl::Status CheckNumbers(const GridKernel& kernel, const PrintedKernel& printed) const {
    for (const Variable& v : printed.variables) {
      const bool wrong = IsReal(v.type) && !mixed_ &&
                         (integers_ || (v.type == Type::kDouble) !=
                                           (meanings_[0].arithmetic() == Arithmetic::kDouble));
      if (!wrong) continue;
      return Wrong(absl::StrCat(kernel.name, ": ", v.name, " is a ", NameOf(v.type),
                                ", and its nodes are computed otherwise"));
    }
    return absl::OkStatus();
  }

  // A result that is rounded when it is stored would be read as if it were not.
  absl::Status CheckReadBack() const {
    for (int slot : program_.outputs) {
      const DType dtype = program_.slots[slot].dtype;
      const bool exact =
          dtype == DType::kF64 || dtype == DType::kI64 ||
          (dtype == DType::kF32 && meanings_[0].arithmetic() == Arithmetic::kFloat && !mixed_);
      for (const GridKernel& kernel : program_.kernels) {
        if (exact || std::count(kernel.reads.begin(), kernel.reads.end(), slot) == 0) continue;
        return NotChecked(absl::StrCat(kernel.name, " reads back a rounded result"));
      }
    }
    return absl::OkStatus();
  }

  // Random operands, and the nodes' results for them, for all parts.
  absl::Status Draw(const std::optional<Extremes>& extremes, uint64_t seed) {
    memory_.assign(program_.slots.size(), SlotMemory());
    expected_.clear();
    for (size_t p = 0; p < parts_.size(); ++p) {
      const ProgramPart& part = parts_[p];
      int64_t indices = 1;
      for (const Value& v : part.operands) {
        for (int64_t dim : v.shape()) indices = std::max(indices, dim);
      }
      // Finds how large an index may be.
      for (;; indices = (indices + 1) / 2) {
        std::vector<const SlotMemory*> operands;
        for (size_t k = 0; k < part.operands.size(); ++k) {
          SlotMemory& memory = memory_[part.first_slot + k];
          memory = meanings_[p].Draw(k, indices, seed + 1000 * p);
          operands.push_back(&memory);
        }
        auto results = meanings_[p].Evaluate(operands, extremes);
        if (results.ok()) {
          for (size_t k = 0; k < part.outputs.size(); ++k) {
            expected_.push_back({part.outputs[k], std::move((*results)[k])});
          }
          break;
        }
        if (!absl::IsOutOfRange(results.status()) || indices == 1) {
          return NotChecked(std::string(results.status().message()));
        }
      }
    }
    return absl::OkStatus();
  }

  void PrepareResults() {
    std::vector<bool> operand(program_.slots.size(), false);
    for (const ProgramPart& part : parts_) {
      for (size_t k = 0; k < part.operands.size(); ++k) operand[part.first_slot + k] = true;
    }
    for (size_t slot = 0; slot < operand.size(); ++slot) {
      if (operand[slot]) continue;
      SlotMemory& memory = memory_[slot];
      memory.dtype = program_.slots[slot].dtype;
      memory.integers = integers_;
      memory.values.assign(program_.slots[slot].elements, 0);
      memory.written.assign(program_.slots[slot].elements, false);
    }
    touched_.clear();
    for (const auto& [from, to] : options_.in_place) {
      auto touched = std::make_unique<Touched>();
      touched->reader.assign(memory_[to].size(), Touched::kNobody);
      touched->writer = touched->reader;
      memory_[from].touched = memory_[to].touched = touched.get();
      touched_.push_back(std::move(touched));
    }
  }

  absl::Status Compare(const std::optional<Extremes>& extremes, uint64_t seed) {
    if (mixed_) return NotChecked("its parts are computed in several arithmetics");
    if (absl::Status s = Draw(extremes, seed); !s.ok()) return s;
    PrepareResults();
    constexpr double kPerOperation = 8;  // also addresses and copies
    auto work = static_cast<int64_t>(kPerOperation * options_.operations);
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const GridKernel& kernel = program_.kernels[k];
      for (SlotMemory& memory : memory_) memory.read_by_kernel = memory.written_by_kernel = false;
      for (int slot : kernel.reads) memory_[slot].read_by_kernel = true;
      for (int slot : kernel.writes) {
        if (memory_[slot].written.empty() && memory_[slot].size() > 0) {
          return Wrong(absl::StrCat(kernel.name, " writes an operand"));
        }
        memory_[slot].written_by_kernel = true;
      }
      // An index of one kernel is not an index of the next: what waited has been written.
      for (const auto& touched : touched_) {
        touched->reader.assign(touched->reader.size(), Touched::kNobody);
      }
      const absl::Status s =
          Machine(&kernels_[k], absl::MakeSpan(memory_), extremes, seed, &work).Run(kernel.blocks);
      if (!s.ok()) return absl::Status(s.code(), absl::StrCat(kernel.name, ": ", s.message()));
    }
    return CompareResults();
  }

  absl::Status CompareResults() const {
    for (const auto& [slot, expected] : expected_) {
      const SlotMemory& actual = memory_[slot];
      if (actual.size() != expected.size()) {
        return Wrong(absl::StrCat("tensor ", slot, " has ", actual.size(), " elements"));
      }
      for (int64_t i = 0; i < actual.size(); ++i) {
        if (!actual.written[i]) {
          return Wrong(absl::StrCat("element ", i, " of tensor ", slot, " is not written"));
        }
        const int64_t value =
            integers_ ? Wrapped(expected.values[i], actual.dtype) : expected.values[i];
        if (actual.values[i] != value) {
          return Wrong(absl::StrCat("element ", i, " of tensor ", slot,
                                    " has another value than its operators define"));
        }
      }
    }
    return absl::OkStatus();
  }

  const GridProgram& program_;
  const absl::Span<const ProgramPart> parts_;
  const ProgramCheckOptions& options_;
  std::vector<Meaning> meanings_;  // by part
  bool integers_ = false, mixed_ = false;
  std::vector<PrintedKernel> kernels_;
  std::vector<SlotMemory> memory_;  // by slot
  std::vector<std::pair<int, SlotMemory>> expected_;
  std::vector<std::unique_ptr<Touched>> touched_;
};

}  // namespace

ProgramVerdict CheckProgram(const GridProgram& program, absl::Span<const ProgramPart> parts,
                            const ProgramCheckOptions& options) {
  const absl::Status status = Checker(program, parts, options).Run();
  ProgramVerdict verdict;
  verdict.reason = std::string(status.message());
  verdict.kind = status.ok()                          ? ProgramVerdict::Kind::kEqual
                 : absl::IsFailedPrecondition(status) ? ProgramVerdict::Kind::kWrong
                                                      : ProgramVerdict::Kind::kNotChecked;
  return verdict;
}

}  // namespace lemma::kernels
