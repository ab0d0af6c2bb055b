// A printed kernel as a tree, which the checker executes. parser.h makes it from a kernel's text.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_KERNEL_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"

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
};
const char* NameOf(Type type);
// Whether an integer is a value of the type.
bool Fits(Type type, int64_t value);
inline bool IsReal(Type type) { return type == Type::kFloat || type == Type::kDouble; }
inline bool IsIndex(Type type) {
  return type == Type::kInt || type == Type::kUnsigned || type == Type::kInt64;
}

struct Variable {
  std::string name;
  Type type = Type::kInt;
  int slot = -1;              // kElement: the slot whose elements it holds
  std::vector<int64_t> dims;  // of an array; empty: one cell
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
  // Special literals of real types.
  enum class Special { kNone, kInfinity, kNaN };

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
  };
  Kind kind = Kind::kBlock;
  int variable = -1, slot = -1;
  std::vector<ExprPtr> indices;
  ExprPtr value;
  std::vector<StatementPtr> body;
  StatementPtr first, next;
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
  std::vector<Variable> variables;
  StatementPtr body;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_KERNEL_H_
