// A printed kernel as a tree, which the checker executes. parser.h makes it from a kernel's text.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_PRINTED_KERNEL_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_PRINTED_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::kernels {

// The types of the subset of CUDA C++ that kernels are printed in.
enum class Type {
  kBool,
  kInt,
  kUnsigned,
  kInt64,
  kFloat,
  kDouble,
  kElement,  // of a tensor, as it is stored
  kPointer,  // into the block's shared memory: a number of bytes from its start
  kWord,     // of 32 bits, with one or two factors of a product on tensor cores
  kRow,      // the prelude's StreamedRow
};
const char* NameOf(Type type);
// Whether an integer is a value of the type.
bool Fits(Type type, int64_t value);
inline bool IsReal(Type type) { return type == Type::kFloat || type == Type::kDouble; }
inline bool IsIndex(Type type) {
  return type == Type::kInt || type == Type::kUnsigned || type == Type::kInt64;
}

// What a pointer points to.
enum class Pointee {
  kNone,
  kBytes,
  kWords,
  kFloats,
  kBarriers,
  kRows,    // a tile as a descriptor says it, with a line for each row
  kDepths,  // a tile with a line for each depth
};

struct Variable {
  std::string name;
  Type type = Type::kInt;
  int slot = -1;  // kElement: the slot whose elements it holds
  // kPointer: what it points to, or what the arrays of `dims` that it points to consist of.
  Pointee pointee = Pointee::kNone;
  // Of an array; empty: one cell. A word ends with a dimension of 2, for its numbers; a row with
  // one of kRowNumbers.
  std::vector<int64_t> dims;
  int64_t cells = 1;
  bool constant = false;
  bool shared = false;
  // All threads that may read it hold the same value, so it is stored once.
  bool uniform = false;
  // The machine remembers which cells have been assigned: it is declared without a value, is not
  // shared, and is no array of reals, where NaN marks unassigned cells. Set by the machine.
  bool tracked = false;
  int call = -1;      // the function call, by number, in which it is; -1: none
  int64_t place = 0;  // of its first cell, set by the machine
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  enum class Kind {
    kLiteral,   // `value`
    kBlock,     // blockIdx.x
    kThread,    // threadIdx.x
    kVariable,  // a cell of `variable` at the indices `args`
    kBinary,    // args[0] op args[1], of integers
    kCompare,   // the same; a truth value
    kNegate,
    kNot,
    kAnd,          // args[1] is evaluated only where args[0] is true
    kOr,           // args[1] is evaluated only where args[0] is false
    kChoose,       // args[0] ? args[1] : args[2]
    kConvert,      // args[0] as `type`
    kFunction,     // fn(args)
    kRead,         // Load<type>(p[args[0]]) of `slot`
    kElementOf,    // Load<type>(args[0]), a cell of a pack
    kWarpReduce,   // WarpReduce of args[0] by fn
    kBlockReduce,  // BlockReduce of args[0] by fn in shared memory `variable`
  };
  enum class Op {
    kAdd,
    kSub,
    kMul,
    kDiv,  // towards zero
    kRem,
    kXor,
    kLess,
    kLessEqual,
    kEqual,
    // Functions of the prelude.
    kFloorDiv,     // the divisor must be positive
    kFloorDivOr0,  // 0 unless the divisor is positive; kModOr0 likewise
    kModOr0,
    kLeast,
    kGreatest,
  };
  // Special literals of real types. kNoScore is -inf as the score of a key that does not exist.
  enum class Special { kNone, kInfinity, kNaN, kNoScore };

  Kind kind = Kind::kLiteral;
  Type type = Type::kInt;
  Op op = Op::kAdd;
  ScalarFn fn = ScalarFn::kAdd;
  Special special = Special::kNone;
  int64_t value = 0;
  double real = 0;  // a literal of a real type
  int variable = -1, slot = -1;
  std::vector<ExprPtr> args;
  bool uniform = false;  // the same for all threads of a block; set by analysis
  // An integer that depends on threadIdx.x and constants only. Set by analysis.
  bool steady = false;
  int64_t scratch = 0;  // where its values begin in the machine's buffer
  // A steady integer's values as the machine knows them: when they were computed, and their range.
  int64_t known_at = 0, least = 0, most = 0;
};

// A cell of a variable or, with fewer indices than dimensions, the array from that cell on.
struct Place {
  int variable = -1;
  std::vector<ExprPtr> indices;
};

