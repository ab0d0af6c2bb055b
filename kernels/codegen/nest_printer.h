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

// Bounds of `p`, derived from the bounds of its terms; nullopt if unknown or beyond 9e15.
std::optional<Interval> BoundsOf(const loops::Nest& nest, const Affine& p);
// Whether every index of `nest`, and every intermediate result, is below 2^31.
bool FitsInt(const loops::Nest& nest);

// Emits statements that compute the values of nodes. Each value is computed once, in the outermost
// open scope in which it is defined. The caller opens a scope for each block of code, asks for
// values, closes the scopes and joins the blocks.
class NestPrinter {
 public:
  struct Options {
    Number number = Number::kFloat;
    bool wide = false;           // 64-bit indices
    std::string prefix;          // begins every name, if several nests share a kernel
    std::vector<DType> storage;  // of each slot
    // The number of threads that compute a cooperative reduction: 32 or the block's.
    int group = 1;
    // Reads of this slot are replaced by the expression `value`.
    int value_slot = -1;
    std::string value;
  };
  // `nest` must outlive the printer.
  NestPrinter(const loops::Nest& nest, Options options);

  // Opens a scope of `vars`, named by VarName; the caller declares them. A transparent scope runs
  // at least once whenever the enclosing scope runs, so values that depend on none of its variables
  // may move out of it.
  void Open(std::vector<int> vars, bool transparent);
  // Returns the scope's statements.
  std::string Close();
  // Appends a statement to the innermost scope.
  void Add(const std::string& text);

  std::string VarName(int var) const;
  // The expression of an index.
  std::string AffineText(const Affine& p);
  // The same for the first element of a pack (consecutive elements of one memory access).
  std::string PackStartText(const Affine& p);
  // The name or constant that holds the value of a node.
  std::string Value(int node);

  // `group` threads compute these reductions together; `lane` is a thread's number. The code
  // contains barriers, so only nodes whose free variables agree among the threads are allowed.
  void SetCooperative(std::vector<int> nodes) { cooperative_ = std::move(nodes); }
  // These reads load `width` consecutive elements along `var` at once, outside the innermost scope.
  // Inside it, `index` selects the element.
  void SetPacked(std::vector<int> nodes, int var, int width, std::string index);

  // The slots that the code reads, in the order of their first reads; and whether it checks an
  // index and so may write `error` (GridKernel::checks).
  const std::vector<int>& slots() const { return slots_; }
  bool checks() const { return checks_; }
  std::string SlotName(int slot);
  const char* index_type() const { return options_.wide ? "int64" : "int"; }
  const Options& options() const { return options_; }

 private:
  enum class What { kNode, kInteger, kLeaf };
  struct Scope {
    std::vector<int> vars;
    bool transparent = true;
    std::string text;
    std::map<std::pair<What, int>, std::string> known;
  };

  std::string Memo(What what, int id);
  std::string Compute(What what, int id, const std::string& name);
  size_t LevelFor(What what, int id) const;
  const loops::Vars& DepsOf(What what, int id) const;

  std::string LeafValue(int term, const std::string& name);
  std::string Node(int node, Number number, const std::string& name);
  std::string Read(int node, Number number, const std::string& name);
  std::string PackedRead(int node, Number number, const std::string& name);
  std::string Select(int node, Number number, const std::string& name);
  std::string Reduce(int node, Number number, const std::string& name);
  std::string CooperativeReduce(int node, Number number, const std::string& name);
  void Accumulate(const loops::Node& node, Number number, const std::string& name);
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
  int packed_var_ = -1, packed_width_ = 1;
  std::string packed_index_;
  bool at_pack_start_ = false;
  bool checks_ = false;
  int names_ = 0;
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NEST_PRINTER_H_
