// Executes a printed kernel (the text of a generated CUDA kernel, as a tree) for every thread of
// its grid, in exact arithmetic, and checks every access. Internal to verifier/kernels.
//
// Scalar functions (Expr::Kind::kFunction) compute with real numbers as elements of the field
// (graph/expr/field.h), and with int64 numbers as integers that wrap. The integers of control flow
// and addresses are computed as C++ computes them, and a result that overflows its type is a fault.
// The threads of a role (block_memory.h) run in lockstep, which is one of the orders that a GPU may
// choose. All orders give the same values, since conflicting accesses without a barrier between
// them are faults.
#ifndef LEMMA_VERIFIER_KERNELS_MACHINE_H_
#define LEMMA_VERIFIER_KERNELS_MACHINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/expr/field.h"
#include "verifier/kernels/block_memory.h"
#include "verifier/kernels/extremes.h"
#include "verifier/kernels/memory.h"
#include "verifier/kernels/printed/printed_kernel.h"
#include "verifier/kernels/role_schedule.h"

namespace lemma::kernels {

// For a softmax that a kernel streams (computes tile by tile, see docs/cuda.md): by block, role and
// row, the greatest score of the row. Field::Signed orders the scores.
using RowMaxima = std::map<std::tuple<int64_t, int, int>, Field>;

// The state that the machines of all roles of a kernel share. RunKernel (kernel_run.h) makes it.
struct KernelRun {
  absl::Span<SlotMemory> slots;  // the program's tensors
  const std::optional<Extremes>& extremes;
  int64_t* work = nullptr;  // the number of operations left to all kernels of the program
  // Set if the kernel reports an index outside its tensor; nullptr: such a report is a fault.
  bool* reported = nullptr;
  // A kernel that streams a softmax is executed twice. The first execution finds the maxima
  // (`finds_maxima`) and stores no results; the second one uses the maxima. nullptr for any other
  // kernel.
  RowMaxima* maxima = nullptr;
  bool finds_maxima = false;

  std::unique_ptr<BlockMemory> memory;  // nullptr if the kernel has no PrintedKernel::shared_bytes
  RoleSchedule* schedule = nullptr;     // nullptr for a kernel without warpgroups
  std::vector<std::pair<int, int>> roles;  // first thread and number of threads, by role
  // Registers per thread, by role, as GiveRegisters or TakeRegisters set them; 0: neither did.
  std::vector<int64_t> registers;
};

class Machine {
 public:
  // Executes role number `role`. FindUniform (printed/analysis.h) must have analyzed `kernel`. The
  // machine writes into `kernel` where it keeps the values of variables and expressions, so each
  // role needs its own copy of the kernel. `kernel` and `run` must outlive the machine.
  Machine(PrintedKernel* kernel, KernelRun* run, int role);

  // Executes the role's threads in one block. FailedPrecondition for a fault of the kernel;
  // ResourceExhausted if no operation is left.
  absl::Status RunBlock(int64_t block);

 private:
  // The values of an expression: one per thread, or one for all threads (`uniform`).
  struct Operand {
    const int64_t* data = nullptr;
    bool uniform = false;
    int64_t offset = 0;  // added to all values; 0 unless the values are indices of cells
    int64_t At(int thread) const { return data[uniform ? 0 : thread] + offset; }
  };
  // By thread: the number of a cell.
  struct Cells {
    int64_t same = 0;           // of all threads, if `each` is empty
    std::vector<int64_t> each;  // by thread
    int64_t operator[](int thread) const { return each.empty() ? same : each[thread]; }
  };
  struct Range {
    int64_t least = 0, most = 0;
  };
  // The threads of the role that execute a statement.
  struct Mask {
    std::vector<uint8_t> on;  // by thread
    int count = 0;
  };

  // --- Statements (machine.cc) ---
  // Removes from `mask` the threads that return, or that break out of a loop around the statement.
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

  // --- Calls (machine_calls.cc) ---
  void Execute(const Call& call, const Mask& mask);
  void MakeWord(const Call& call, const Mask& mask);
  void MoveWords(const Call& call, const Mask& mask);
  void MultiplyAdd(const Call& call, const Mask& mask);
  // The product of the warp that begins with thread `first`.
  void MultiplyAddWarp(const Call& call, int first, const Cells* sums, const Cells& left,
                       const Cells& right);
  void MakeByteWord(const Call& call, const Mask& mask);
  void MultiplyAddBytes(const Call& call, const Mask& mask);
  void LoadStaged(const Call& call, const Mask& mask);
  void StoreFloats(const Call& call, const Mask& mask);
  // The cell at a place, in a variable in registers. A fault if the array has fewer than `room`
  // cells from this cell on.
  Cells CellsOf(const Place& place, int64_t room, const Mask& mask);
  // By thread: the first byte of a place in shared memory.
  std::vector<int64_t> AddressesOf(const Place& place, const Mask& mask);
  // Reads or writes `count` words or floats (`kind`), of 4 bytes each, from byte `address` on, as
  // one access of a thread. `numbers` has 2 * count entries: one per cell of 2 bytes.
  void AccessShared(bool write, int64_t address, int64_t count, BlockMemory::Kind kind,
                    int64_t* numbers, int thread);
  // The value of `e`, which must be the same in all threads of the mask; otherwise a fault.
  int64_t Common(const Expr& e, const Mask& mask);
  // Reports a fault unless `what`, the answer of BlockMemory, is "".
  void Expect(const char* what, int thread) {
    if (*what != 0) Fault(std::string("shared memory: ") + what, thread);
  }

