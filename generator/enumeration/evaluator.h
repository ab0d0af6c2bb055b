// Evaluates graphs of an operator set on random inputs, in the field of graph/expr/field.h, and
// hashes their values to keys. Graphs with equal keys may be equal (enumerator.h).
#ifndef LEMMA_GENERATOR_ENUMERATION_EVALUATOR_H_
#define LEMMA_GENERATOR_ENUMERATION_EVALUATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "generator/enumeration/kernel.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

// Not thread-safe, because it compiles kernels on first use; only Known() may be called by several
// threads at once.
class Evaluator {
 public:
  // `set` must outlive this object.
  Evaluator(OperatorSet* set, uint64_t seed);

  static constexpr int kNone = -1;  // in place of a missing operand or its type

  // A hash function for values of one type.
  struct TypeHash {
    uint64_t dims_hash = 0;  // a hash of the type's dimensions
    int num_sampled = 0;     // number of elements that KeyOf reads
    // The key of a value with these elements at SampleOf(type). Keys are nonzero, and even: the
    // lowest bit is free for a mark of the enumerator.
    uint64_t KeyOf(const Field* sampled) const;
  };
  // A variant applied to operands of certain types.
  struct Application {
    int variant = 0;
    std::vector<int> types;  // of the outputs
    Graph graph;
    std::vector<TypeHash> type_hashes;  // of the outputs
    const Kernel* sampled = nullptr;    // computes only the elements at SampleOf of each output
    // Computes all elements; compiled by the first RunFull.
    mutable const Kernel* whole = nullptr;
    bool commutative = false, distinct = false;  // as in Variant
  };
  // The applications of all variants that take operands of these types; kNone for a missing
  // operand. The result lives as long as the evaluator.
  absl::StatusOr<const std::vector<Application>*> Applications(int type0, int type1);
  // The result of Applications if it was called with these types before, else nullptr. Several
  // threads may call Known at once while no thread calls another function.
  const std::vector<Application>* Known(int type0, int type1) const {
    const size_t row = static_cast<size_t>(type0 + 1), column = static_cast<size_t>(type1 + 1);
    return row < applications_.size() && column < applications_[row].size()
               ? applications_[row][column].get()
               : nullptr;
  }
  // Computes all elements of the outputs and stores them in *out, one output after the other.
  // `operands` has kMostOperands pointers, each to all elements of an operand; nullptr if there is
  // no such operand.
  absl::Status RunFull(const Application& application, const Field* const* operands,
                       std::vector<Field>* out);

  // The positions of the elements on which the key of a value of this type depends.
  const std::vector<int>& SampleOf(int type);
  // A hash of the dimensions and of the elements at SampleOf(type), in this order.
  uint64_t KeyOf(int type, const Field* sampled) { return TypeHashOf(type).KeyOf(sampled); }

  // A new key that depends on `key` and on all elements. It is even and nonzero.
  static uint64_t Refined(uint64_t key, absl::Span<const Field> elements);

  int num_inputs() const { return num_inputs_; }
  int64_t NumElements(int type) const;
  // Random elements for each input of the set (small integers if Input::small), and then for
  // further inputs of the types `more_types` (small integers if Input::small of the first input).
  std::vector<std::vector<Field>> RandomInputs(uint64_t seed,
                                               const std::vector<int>& more_types = {}) const;
  // The same with small integers, all of one sign within each input. Signs matter where max and
  // relu meet sums and products, and random field elements are almost never all negative.
  std::vector<std::vector<Field>> SignedInputs(uint64_t seed,
                                               const std::vector<int>& more_types = {}) const;

  // A hash of the dimensions and of all elements of the outputs, on three further choices of random
  // inputs. InvalidArgument if an operator of the graph does not take its operands.
  absl::StatusOr<uint64_t> ExactKey(const NumberedGraph& graph);
  // Whether the outputs of both graphs have the same dimensions and elements on further random
  // inputs, some of them as in SignedInputs. Inputs after the inputs of the set have the types
  // `more_types`. Errors as in ExactKey.
  absl::StatusOr<bool> Confirm(const Pair& pair, const std::vector<int>& more_types = {});

 private:
  TypeHash TypeHashOf(int type);
  absl::StatusOr<const Kernel*> KernelOf(const Graph& graph, bool sampled);
  absl::StatusOr<std::vector<std::vector<Field>>> EvaluateGraph(
      const NumberedGraph& graph, const std::vector<std::vector<Field>>& inputs,
      const std::vector<int>& more_types = {});
  int TypeOfInput(int input, const std::vector<int>& more_types) const;
  std::vector<std::vector<Field>> ConfirmingInputs(int round,
                                                   const std::vector<int>& more_types) const;

  OperatorSet* const set_;
  const int num_inputs_;
  const uint64_t seed_;
  KernelCompiler compiler_;
  std::vector<std::vector<std::unique_ptr<std::vector<Application>>>> applications_;  // by types
  absl::flat_hash_map<uint64_t, std::unique_ptr<Kernel>> kernels_;
  std::map<std::vector<int64_t>, std::vector<int>> samples_;
  absl::flat_hash_map<int, const std::vector<int>*> samples_of_type_;
  std::vector<std::vector<std::vector<Field>>> exact_inputs_, confirming_inputs_;
  std::vector<Field> scratch_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_EVALUATOR_H_
