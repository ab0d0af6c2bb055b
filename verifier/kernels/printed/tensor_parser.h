// Parses those declarations and calls that only kernels for tensor cores have: dynamic shared
// memory and pointers into it, words (Type::kWord), barriers, copies, products. Internal to
// verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_TENSOR_PARSER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_TENSOR_PARSER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/kernels/printed/expression_parser.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// A base class of the parser of whole kernels (parser.cc).
class TensorParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

 protected:
  // Reads a declaration for tensor cores and adds it to `block`. For any other declaration, reads
  // at most "[[maybe_unused]]" and returns false.
  bool AcceptTensorDeclaration(Statement* block);
  // Reads a call for tensor cores, without its ";". For any other statement, reads nothing and
  // returns nullptr. nullptr also if reading failed.
  StatementPtr AcceptTensorStatement();
  // Reads a parameter "const __grid_constant__ BulkMap NAME". Maps are numbered in order, from 0.
  void MapParameter();
  // Sets shared_bytes, warpgroups, words, rounds and streams of `kernel`. Call it at the end.
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

  // --- Statements (tensor_statements.cc) ---
  static StatementPtr MakeCall(Function function);
  StatementPtr MakeWord();
  StatementPtr MakeByteWord(StatementPtr statement, Place to);
  StatementPtr LoadWord();
  StatementPtr StorePack();
  StatementPtr StoreFloat();
  StatementPtr MultiplyAdd(const std::string& words);
  // `argument`: whether the call has an argument after the barrier.
  StatementPtr BarrierCall(Function function, bool argument);
  StatementPtr CopyInBulk();
  StatementPtr ProductCall(Function function);
  // "<size>(args, places)" behind a function's name: `sizes` (0 or 1) template arguments, `args`
  // integers, `places` arrays.
  StatementPtr PlainCall(Function function, int sizes, int args, int places);

  // --- Parts ---
  // "shared_words + n": in bytes, from the start of the block's shared memory.
  ExprPtr WordsFrom();
  // "shared + n": bytes from the start of the block's shared memory.
  ExprPtr Bytes();
  // "TileDescriptor(POINTER, rows_adjacent)" or a variable with such a descriptor. Fails unless the
  // tile has lines by depth (`rows_adjacent`) or by row (otherwise).
  ExprPtr TileAt(bool rows_adjacent);
  // "NAME[i][j]", also "NAME.at[i]".
  std::optional<Place> PlaceAt();
  // "&NAME[i]" or, of a pointer, "NAME".
  std::optional<Place> AddressAt();
  // "true" or "false".
  bool Flag();
  // Sets words_ to the format of that name; fails if the kernel uses another one.
  void TakeWords(const std::string& name);
  bool IsPointer(const std::string& name, Pointee pointee) const;
  ExprPtr Sum(ExprPtr a, ExprPtr b) const;

  int region_ = -1;  // the variable that is the block's shared memory; -1: not declared yet
  int64_t shared_bytes_ = 0;
  int64_t meeting_threads_ = 0;  // SyncThreads<meeting_threads_> in all calls; 0: no call so far
  bool warpgroups_ = false, rounds_ = false, streams_ = false;
  Words words_ = Words::kNone;
  std::map<std::string, int64_t> maps_;  // numbers, by name
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_TENSOR_PARSER_H_
