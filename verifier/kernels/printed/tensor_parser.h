// Reads what kernels for tensor cores declare and call: shared memory by bytes and pointers into
// it, words, barriers, copies, products. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_TENSOR_PARSER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_TENSOR_PARSER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/kernels/printed/expression_parser.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

class TensorParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

 protected:
  // Reads the declaration at the cursor into `block` if it is one of those that the head of this
  // file names; otherwise returns false and reads nothing.
  bool AcceptTensorDeclaration(Statement* block);
  // The same for a statement; nullptr if it is another or if reading failed.
  StatementPtr AcceptTensorStatement();
  // "const __grid_constant__ BulkMap map_a": the name. Maps are numbered in this order.
  void MapParameter();
  // Writes what the functions above have found out.
  void Finish(PrintedKernel* kernel) const;

 private:
  using Function = Call::Function;

  // --- Declarations ---
  void SharedBytes();
  // "NAME = POINTER;", after the type.
  void BytePointer(Statement* block);
  void BarrierPointer(Statement* block);
  void Descriptor(Statement* block);
  // "(*const NAME)[n] = reinterpret_cast<TYPE (*)[n]>(POINTER);", after the type.
  void ArrayPointer(Statement* block, Pointee pointee, const std::string& type);
  // "NAME[n][m], …;" with a dimension of `numbers` added.
  void Arrays(Statement* block, Type type, int64_t numbers);
  void Coordinates(Statement* block);
  void LoadStaged(Statement* block);
  void DeclarePointer(Statement* block, std::string name, Pointee pointee,
                      std::vector<int64_t> dims, ExprPtr value);

  // --- Statements ---
  StatementPtr MakeWord();
  StatementPtr LoadWord();
  StatementPtr StorePack();
  StatementPtr StoreFloat();
  StatementPtr MultiplyAdd(const std::string& words);
  StatementPtr BarrierCall(Function function, bool argument);
  StatementPtr CopyInBulk();
  StatementPtr ProductCall(Function function);
  // A call with sizes in <> or none, and arguments that are integers or arrays.
  StatementPtr PlainCall(Function function, int sizes, int args, int places);

  // --- Parts ---
  ExprPtr WordsFrom();
  // "shared + n": bytes from the start of the block's shared memory.
  ExprPtr Bytes();
  // "TileDescriptor(POINTER, rows_adjacent)" or a variable that holds one, whose lines must be
  // rows or depths as said.
  ExprPtr TileAt(bool rows_adjacent);
  // "NAME[i][j]", also "NAME.at[i]".
  std::optional<Place> PlaceAt();
  // "&NAME[i]" or, of a pointer, "NAME".
  std::optional<Place> AddressAt();
  bool Flag();
  void TakeWords(const std::string& name);
  bool IsPointer(const std::string& name, Pointee pointee) const;
  ExprPtr Sum(ExprPtr a, ExprPtr b) const;

  int region_ = -1;  // the variable that is the block's shared memory
  int64_t shared_bytes_ = 0;
  int64_t meeting_threads_ = 0;  // of all calls of SyncThreads; 0: there is none
  bool warpgroups_ = false, rounds_ = false, streams_ = false;
  Words words_ = Words::kNone;
  std::map<std::string, int64_t> maps_;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_TENSOR_PARSER_H_
