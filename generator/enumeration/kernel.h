// Applies a variant to flat arrays of field elements (graph/expr/field.h), fast.
//
// No operator is defined a second time here. The definition in the operator table gives a loop
// program. For most linear and bilinear operators, a table replaces the program: the program is run
// on chosen vectors (such as 1, 2, 4, …), and its results show which elements it adds or
// multiplies. The table is kept only if it agrees with the program on random vectors
// (node_program.cc). If the operator is a polynomial of degree d and has no Boolean operands, a
// wrong table passes this test with a probability of at most d / 2^61. Other operators run as loop
// programs. A mistake here could lose candidates, but not make a false rule, because every rule is
// proved later.
//
// Values must be proper field elements (Field::is_special() false).
#ifndef LEMMA_GENERATOR_ENUMERATION_KERNEL_H_
#define LEMMA_GENERATOR_ENUMERATION_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/field.h"
#include "graph/graph.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma::generator {

// How one operator application is computed: by a table if possible. x[…] are the elements of all
// operands, y[…] the elements of all outputs, each numbered consecutively.
struct NodeProgram {
  enum class Kind {
    kLinear,       // y[row] = coefficient * sum of x[a]
    kBilinear,     // y[row] = sum of x[a] * x[b]
    kElementwise,  // y[i] = f(x[i])
    kProgram,      // anything else
  };
  struct Entry {
    int a = 0, b = 0;  // b: kBilinear only
  };
  Kind kind = Kind::kProgram;
  std::vector<Entry> entries;  // row by row; a row is one element y[row]
  std::vector<int> row_end;    // tables only: by row, the end of its entries
  Field coefficient = Field(1);
  NodePtr node;
  std::vector<int> operand_offset;  // where each operand's elements begin, then the end
  int num_elements = 0;             // number of elements of all outputs together

  bool is_table() const { return kind == Kind::kLinear || kind == Kind::kBilinear; }
  int RowBegin(int row) const { return row == 0 ? 0 : row_end[row - 1]; }
};

// A compiled application. Several threads may call Run at once with different scratch memory.
class Kernel {
 public:
  // Stores the wanted elements (KernelCompiler::Compile) of the first output in `out`, and then the
  // wanted elements of the second output: num_wanted() elements in all. `operands`: all elements of
  // each operand, row-major. *scratch may be empty; Run enlarges it as needed.
  void Run(absl::Span<const Field* const> operands, Field* out, std::vector<Field>* scratch) const;
  int num_wanted() const { return static_cast<int>(gather_.size()); }

 private:
  friend class KernelCompiler;
  // An element's position: bank << kBankShift | offset. Banks are the variant's operands, then the
  // scratch memory.
  using Source = uint32_t;
  static constexpr int kBankShift = 29, kMostOperands = 2;
  struct Step {
    NodeProgram::Kind kind = NodeProgram::Kind::kProgram;
    bool copy = false;  // each y[row] is one element, unchanged
    std::vector<int> row_end;
    std::vector<Source> a, b;
    Field coefficient;
    // kElementwise and kProgram: the positions of the operands' elements. Run first copies these
    // elements to position `argument_at` of the scratch memory.
    std::vector<Source> arguments;
    std::vector<std::vector<int64_t>> operand_strides, output_strides;
    std::vector<int> operand_sizes, output_sizes;
    std::shared_ptr<LoopProgram> program;
    int out = 0, size = 0;  // position in the scratch memory, and size
    int argument_at = 0;
  };
  static void RunTable(const Step& step, const Field* const* banks, Field* scratch);
  static void RunProgram(const Step& step, const Field* const* banks, Field* scratch);
  static Field At(const Field* const* banks, Source s) {
    return banks[s >> kBankShift][s & ((Source{1} << kBankShift) - 1)];
  }

  std::vector<Step> steps_;
  std::vector<Source> gather_;                    // the positions of the wanted elements, in order
  std::vector<std::pair<int, Field>> constants_;  // stored in scratch memory first
  int scratch_size_ = 0;
};

// Compiles applications. Probes each application of an operator only once.
class KernelCompiler {
 public:
  explicit KernelCompiler(uint64_t seed) : state_(seed) {}

  // The graph may have at most two inputs. `wanted`: for each of its outputs, the row-major
  // positions of the elements to compute.
  absl::StatusOr<Kernel> Compile(const Graph& graph, const std::vector<std::vector<int>>& wanted);
  // How the operator of `node` is computed. The result lives as long as the compiler.
  absl::StatusOr<const NodeProgram*> ProgramOf(const NodePtr& node);

 private:
  template <class Number>
  absl::StatusOr<std::vector<Number>> Evaluate(const NodeProgram& form,
                                               const std::vector<Number>& x);
  absl::StatusOr<bool> ProbeLinear(NodeProgram* form);
  absl::StatusOr<bool> ProbeBilinear(NodeProgram* form);
  absl::StatusOr<bool> ProbeElementwise(NodeProgram* form);
  absl::StatusOr<bool> Agrees(const NodeProgram& form);
  std::vector<Field> Random(int n);

  uint64_t state_;
  absl::flat_hash_map<const Node*, std::unique_ptr<NodeProgram>> node_programs_;
  absl::flat_hash_map<const Node*, std::shared_ptr<LoopProgram>> programs_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_KERNEL_H_
