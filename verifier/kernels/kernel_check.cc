#include "verifier/kernels/kernel_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "verifier/kernels/kernel_run.h"
#include "verifier/kernels/meaning.h"
#include "verifier/kernels/memory.h"
#include "verifier/kernels/printed/analysis.h"
#include "verifier/kernels/printed/parser.h"
#include "verifier/kernels/printed/roundings.h"

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
    const bool extremes = std::any_of(
        meanings_.begin(), meanings_.end(),
        [](const Meaning& meaning) { return !meaning.integers() && meaning.needs_extremes(); });
    const uint64_t seed = Mix(options_.seed);
    if (absl::Status s = Compare(std::nullopt, seed); !s.ok()) return s;
    if (absl::Status s = CompareKept(seed + 50); !s.ok()) return s;
    if (absl::Status s = CompareShortAxes(seed + 70); !s.ok()) return s;
    if (absl::Status s = TryInvalidIndices(seed + 2); !s.ok()) return s;
    if (absl::Status s = RepeatIntegers(seed + 3); !s.ok()) return s;
    if (absl::Status s = CompareSmall(seed + 100); !s.ok()) return s;
    // The prelude's maximum of streamed scores takes in all of them (machine_products.cc).
    return extremes && !streams_ ? Compare(RandomExtremes(seed), seed + 1) : absl::OkStatus();
  }

 private:
  // Where a kept tensor changes follows from integers, which are positions inside it here.
  absl::Status CompareKept(uint64_t seed) {
    constexpr int kRounds = 8;
    inside_ = true;
    for (int round = 0; program_.kept >= 0 && round < kRounds; ++round) {
      if (absl::Status s = Compare(std::nullopt, seed + round); !s.ok()) return s;
    }
    inside_ = false;
    return absl::OkStatus();
  }

  // Integers that are drawn for a longer axis are seldom positions of a short one, and never all of
  // them. So each of its positions is tried, counted from both ends.
  absl::Status CompareShortAxes(uint64_t seed) {
    constexpr int64_t kShort = 8;
    constexpr double kSmall = 1e7;  // operations
    std::set<int64_t> axes;
    int64_t least = kShort * 2;
    double operations = 0;
    for (const Meaning& meaning : meanings_) {
      operations += meaning.operations();
      if (meaning.LeastPositions() == 0) continue;
      axes.merge(meaning.Axes(kShort));
      least = std::min(least, meaning.LeastPositions());
    }
    for (const int64_t axis : axes) {
      // In small programs, each element has each index.
      const bool small = operations * 2 * static_cast<double>(axis) <= kSmall;
      const int64_t step = small ? 1 : std::min(least, 2 * axis);
      for (int64_t turn = 0; turn < 2 * axis; turn += step) {
        in_turn_ = InTurn{axis, turn};
        const absl::Status s = Compare(std::nullopt, seed);
        in_turn_.reset();
        if (absl::IsOutOfRange(s)) break;  // the indices are of a shorter axis
        if (!s.ok()) return s;
      }
    }
    return absl::OkStatus();
  }

  // Integers have no such second meaning of a maximum, and few values: small programs are repeated.
  absl::Status RepeatIntegers(uint64_t seed) {
    constexpr int kRounds = 16;
    constexpr double kSmall = 1e6;  // operations
    const bool repeats =
        std::any_of(meanings_.begin(), meanings_.end(), [](const Meaning& meaning) {
          return meaning.integers() && meaning.operations() <= kSmall;
        });
    for (int round = 0; repeats && round < kRounds; ++round) {
      if (absl::Status s = Compare(std::nullopt, seed + round); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // Random numbers are seldom equal to each other, to zero or to a bound, and comparisons show
  // what they compare with only there. So programs that compare run with few different numbers too.
  absl::Status CompareSmall(uint64_t seed) {
    const bool needs_few_numbers =
        std::any_of(meanings_.begin(), meanings_.end(),
                    [](const Meaning& meaning) { return meaning.needs_few_numbers(); });
    double operations = 0;
    for (const Meaning& meaning : meanings_) operations += meaning.operations();
    constexpr double kFew = 1e3, kSmall = 1e6;
    const int rounds = !needs_few_numbers     ? 0
                       : operations <= kFew   ? 64
                       : operations <= kSmall ? 8
                                              : 1;
    few_ = true;
    for (int round = 0; round < rounds; ++round) {
      if (absl::Status s = Compare(std::nullopt, seed + round); !s.ok()) return s;
    }
    few_ = false;
    return absl::OkStatus();
  }

  absl::Status ReadMeanings() {
    double operations = 0;
    int64_t elements = 0;
    streams_ = std::any_of(program_.kernels.begin(), program_.kernels.end(),
                           [](const GridKernel& kernel) { return kernel.streamed.has_value(); });
    if (streams_ && parts_.size() != 1) return NotChecked("it streams beside other programs");
    for (const codegen::GridSlot& slot : program_.slots) elements += slot.elements;
    for (const ProgramPart& part : parts_) {
      auto meaning = Meaning::Of(part.nodes, part.operands, streams_);
      if (!meaning.ok()) return NotChecked(std::string(meaning.status().message()));
      operations += meaning->operations();
      if (program_.kept >= 0) meaning->UseIntegersAsIndices();
      meanings_.push_back(*std::move(meaning));
    }
    floats_.resize(meanings_.size());
    if (operations > options_.operations) {
      return NotChecked(absl::StrCat("it has ", operations, " operations"));
    }
    // Values of the kernels and of the nodes, and marks.
    if (elements > options_.bytes / 24) {
      return NotChecked(absl::StrCat("its tensors have ", elements, " elements"));
    }
    return absl::OkStatus();
  }

  // The slots are the tensors that the nodes read and compute, or temporaries.
  absl::Status CheckSlots() const {
    for (const ProgramPart& part : parts_) {
      std::vector<std::pair<int, Value>> tensors;
      for (size_t k = 0; k < part.operands.size(); ++k) {
        tensors.emplace_back(part.first_slot + static_cast<int>(k), part.operands[k]);
      }
      for (size_t k = 0; k < part.outputs.size(); ++k) {
        if (k >= static_cast<size_t>(part.nodes.back()->num_outputs())) break;  // counted later
        tensors.emplace_back(part.outputs[k], Value(part.nodes.back(), static_cast<int>(k)));
      }
      for (const auto& [slot, value] : tensors) {
        const bool known = slot >= 0 && slot < static_cast<int>(program_.slots.size());
        if (known && program_.slots[slot].dtype == value.dtype() &&
            program_.slots[slot].elements == value.type().num_elements()) {
          continue;
        }
        return Wrong(absl::StrCat("tensor ", slot, " has another type than its operators define"));
      }
    }
    return absl::OkStatus();
  }

  // What the kernels do not write stays in the memory that the operand and the result share.
  absl::Status CheckKept() const {
    if (program_.kept < 0) return absl::OkStatus();
    const bool one = parts_.size() == 1 && program_.outputs.size() == 1 &&
                     program_.kept < static_cast<int>(parts_[0].operands.size());
    if (!one) return NotChecked("it keeps elements of no operand, or for several results");
    const int to = program_.outputs[0];
    const bool shared = std::count(options_.in_place.begin(), options_.in_place.end(),
                                   std::make_pair(program_.kept, to)) > 0 &&
                        program_.slots[program_.kept].dtype == program_.slots[to].dtype &&
                        program_.slots[program_.kept].elements == program_.slots[to].elements;
    if (shared) return absl::OkStatus();
    return Wrong(absl::StrCat("the result does not have the memory of tensor ", program_.kept,
                              ", whose elements it keeps"));
  }

  absl::Status ReadKernels() {
    if (absl::Status s = CheckSlots(); !s.ok()) return s;
    if (absl::Status s = CheckKept(); !s.ok()) return s;
    std::map<absl::string_view, absl::string_view> codes;  // by name
    std::vector<SlotInfo> slots;
    for (const codegen::GridSlot& slot : program_.slots) {
      slots.push_back({slot.dtype, slot.elements});
    }
    for (const GridKernel& kernel : program_.kernels) {
      for (const std::vector<int>* used : {&kernel.reads, &kernel.writes}) {
        for (int slot : *used) {
          if (slot >= 0 && slot < static_cast<int>(slots.size())) continue;
          return Wrong(absl::StrCat(kernel.name, " has an argument that is no tensor"));
        }
      }
      // A source contains one text for a name.
      if (codes.emplace(kernel.name, kernel.code).first->second != kernel.code) {
        return Wrong(absl::StrCat("two kernels have the name ", kernel.name));
      }
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
      if (absl::Status s = CheckPromises(kernel, *printed); !s.ok()) return s;
      for (int slot : kernel.reads) {
        const bool written = std::count(kernel.writes.begin(), kernel.writes.end(), slot) > 0;
        if (written) return Wrong(absl::StrCat(kernel.name, " reads what it writes"));
      }
      if (absl::Status s = CheckTensorCores(kernel, *printed, slots); !s.ok()) return s;
      // Each role executes a copy of its own.
      std::vector<PrintedKernel> roles;
      for (size_t role = RolesOf(*printed).size(); role > 0; --role) {
        roles.push_back(*ParseKernel(kernel, slots));
        FindUniform(&roles.back());
      }
      kernels_.push_back(std::move(roles));
    }
    for (size_t p = 0; p < parts_.size(); ++p) {
      const bool needs = meanings_[p].arithmetic() == Arithmetic::kDouble;
      if (floats_[p].value_or(false) && needs && !FloatsSuffice()) {
        return Wrong("it computes in f32 what needs f64");
      }
    }
    return CheckReadBack();
  }

  // Numbers have the type in which the nodes are computed, so conversions are the definition's.
  absl::Status CheckNumbers(const GridKernel& kernel, const PrintedKernel& printed) {
    if (printed.calls != 0 && printed.calls != static_cast<int>(parts_.size())) {
      return NotChecked(absl::StrCat(kernel.name, " calls ", printed.calls, " functions"));
    }
    return CheckNumbersOf(kernel, printed, *printed.body, 0);
  }

  // Shared memory that the launch provides, and the rounding of factors.
  absl::Status CheckTensorCores(const GridKernel& kernel, const PrintedKernel& printed,
                                absl::Span<const SlotInfo> slots) const {
    if (printed.shared_bytes > kernel.shared_bytes) {
      return Wrong(absl::StrCat(kernel.name, " uses ", printed.shared_bytes,
                                " bytes of shared memory and is launched with ",
                                kernel.shared_bytes));
    }
    const std::string what = CheckRoundings(printed, slots);
    if (!what.empty()) return Wrong(absl::StrCat(kernel.name, ": ", what));
    const bool shares = std::any_of(printed.variables.begin(), printed.variables.end(),
                                    [](const Variable& v) { return v.shared; });
    // Each role would have an array of its own.
    if (shares && RolesOf(printed).size() > 1) {
      return NotChecked(absl::StrCat(kernel.name, " shares arrays between warpgroups"));
    }
    for (const codegen::BulkSource& map : printed.maps) {
      if (!IsMap(map)) return Wrong(absl::StrCat(kernel.name, " has a map that no copy can use"));
      const bool read = std::count(kernel.reads.begin(), kernel.reads.end(), map.slot) > 0;
      if (!read) return Wrong(absl::StrCat(kernel.name, " copies a tensor that it does not read"));
    }
    if (printed.streams != kernel.streamed.has_value()) {
      return NotChecked(absl::StrCat(kernel.name, " is said to stream, or not to"));
    }
    if (!printed.rounds) return absl::OkStatus();
    const bool stored = options_.precision == codegen::ProductPrecision::kStored;
    bool allowed = stored ? !printed.streams && RoundsNothing(printed, slots)
                          : FormatOf(options_.precision) == printed.words;
    if (printed.streams) {
      // Instead of the precision's, a rounding that the operators have anyway.
      const std::optional<DType> rounded = meanings_[0].free_rounding();
      if (rounded) allowed = FormatOf(*rounded) == printed.words;
    }
    if (allowed) return absl::OkStatus();
    return Wrong(absl::StrCat(kernel.name, " rounds factors to ", NameOf(printed.words),
                              ", which no precision allows"));
  }

  // What the copy engine takes, of 16-bit numbers in lines of 128 bytes.
  static bool IsMap(const codegen::BulkSource& map) {
    constexpr size_t kLeastRank = 2, kMostRank = 5;
    constexpr int64_t kStep = 8, kLine = 64, kMostBox = 256;
    const size_t rank = map.dims.size();
    if (rank < kLeastRank || rank > kMostRank || map.strides.size() != rank ||
        map.box.size() != rank || map.offset % kStep != 0 || map.strides[0] != 1 ||
        map.box[0] != kLine) {
      return false;
    }
    for (size_t d = 0; d < rank; ++d) {
      if (map.dims[d] < 1 || map.box[d] < 1 || map.box[d] > kMostBox) return false;
      if (d > 0 && map.strides[d] % kStep != 0) return false;
    }
    return true;
  }

  static Words FormatOf(codegen::ProductPrecision precision) {
    switch (precision) {
      case codegen::ProductPrecision::kTf32:
        return Words::kTf32;
      case codegen::ProductPrecision::kF32x3:
        return Words::kF32x3;
      case codegen::ProductPrecision::kF16:
        return Words::kF16;
      case codegen::ProductPrecision::kBf16:
        return Words::kBf16;
      default:
        return Words::kNone;
    }
  }
  static Words FormatOf(DType dtype) {
    return dtype == DType::kF16 ? Words::kF16 : dtype == DType::kBF16 ? Words::kBf16 : Words::kNone;
  }

  // The same for a statement of the kernel, in a part or in a function that computes a part.
  absl::Status CheckNumbersOf(const GridKernel& kernel, const PrintedKernel& printed,
                              const Statement& s, size_t part) {
    if (s.kind == Statement::Kind::kBlock && !s.body.empty() && s.body[0]->variable >= 0) {
      part = std::max(printed.variables[s.body[0]->variable].call, 0);
    }
    if (s.kind == Statement::Kind::kDeclare) {
      const Variable& v = printed.variables[s.variable];
      if (absl::Status s = CheckNumber(kernel, v.type, v.name, part); !s.ok()) return s;
    }
    const bool stores = s.kind == Statement::Kind::kStore || s.kind == Statement::Kind::kStoreCell;
    if (stores && !IsReal(s.value->type) && !meanings_[part].integers()) {
      // Reals saturate when they are stored, and integers wrap.
      const int slot =
          s.kind == Statement::Kind::kStore ? s.slot : printed.variables[s.variable].slot;
      const DType dtype = program_.slots[slot].dtype;
      if (!IsFloat(dtype) && dtype != DType::kBool && dtype != DType::kI64) {
        return Wrong(absl::StrCat(kernel.name,
                                  " stores an integer, which wraps, where its operators saturate"));
      }
    }
    std::vector<const Expr*> open;
    for (const ExprPtr& index : s.indices) open.push_back(index.get());
    if (s.value != nullptr) open.push_back(s.value.get());
    while (!open.empty()) {
      const Expr& e = *open.back();
      open.pop_back();
      if (absl::Status s = CheckNumber(kernel, e.type, "an expression", part); !s.ok()) return s;
      for (const ExprPtr& arg : e.args) open.push_back(arg.get());
    }
    std::vector<const Statement*> inner = {s.first.get(), s.next.get()};
    for (const StatementPtr& statement : s.body) inner.push_back(statement.get());
    for (const Statement* statement : inner) {
      if (statement == nullptr) continue;
      absl::Status status = CheckNumbersOf(kernel, printed, *statement, part);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckNumber(const GridKernel& kernel, Type type, absl::string_view name,
                           size_t part) {
    if (!IsReal(type)) return absl::OkStatus();
    const bool is_float = type == Type::kFloat;
    std::optional<bool>& floats = floats_[part];
    if (meanings_[part].integers() || (floats && *floats != is_float)) {
      return Wrong(absl::StrCat(kernel.name, ": ", name, " is a ", NameOf(type),
                                ", and other numbers are not"));
    }
    floats = is_float;
    return absl::OkStatus();
  }

  // Operators may need f64 only for local integers, such as positions, that are small here.
  bool FloatsSuffice() const {
    constexpr int64_t kExact = 1 << 24;
    for (const codegen::GridSlot& slot : program_.slots) {
      if (slot.dtype == DType::kF64 || slot.elements > kExact) return false;
    }
    return std::none_of(program_.outputs.begin(), program_.outputs.end(), [&](int slot) {
      const DType dtype = program_.slots[slot].dtype;
      return !IsFloat(dtype) && SizeOf(dtype) > 2;
    });
  }

  // What is rounded when it is stored, a result or a temporary, would be read as if it were not.
  absl::Status CheckReadBack() const {
    std::set<int> written;
    for (const GridKernel& kernel : program_.kernels) {
      written.insert(kernel.writes.begin(), kernel.writes.end());
    }
    for (const GridKernel& kernel : program_.kernels) {
      for (int slot : kernel.reads) {
        size_t part = 0;
        while (part + 1 < parts_.size() && parts_[part + 1].first_slot <= slot) ++part;
        const DType dtype = program_.slots[slot].dtype;
        const bool exact =
            meanings_[part].integers()
                ? dtype == DType::kI64
                : dtype == DType::kF64 || (dtype == DType::kF32 && floats_[part].value_or(false));
        if (exact || written.count(slot) == 0) continue;
        return NotChecked(absl::StrCat(kernel.name, " reads back what was rounded"));
      }
    }
    return absl::OkStatus();
  }

  // A kernel that writes memory which it reads must not promise that its pointers are distinct.
  absl::Status CheckPromises(const GridKernel& kernel, const PrintedKernel& printed) const {
    auto used = [](const std::vector<int>& slots, int slot) {
      return std::count(slots.begin(), slots.end(), slot) > 0;
    };
    for (const auto& [from, to] : options_.in_place) {
      if (SizeOf(program_.slots[from].dtype) != SizeOf(program_.slots[to].dtype)) {
        return NotChecked("two tensors of different types share memory");
      }
      const bool both = used(kernel.reads, from) && used(kernel.writes, to);
      if (both && (used(printed.distinct, from) || used(printed.distinct, to))) {
        return Wrong(absl::StrCat(kernel.name, " promises that tensors ", from, " and ", to,
                                  " share no memory, but they do"));
      }
    }
    return absl::OkStatus();
  }

  // Random operands of one part, whose indices may be below `indices`, and the results of its
  // nodes. How large indices may be, and whether they may be negative, is tried out. OutOfRange if
  // indices in turn are outside the tensors that they index.
  absl::Status DrawPart(size_t p, int64_t indices, const std::optional<Extremes>& extremes,
                        uint64_t seed) {
    const ProgramPart& part = parts_[p];
    const bool in_turn = in_turn_ && meanings_[p].LeastPositions() > 0;
    if (in_turn) indices = in_turn_->axis;
    for (;; indices = (indices + 1) / 2) {
      for (const bool negative : {true, false}) {
        if (negative && inside_) continue;
        std::vector<const SlotMemory*> operands;
        for (size_t k = 0; k < part.operands.size(); ++k) {
          SlotMemory& memory = memory_[part.first_slot + k];
          const int64_t least = negative ? -indices : 0;
          memory = in_turn ? meanings_[p].DrawInTurn(k, least, indices, seed, in_turn_->turn)
                           : meanings_[p].Draw(k, least, indices, seed, few_);
          operands.push_back(&memory);
        }
        auto results = meanings_[p].Evaluate(operands, floats_[p].value_or(false), extremes);
        if (results.ok()) {
          if (results->size() != part.outputs.size()) {
            return NotChecked(absl::StrCat("its operators have ", results->size(),
                                           " results, its kernels ", part.outputs.size()));
          }
          for (size_t k = 0; k < part.outputs.size(); ++k) {
            expected_.emplace_back(part.outputs[k], std::move((*results)[k]));
          }
          return absl::OkStatus();
        }
        if (in_turn && !negative && absl::IsOutOfRange(results.status())) return results.status();
        if (!absl::IsOutOfRange(results.status()) || (indices == 1 && !negative)) {
          return NotChecked(std::string(results.status().message()));
        }
      }
    }
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
      if (absl::Status s = DrawPart(p, indices, extremes, seed + 1000 * p); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  void PrepareResults() {
    std::vector<bool> operand(program_.slots.size(), false), integers = operand;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const ProgramPart& part = parts_[p];
      std::fill(integers.begin() + part.first_slot, integers.end(), meanings_[p].integers());
      for (size_t k = 0; k < part.operands.size(); ++k) operand[part.first_slot + k] = true;
    }
    for (size_t slot = 0; slot < operand.size(); ++slot) {
      if (operand[slot]) continue;
      SlotMemory& memory = memory_[slot];
      memory.dtype = program_.slots[slot].dtype;
      memory.integers = integers[slot];
      memory.values.assign(program_.slots[slot].elements, 0);
      memory.written.assign(program_.slots[slot].elements, false);
    }
    ShareMemory();
  }

  // Gives slots that are one memory, also by way of others, one record of who touched it.
  void ShareMemory() {
    std::vector<int> group(memory_.size());
    std::iota(group.begin(), group.end(), 0);
    for (const auto& [from, to] : options_.in_place) {
      std::replace(group.begin(), group.end(), int{group[from]}, int{group[to]});
    }
    touched_.clear();
    for (size_t g = 0; g < group.size(); ++g) {
      if (std::count(group.begin(), group.end(), static_cast<int>(g)) < 2) continue;
      auto touched = std::make_unique<Touched>();
      int64_t size = 0;
      for (size_t slot = 0; slot < group.size(); ++slot) {
        if (group[slot] != static_cast<int>(g)) continue;
        memory_[slot].touched = touched.get();
        size = std::max(size, memory_[slot].size());
      }
      touched->reader.assign(size, Touched::kNobody);
      touched->writer = touched->reader;
      touched_.push_back(std::move(touched));
    }
  }

  absl::Status Compare(const std::optional<Extremes>& extremes, uint64_t seed) {
    if (absl::Status s = Draw(extremes, seed); !s.ok()) return s;
    if (absl::Status s = RunKernels(extremes, nullptr); !s.ok()) return s;
    return CompareResults();
  }

  absl::Status RunKernels(const std::optional<Extremes>& extremes, bool* reported) {
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
      const absl::Status s = RunKernel(absl::MakeSpan(kernels_[k]), kernel.blocks,
                                       absl::MakeSpan(memory_), extremes, &work, reported);
      if (!s.ok()) return absl::Status(s.code(), absl::StrCat(kernel.name, ": ", s.message()));
    }
    return absl::OkStatus();
  }

  // With indices that lie outside, accesses must stay inside, and the kernels must report it. Tries
  // those just outside of every dimension, and far ones.
  absl::Status TryInvalidIndices(uint64_t seed) {
    std::set<int64_t> tried = {-(int64_t{1} << 40), int64_t{1} << 40};
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!meanings_[p].has_indices()) continue;
      for (const Value& v : parts_[p].operands) {
        for (int64_t dim : v.shape()) tried.insert({dim, dim - 1, -dim, -dim - 1});
      }
    }
    if (tried.size() == 2) return absl::OkStatus();
    for (int64_t index : tried) {
      if (absl::Status s = TryIndex(index, std::nullopt, seed); !s.ok()) return s;
    }
    if (fused()) return absl::OkStatus();
    for (const uint64_t one : {uint64_t{0}, Mix(seed) >> 1, Mix(seed + 1) >> 1}) {
      if (absl::Status s = TryIndex(int64_t{1} << 40, one, seed); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // All indices are `index`, or all but one are 0: that number `one` of each operand.
  absl::Status TryIndex(int64_t index, std::optional<uint64_t> one, uint64_t seed) {
    bool invalid = false;
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::vector<const SlotMemory*> operands;
      for (size_t k = 0; k < parts_[p].operands.size(); ++k) {
        SlotMemory& memory = memory_[parts_[p].first_slot + k];
        memory = meanings_[p].Draw(k, index, index + 1, seed + 1000 * p, false);
        if (one && memory.size() > 0) {
          const uint64_t at = *one % memory.values.size();
          const int64_t value = memory.values[at];
          memory = meanings_[p].Draw(k, 0, 1, seed + 1000 * p, false);
          memory.values[at] = value;
        }
        operands.push_back(&memory);
      }
      const auto results = meanings_[p].Evaluate(operands, floats_[p].value_or(false), {});
      invalid = invalid || absl::IsOutOfRange(results.status());
    }
    bool reported = false;
    if (absl::Status s = RunKernels(std::nullopt, &reported); !s.ok()) return s;
    if (!invalid || reported) return absl::OkStatus();
    // Operators that are fused may drop a read, and its check with it, if its value is not used.
    const std::string what = "an index outside its tensor is not reported";
    return fused() ? NotChecked(what) : Wrong(what);
  }

  bool fused() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const ProgramPart& part) { return part.nodes.size() > 1; });
  }

  // Element i of the kept operand, as an integer or as an element of the field.
  int64_t KeptElement(int64_t i, bool as_integer) const {
    const SlotMemory& kept = memory_[program_.kept];
    if (!kept.integers || as_integer) return kept.values[i];
    return static_cast<int64_t>(Field(kept.values[i]).raw());
  }

  absl::Status CompareResults() const {
    for (const auto& [slot, expected] : expected_) {
      const SlotMemory& actual = memory_[slot];
      if (actual.size() != expected.size()) {
        return Wrong(absl::StrCat("tensor ", slot, " has ", actual.size(), " elements"));
      }
      for (int64_t i = 0; i < actual.size(); ++i) {
        const int64_t value =
            actual.integers ? Wrapped(expected.values[i], actual.dtype) : expected.values[i];
        if (!actual.written[i]) {
          if (program_.kept >= 0 && KeptElement(i, actual.integers) == value) continue;
          return Wrong(absl::StrCat("element ", i, " of tensor ", slot, " is not written"));
        }
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
  std::vector<Meaning> meanings_;            // by part
  std::vector<std::optional<bool>> floats_;  // by part: whether numbers are f32; nullopt: none are
  std::vector<std::vector<PrintedKernel>> kernels_;  // by role
  std::vector<SlotMemory> memory_;                   // by slot
  std::vector<std::pair<int, SlotMemory>> expected_;
  std::vector<std::unique_ptr<Touched>> touched_;
  struct InTurn {
    int64_t axis, turn;
  };
  std::optional<InTurn> in_turn_;  // indices are the positions of an axis of this size, in turn
  bool streams_ = false;           // whether a kernel streams a softmax
  bool few_ = false;               // whether operands are drawn from few numbers
  bool inside_ = false;            // whether indices are drawn from numbers that are not negative
};

}  // namespace

ProgramVerdict CheckProgram(const GridProgram& program, absl::Span<const ProgramPart> parts,
                            const ProgramCheckOptions& options) {
  const absl::Status status = Checker(program, parts, options).Run();
  ProgramVerdict verdict;
  verdict.reason = std::string(status.message());
  verdict.kind = status.ok()                          ? ProgramVerdict::Kind::kAgrees
                 : absl::IsFailedPrecondition(status) ? ProgramVerdict::Kind::kWrong
                                                      : ProgramVerdict::Kind::kNotChecked;
  return verdict;
}

}  // namespace lemma::kernels
