// The syntax tree of a printed kernel (a CUDA kernel that kernels/codegen generated as text).
// parser.h makes the tree from the text; the kernel check executes it (verifier/kernels/machine.h).
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
  kElement,  // an element of a tensor, as it is stored
  kPointer,  // a position in the block's shared memory, in bytes from the memory's start
  kWord,     // 32 bits, with one, two or four factors of a product on tensor cores
  kRow,      // the prelude's StreamedRow
};
const char* NameOf(Type type);
// Whether `value` is in the range of `type`, which must be an integer type (IsIndex).
bool Fits(Type type, int64_t value);
inline bool IsReal(Type type) { return type == Type::kFloat || type == Type::kDouble; }
inline bool IsIndex(Type type) {
  return type == Type::kInt || type == Type::kUnsigned || type == Type::kInt64;
}

// What a pointer into shared memory points to.
enum class Pointee {
  kNone,
  kBytes,
  kWords,
  kFloats,
  kBarriers,  // barriers of the copy engine, of 8 bytes each
  kRows,      // a factor's tile for wgmma, with a line of 128 bytes for each row
  kDepths,    // a factor's tile with a line for each depth (index over which the product sums)
};

struct Variable {
  std::string name;
  Type type = Type::kInt;
  int slot = -1;  // kElement: the slot whose elements it holds
  // kPointer: what it points to. If `dims` is not empty, it points to arrays of shape `dims`, and
  // this is the kind of their elements.
  Pointee pointee = Pointee::kNone;
  // The shape of an array; empty: one cell. An array of words has a last dimension of 2: a cell for
  // each number of a word or, if a word has four numbers, for each pair. An array of rows has a
  // last dimension of kRowNumbers.
  std::vector<int64_t> dims;
  int64_t cells = 1;      // the product of `dims`; 1 for a pointer
  bool constant = false;  // whether it is declared const
  bool shared = false;    // whether it is a __shared__ array
  // Whether all threads that may read the variable hold the same value; it is then stored once. Set
  // by analysis (analysis.h).
  bool uniform = false;
  // Whether the machine remembers which cells have been assigned. Set by the
  // machine: true for a variable that is declared without a value, is not
  // shared, and is no array of reals, words or rows. (In arrays of reals or
  // words, NaN marks unassigned cells. Rows start with zeros.)
  bool tracked = false;
  int call = -1;      // the number of the inlined function call that declares it; -1: the kernel
  int64_t place = 0;  // where its first cell is in the machine's registers; set by the machine
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  enum class Kind {
    kLiteral,   // `value`; `real` or `special` for a real type
    kBlock,     // blockIdx.x
    kThread,    // threadIdx.x
    kVariable,  // a cell of `variable` at the indices `args`
    kBinary,    // args[0] op args[1], of integers
    kCompare,   // args[0] op args[1]; a truth value
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
    kRem,  // the remainder of kDiv
    kXor,
    kLess,
    kLessEqual,
    kEqual,
    // Functions of the prelude.
    kFloorDiv,     // the divisor must be positive
    kFloorDivOr0,  // 0 unless the divisor is positive
    kModOr0,       // 0 unless the divisor is positive
    kLeast,
    kGreatest,
  };
  // Special literals of real types. kInfinity has the sign of `real`. kNoScore is -inf, used as the
  // score of an attention key that does not exist.
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
  // Whether this is an integer that depends only on threadIdx.x, literals, and variables that are
  // single cells and declared const. Set by analysis.
  bool steady = false;
  int64_t scratch = 0;  // where its values begin in the machine's buffer; set by the machine
  // For a steady integer, set by the machine: when its values were computed, and their range.
  int64_t known_at = 0, least = 0, most = 0;
};
// An expression of a kind without operands, or with one.
ExprPtr MakeExpr(Expr::Kind kind, Type type);
ExprPtr MakeExpr(Expr::Kind kind, Type type, ExprPtr operand);

// A cell of a variable or, with fewer indices than dimensions, the array from that cell on.
struct Place {
  int variable = -1;
  std::vector<ExprPtr> indices;
};

