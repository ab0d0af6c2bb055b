// Executes a printed kernel for every thread of its grid, in exact arithmetic, and checks every
// access. Internal to verifier/kernels.
//
// Numbers of real types are elements of the field (graph/expr/field.h), int64 numbers are integers
// that wrap. Control flow and addresses are integers, computed as C++ computes them, and a result
// that overflows its type is a fault. The threads of a block run in lockstep, which is one of the
// orders that a GPU may choose. All orders give the same values, since conflicting accesses without
// a barrier between them are faults.
#ifndef LEMMA_VERIFIER_KERNELS_MACHINE_H_
#define LEMMA_VERIFIER_KERNELS_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/expr/field.h"
#include "verifier/kernels/extremes.h"
#include "verifier/kernels/memory.h"
#include "verifier/kernels/printed_kernel.h"

namespace lemma::kernels {

class Machine {
 public:
  // `kernel` must have been analyzed (analysis.h); the machine sets the places of its variables.
  // `slots`: the program's memory. *work: the number of operations that are left, for all kernels
  // of a program. `reported`: set to true if the kernel reports an index as outside its tensor; if
  // nullptr, such a report is a fault. All arguments must outlive the machine.
  Machine(PrintedKernel* kernel, absl::Span<SlotMemory> slots,
          const std::optional<Extremes>& extremes, int64_t* work, bool* reported);

  // Executes all threads of `blocks` blocks. FailedPrecondition for a fault of the kernel;
  // ResourceExhausted if *work is used up.
  absl::Status Run(int64_t blocks);

 private:
  // The values of all threads, or one for all of them.
  struct Operand {
    const int64_t* data = nullptr;
    bool uniform = false;
    int64_t offset = 0;  // added to all values; not 0 only if they number cells
    int64_t At(int thread) const { return data[uniform ? 0 : thread] + offset; }
  };
  struct Range {
    int64_t least = 0, most = 0;
  };
  // The threads of a block that run.
  struct Mask {
    std::vector<uint8_t> on;  // by thread
    int count = 0;
  };

  // --- Statements (machine.cc) ---
  // Removes threads that return or break from `mask`, which is not empty.
  void Execute(const Statement& s, Mask* mask);
  void Declare(const Statement& s, const Mask& mask);
  void Assign(const Statement& s, const Mask& mask);
  bool Accumulate(const Statement& s, const Mask& mask);
  void If(const Statement& s, Mask* mask);
  void For(const Statement& s, Mask* mask);
  void Store(const Statement& s, const Mask& mask);
  void StoreCell(const Statement& s, const Mask& mask);
  void LoadPack(const Statement& s, const Mask& mask);
  void StorePack(const Statement& s, const Mask& mask);
  void Barrier(const Mask& mask);
  Mask Where(const Mask& mask, const Operand& condition, bool value) const;

  // --- Expressions (machine_expressions.cc) ---
  Operand Evaluate(const Expr& e, const Mask& mask);
  Operand Binary(const Expr& e, const Mask& mask);
  Operand Logical(const Expr& e, const Mask& mask);
  Operand Choose(const Expr& e, const Mask& mask);
  Operand Convert(const Expr& e, const Mask& mask);
  Operand Function(const Expr& e, const Mask& mask);
  Operand Extreme(const Expr& e, Operand a, Operand b);
  Operand Load(const Expr& e, const Mask& mask);
  Operand LoadCell(const Expr& e, const Mask& mask);
  Operand ElementOf(const Expr& e, const Mask& mask);
  Operand WarpReduce(const Expr& e, const Mask& mask);
  Operand BlockReduce(const Expr& e, const Mask& mask);
  void Combine(const Expr& e, int64_t* sum, const int64_t* with);
  // The values, and their range, of an index that is the sum of a steady integer and a uniform one:
  // the sum is not computed for each thread. False if the index is anything else.
  bool Steady(Expr* e, const Mask& mask, Operand* values, Range* range);
  // The cell of an array at `indices`.
  Operand Cell(int variable, const std::vector<ExprPtr>& indices, const Mask& mask);
  int64_t LoadAs(Type type, const SlotMemory& slot, int64_t element) const;
  int64_t StoredIn(const SlotMemory& slot, int64_t number, Type type) const;
  // The element of a slot that a thread reads, 0 after a fault.
  int64_t ReadElement(int slot, int64_t index, int thread);
  void WriteElement(int slot, int64_t index, int thread, int64_t value);

  int64_t* Scratch(const Expr& e) { return &scratch_[static_cast<size_t>(e.scratch)]; }
  int64_t* Registers(int variable) {
    return &registers_[static_cast<size_t>(kernel_.variables[variable].place)];
  }
  // Marks a thread's cell of a tracked variable as assigned.
  void Set(const Variable& v, int64_t cell, int thread);
  // A fault if a thread's cell of a tracked variable is not assigned.
  void CheckSet(const Variable& v, const Operand& cell, const Mask& mask);
  void Place();
  void Place(Expr* e);
  void Place(Statement* s);
  void Fault(const std::string& what, int thread);
  void Spend(int64_t operations);
  bool stopped() const { return !status_.ok(); }

  PrintedKernel& kernel_;
  absl::Span<SlotMemory> slots_;
  const std::optional<Extremes>& extremes_;
  int64_t* work_;
  bool* reported_;
  int threads_;
  int64_t block_ = 0;
  int64_t now_ = 0;  // grows when the value of a steady integer may change (Expr::known_at)
  std::vector<int64_t> scratch_, registers_, cells_, thread_numbers_;
  std::vector<uint8_t> set_;          // by register: whether it has been assigned
  std::vector<SharedMemory> shared_;  // by variable; of 0 cells if it is not shared
  std::vector<Mask*> loops_;          // the threads that broke out of each open loop
  absl::Status status_;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MACHINE_H_
