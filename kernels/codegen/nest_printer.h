// Prints a loop nest's expressions as CUDA C++.
#ifndef LEMMA_KERNELS_CODEGEN_NEST_PRINTER_H_
#define LEMMA_KERNELS_CODEGEN_NEST_PRINTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/dtype.h"
#include "kernels/codegen/number.h"
#include "kernels/loops/loop_ir.h"

namespace lemma::codegen {

// Bounds of `p`, derived from the bounds of its terms; nullopt if they are unknown or if their
// magnitudes exceed 9e15.
std::optional<Interval> BoundsOf(const loops::Nest& nest, const Affine& p);
// Whether the magnitudes of all indices of `nest`, of their intermediate results, and of products
// of extents are below 2^30, so that `int` holds them. False if a bound is unknown.
bool FitsInt(const loops::Nest& nest);

// Emits statements that compute the values of nodes. Each value is computed in the outermost open
// scope to which it may move (Open), and is reused while this scope is open. Index arithmetic that
// reads no tensor may move out of any scope that does not define its variables. The caller opens a
// scope for each block of code, asks for values, closes the scopes and joins the blocks.
class NestPrinter {
 public:
  // Which reads of a reduction load several elements along the reduction's last axis at once.
  struct ReductionPack {
    std::vector<int> reads;  // nodes
    int width = 1;           // elements that a thread takes at once; 1: one by one
  };
  struct Options {
    Number number = Number::kFloat;  // the arithmetic of values
    bool wide = false;               // 64-bit indices
    // Every name except the names of slots begins with this text. Nests that are printed into one
    // kernel need different prefixes.
    std::string prefix;
    // The number of threads that compute a cooperative reduction (SetCooperative) together: 32 (a
    // warp), or all threads of the block. 1: no reduction is cooperative.
    int group = 1;
    // Reads of this slot are replaced by the expression `value`. -1: no reads are replaced.
    int value_slot = -1;
    std::string value;
    std::vector<DType> storage;  // the type of each slot in memory; empty: not known
  };
  // `nest` must outlive the printer.
  NestPrinter(const loops::Nest& nest, Options options);

  // Opens a scope in which the loop variables `vars` have values; the caller's code declares them
  // under the names VarName. A transparent scope runs at least once whenever the enclosing scope
  // runs, so values that depend on none of its variables may move out of it.
  void Open(std::vector<int> vars, bool transparent);
  // Returns the scope's statements.
  std::string Close();
  // Appends a statement to the innermost scope.
  void Add(const std::string& text);

  // The name of a loop variable.
  std::string VarName(int var) const;
  // The next three functions return an expression and emit the statements that it needs.
  // The expression of an index.
  std::string AffineText(const Affine& p);
  // The same for the first element of a pack (consecutive elements that are loaded together). In
  // the expression, the variable of SetPacked has the name VarName(var) + "_start"; the caller's
  // code declares it.
  std::string PackStartText(const Affine& p);
  // The value of a node: a name, a constant or Options::value.
  std::string Value(int node);

  // Options::group threads compute these reductions together. The extents of their axes must be
  // constants. The caller's code declares `lane`, the thread's number in the group, and, if the
  // group is a block, the array `shared`, which has one number per warp in shared memory. The code
  // contains barriers, so the free variables of `nodes` must have equal values in all threads of
  // the group.
  // packs[i] tells how many steps of nodes[i] a thread takes at once, and which reads it packs. If
  // packs[i] is missing, the thread takes one step at a time.
  void SetCooperative(std::vector<int> nodes, std::vector<ReductionPack> packs);
  // The reads `nodes` load `width` consecutive elements along `var` at once, outside of the scope
  // that defines `var`. Within this scope, the expression `index` selects the element.
  void SetPacked(std::vector<int> nodes, int var, int width, std::string index);

  // The slots that the code reads, in the order of their first reads.
  const std::vector<int>& slots() const { return slots_; }
  // Whether the code checks an index, so that it may write *error (GridKernel::checks).
  bool checks() const { return checks_; }
  // The name of a slot's pointer; adds the slot to slots().
  std::string SlotName(int slot);
  const char* index_type() const { return options_.wide ? "int64" : "int"; }
  const Options& options() const { return options_; }

 private:
  enum class ValueKind { kNode, kInteger, kLeaf, kPack };
  struct Scope {
    std::vector<int> vars;
    bool transparent = true;
    std::string text;
    std::map<std::pair<ValueKind, int>, std::string> known;
  };

  std::string Memo(ValueKind kind, int id);
  std::string Compute(ValueKind kind, int id, const std::string& name);
  size_t LevelFor(ValueKind kind, int id) const;
  const loops::Vars& DepsOf(ValueKind kind, int id) const;

  std::string LeafValue(int term, const std::string& name);
  std::string Node(int node, Number number, const std::string& name);
  std::string Read(int node, Number number, const std::string& name);
  // The element that a read without checks reads, as it is stored.
  std::string ElementText(int node);
  // The name of the pack that a read is part of.
  std::string PackName(int node);
  // If `node` is the quotient (rounded down) or the remainder of a stored byte
  // and a power of two: the code that computes it; otherwise "".
  std::string BitsOfByte(int node, Number number);
  // If `node` is such a quotient: the node that reads the byte, and the power
  // of two; otherwise nullopt.
  std::optional<std::pair<int, int>> QuotientOfByte(int node) const;
  std::string Select(int node, Number number, const std::string& name);
  std::string Reduce(int node, Number number, const std::string& name);
  std::string CooperativeReduce(int node, Number number, const std::string& name);
  void Accumulate(const loops::Node& node, Number number, const std::string& name);
  void AccumulatePacks(const loops::Node& node, Number number, const std::string& name,
                       const ReductionPack& pack);
  std::string Condition(int cond);
  std::string Argument(int node, Number number);
  bool Loads(int cond) const;
  bool LoadsAffine(const Affine& p) const;
  std::string Declare(Number number, const std::string& name, const std::string& value);

  const loops::Nest& nest_;
  Options options_;
  std::vector<Scope> scopes_;
  std::vector<int> slots_;
  std::vector<int> cooperative_, packed_;
  std::vector<ReductionPack> packs_;  // by cooperative reduction
  int packed_var_ = -1, packed_width_ = 1;
  std::string packed_index_;
  bool at_pack_start_ = false;
  bool checks_ = false;
  int names_ = 0;
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NEST_PRINTER_H_