// The formats in which tensor cores take factors: the prelude's types WordsTf32, …. kF32x3: each
// product of f32 is computed as three products of tf32. kU8I8: the left factor's numbers are of
// type u8, the right factor's of type i8; sums are i32. kNone: the kernel uses no tensor cores.
enum class Words { kNone, kTf32, kF32x3, kF16, kBf16, kU8U8, kU8I8, kI8U8, kI8I8 };
const char* NameOf(Words words);
inline bool AreBytes(Words words) { return words >= Words::kU8U8; }
inline int NumbersPerWord(Words words) {
  return AreBytes(words) ? 4 : words == Words::kF16 || words == Words::kBf16 ? 2 : 1;
}
// The type of a factor's numbers, for a format of bytes.
inline DType ByteTypeOf(Words words, bool right) {
  const bool unsigned_left = words == Words::kU8U8 || words == Words::kU8I8;
  const bool unsigned_right = words == Words::kU8U8 || words == Words::kI8U8;
  return (right ? unsigned_right : unsigned_left) ? DType::kU8 : DType::kI8;
}
inline bool IsByte(DType dtype, int64_t value) {
  return dtype == DType::kU8 ? value >= 0 && value <= 255 : value >= -128 && value <= 127;
}
// The machine keeps three numbers for a StreamedRow:
//   * the unit: the number by which all exponentials of the row are multiplied. Each tile draws a
//     new unit (verifier/kernels/machine_products.cc);
//   * this thread's part of the sum of the exponentials;
//   * the new unit divided by the unit before the last tile; 0 after the first tile.
constexpr int64_t kRowNumbers = 3;

// A call of a prelude function that changes memory or waits. The comments in
// kernels/codegen/prelude.cuh and prelude_sm90.cuh say what the functions do. The comments below
// show the arguments of each function in order, and its template arguments in <>.
struct Call {
  enum class Function {
    // places[0] = Make(args[0], args[1]), or Join if `joins`. For a word of four bytes: MakeA(args)
    // if sizes[0] is 0 (left factor), MakeB(args) if it is 1.
    kMakeWord,
    kLoadWord,     // places[0] = places[1], which lies in shared memory
    kStoreWords,   // StorePack<sizes[0]>(&places[0], places[1])
    kMultiplyAdd,  // MultiplyAdd(&places[0], &places[1], places[2], places[3])
    kLoadStaged,   // places[0] = LoadStaged<sizes[0]>(&places[1])
    kStoreFloats,  // stores args in places[0] and the floats after it
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
    // For the next two functions, which compute products A * B, `sizes` are: the number of columns
    // divided by 8; 1 if the product is added to places[0], 0 if it replaces places[0]; 1 if A's
    // tile has a line for each depth (Pointee::kDepths), otherwise 0; the same for B's tile.
    kMultiplyAddTiles,  // places[0] += args[0] * args[1], which are starts of tiles, in bytes
    kMultiplyAddWords,  // places[0] += places[1] * args[0]
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
  bool joins = false;  // kMakeWord: Join, which truncates numbers to bf16
};

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;

struct Statement {
  enum class Kind {
    kBlock,      // body
    kDeclare,    // declares variable, with value unless that is nullptr
    kAssign,     // a cell of variable at `indices` = value
    kStoreCell,  // Store(&pack.at[indices], value)
    kIf,         // body[0] if value is true; otherwise body[1], if there is one
    kFor,        // runs `first`; while value is true (nullptr: always), runs body[0] and `next`
    kReturn,
    kBreak,
    kStore,      // Store(p + indices[0], value) to `slot`
    kLoadPack,   // declares variable as the elements of `slot` from indices[0] on
    kStorePack,  // stores the elements of variable in `slot` from indices[0] on
    kBarrier,    // __syncthreads()
    kError,      // *error = …: an index is outside its tensor
    kCall,       // `call`
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
  // Whether this is a kAssign of the form cell = fn_add(cell, fn_mul(a, b)) with real numbers,
  // uniform indices and a variable that is not shared; set by analysis.
  bool accumulates = false;
};

// A tensor of a program (codegen::GridSlot) as the program's kernels see it.
struct SlotInfo {
  DType dtype = DType::kF32;
  int64_t elements = 0;
};

// A kernel as ParseKernel returns it (parser.h).
struct PrintedKernel {
  int threads = 0;            // per block: the number in __launch_bounds__
  int calls = 0;              // number of function calls, all of which are inlined
  std::vector<int> distinct;  // slots whose pointers are __restrict__: they share no memory
  // Whether it has __launch_bounds__(threads, 1): registers for one block on a multiprocessor.
  bool one_block = false;
  int64_t shared_bytes = 0;  // dynamic shared memory that the launch has to provide
  bool warpgroups = false;   // whether it uses barriers of the copy engine, or calls by warpgroups
  Words words = Words::kNone;
  bool rounds = false;   // whether it makes words by rounding, so factors may lose digits
  bool streams = false;  // whether it computes a softmax tile by tile (StreamedRow)
  std::vector<codegen::BulkSource> maps;  // the tensors that the copy engine reads, by map number
  std::vector<Variable> variables;
  StatementPtr body;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_PRINTED_KERNEL_H_