  // --- Barriers, copies and products by warpgroup (machine_products.cc) ---
  void ExecuteAtBarrier(const Call& call, const Mask& mask);
  void CopyInBulk(const Call& call, const Mask& mask);
  // The first `threads` threads of the block meet. `named`: whether they call SyncThreads rather
  // than __syncthreads.
  void SyncThreads(int64_t threads, bool named, const Mask& mask);
  void MoveRegisters(bool gives, int64_t registers);
  void IssueProduct(const Call& call, const Mask& mask);
  // Reads the factors of a tile from byte `start` on. The tile has a line for each row or, if
  // `rows_adjacent`, for each depth (Pointee::kDepths). In both cases, the result is [rows, 16],
  // row-major.
  std::vector<Field> TileNumbers(int64_t start, bool rows_adjacent, int64_t rows);
  void WaitForProducts(int64_t groups);
  // Whether products use the variable, or their sums in it are not taken yet. Other code must not
  // access it then.
  bool InFlight(int variable) const {
    return !products_.empty() && products_[variable].state != ProductState::kIdle;
  }
  void ExecuteOnRows(const Call& call, const Mask& mask);
  void TakeScores(const Call& call);
  Mask Where(const Mask& mask, const Operand& condition, bool value) const;

  // --- Expressions (machine_expressions.cc) ---
  Operand Evaluate(const Expr& e, const Mask& mask);
  // The value of a uniform expression that is an integer; 0 after a fault.
  int64_t EvaluateUniform(const Expr& e, const Mask& mask);
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
  // For an index that is a steady integer (Expr::steady) plus a uniform integer: its values and
  // their range, found without computing the sum for each thread. False for any other index, or if
  // the sum may overflow.
  bool Steady(Expr* e, const Mask& mask, Operand* values, Range* range);
  // The numbers of a variable in registers, by thread, at `indices`, which must be uniform; nullptr
  // after a fault.
  int64_t* RegistersAt(int variable, const std::vector<ExprPtr>& indices, const Mask& mask);
  // By thread: the number of the cell of an array at `indices`. A fault if an index is outside the
  // array.
  Operand Cell(int variable, const std::vector<ExprPtr>& indices, const Mask& mask);
  // An element of a slot as a number of `type`, and a number of `type` as an element of a slot.
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
  // Notes that code other than products changes a variable; a fault if products use it.
  void Change(int variable);
  // A fault if a thread's cell of a tracked variable is not assigned.
  void CheckSet(const Variable& v, const Operand& cell, const Mask& mask);
  void AssignPlaces();
  void AssignPlaces(Expr* e);
  void AssignPlaces(Statement* s);
  void Fault(const std::string& what, int thread);
  void Spend(int64_t operations);
  bool stopped() const {
    return !status_.ok() || (run_.schedule != nullptr && run_.schedule->stopped());
  }

  // The state of a variable that products by warpgroup add to or read.
  enum class ProductState {
    kIdle,
    kInFlight,  // products that are not complete use it
    kComplete,  // the products are complete, but TakeSums has not been called for it
  };
  struct ProductUse {
    ProductState state = ProductState::kIdle;
    int64_t group = 0;    // of the last product
    bool changed = true;  // whether other code changed it since BeginProducts; true before that
    bool is_sum = false;
    bool weights = false;  // of a softmax: TakeScores was the last to change it
  };

  PrintedKernel& kernel_;
  KernelRun& run_;
  absl::Span<SlotMemory> slots_;
  const std::optional<Extremes>& extremes_;
  const int role_, first_;  // the first thread's number
  int threads_;
  std::vector<ProductUse> products_;  // by variable
  int64_t block_ = 0;
  int returned_ = 0;       // threads of the role that have returned
  int64_t softmaxes_ = 0;  // calls of TakeScores
  // Grows at each block and at each declaration of a constant integer or pointer, because steady
  // integers are computed again then (Expr::known_at).
  int64_t now_ = 0;
  std::vector<int64_t> scratch_, registers_, cells_, thread_numbers_;
  std::vector<uint8_t> set_;  // by register: whether it has been assigned
  // By register that holds a sum of products of bytes: the number of terms so far.
  std::vector<int64_t> terms_;
  std::vector<SharedMemory> shared_;  // by variable; of 0 cells if it is not shared
  std::vector<Mask*> loops_;          // the threads that broke out of each open loop
  absl::Status status_;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MACHINE_H_