// The formats of factors on tensor cores; the prelude's types WordsTf32, ….
enum class Words { kNone, kTf32, kF32x3, kF16, kBf16 };
const char* NameOf(Words words);
inline int NumbersPerWord(Words words) {
  return words == Words::kF16 || words == Words::kBf16 ? 2 : 1;
}
// The numbers that the machine keeps of a StreamedRow: the unit of its exponentials, the thread's
// part of their sum, and the last factor.
constexpr int64_t kRowNumbers = 3;

// A call of a function of the prelude that changes memory or waits. The functions of prelude.cuh
// and prelude_sm90.cuh with these names say what they do.
struct Call {
  enum class Function {
    kMakeWord,     // places[0] = Make(args[0], args[1]), or Join
    kLoadWord,     // places[0] = places[1], which lies in shared memory
    kStoreWords,   // StorePack<sizes[0]>(&places[0], places[1])
    kMultiplyAdd,  // MultiplyAdd(&places[0], &places[1], places[2], places[3])
    kLoadStaged,   // places[0] = LoadStaged<sizes[0]>(&places[1])
    kStoreFloats,  // args to places[0] and the floats after it
    kInitBarrier,  // (&places[0], args[0])
    kPublishBarriers,
    kArrive,           // (&places[0])
    kArriveExpecting,  // (&places[0], args[0])
    kWaitFor,          // (&places[0], args[0])
    kCopyInBulk,       // (args[0], map `sizes[0]`, &places[0], places[1])
    kSyncThreads,      // <sizes[0]>
    kSyncWarp,
    kTakeTurn,       // (args[0])
    kPassTurn,       // (args[0])
    kGiveRegisters,  // <sizes[0]>
    kTakeRegisters,  // <sizes[0]>
    kBeginProducts,
    kCommitProducts,
    kWaitForProducts,  // <sizes[0]>
    // places[0] += args[0] * args[1], descriptors; sizes: eighths of the columns, whether it adds.
    kMultiplyAddTiles,
    kMultiplyAddWords,  // places[0] += places[1] * args[0]; sizes[0]: eighths of the columns
    kTakeSums,          // (places[0])
    kTakeScores,        // (places[0], places[1])
    kScaleSums,         // (places[0], places[1])
    kDivideSums,        // (places[0], places[1])
    kPackScores,        // (places[0], places[1])
  };
  Function function = Function::kSyncWarp;
  std::vector<Place> places;
  std::vector<ExprPtr> args;
  std::vector<int64_t> sizes;
  bool joins = false;  // kMakeWord: Join, which cuts numbers off
};

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;

struct Statement {
  enum class Kind {
    kBlock,      // body
    kDeclare,    // variable, with value unless nullptr
    kAssign,     // a cell of variable at `indices` = value
    kStoreCell,  // Store(&pack.at[indices], value)
    kIf,         // value; body[0], body[1] if there is one
    kFor,        // `first`, value (nullptr: forever), `next`; body[0]
    kReturn,
    kBreak,
    kStore,      // Store(p + indices[0], value) to `slot`
    kLoadPack,   // declares variable as the elements of `slot` from indices[0] on
    kStorePack,  // the elements of variable to `slot` from indices[0] on
    kBarrier,
    kError,  // *error = …: an index is outside its tensor
    kCall,   // `call`
  };
  Kind kind = Kind::kBlock;
  int variable = -1, slot = -1;
  std::vector<ExprPtr> indices;
  ExprPtr value;
  std::vector<StatementPtr> body;
  StatementPtr first, next;
  std::unique_ptr<Call> call;
  // Whether the threads of a block may take different branches here; set by analysis.
  bool diverges = false;
  // Whether a thread may return or break inside; set by analysis.
  bool exits = false;
  // kAssign of cell = fn_add(cell, fn_mul(a, b)) with uniform indices; set by analysis.
  bool accumulates = false;
};

// The tensors of a program as the kernels see them.
struct SlotInfo {
  DType dtype = DType::kF32;
  int64_t elements = 0;
};

struct PrintedKernel {
  int threads = 0;            // per block: the number in __launch_bounds__
  int calls = 0;              // number of function calls, all of which are inlined
  std::vector<int> distinct;  // slots whose pointers are __restrict__: they share no memory
  bool one_block = false;     // one block at a time on a multiprocessor, as promised
  // Bytes of shared memory that the launch has to provide, and whether the copy engine and
  // products by warpgroup use it.
  int64_t shared_bytes = 0;
  bool warpgroups = false;
  Words words = Words::kNone;
  bool rounds = false;   // whether it makes words of numbers that may have more digits
  bool streams = false;  // whether it has rows of a softmax
  std::vector<codegen::BulkSource> maps;
  std::vector<Variable> variables;
  StatementPtr body;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_PRINTED_KERNEL_H_
