// Reads expressions and declared names of a printed kernel. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_EXPRESSION_PARSER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_EXPRESSION_PARSER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "verifier/kernels/printed/lexer.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// A pointer parameter of a function.
struct Parameter {
  int slot = -1;          // the slot that it points to
  bool constant = false;  // true: points to const, the slot is only read; false: only written
};

// Each function consumes the tokens that it reads. After the first error, functions return nullptr,
// nullopt or a default value, and error() describes the first error, with the line.
class ExpressionParser {
 public:
  // `slots` must outlive the parser. `threads`: per block.
  ExpressionParser(std::vector<Token> tokens, absl::Span<const SlotInfo> slots, int threads)
      : tokens_(std::move(tokens)), slots_(slots), threads_(threads) {}

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

 protected:
  struct Names {
    std::map<std::string, Parameter> parameters;
    std::vector<std::map<std::string, int>> scopes;  // numbers of variables, innermost scope last
    bool has_error = false;                          // whether there is a parameter `error`
  };

  // --- Tokens ---
  // Peek: the token `ahead` tokens after the next one. Is: whether this token is `text`. Accept: if
  // the next token is `text`, consumes it and returns true. Expect: fails unless Accept succeeds.
  // Name: consumes a name.
  const Token& Peek(size_t ahead = 0) const;
  bool Is(absl::string_view text, size_t ahead = 0) const;
  bool Accept(absl::string_view text);
  void Expect(absl::string_view text);
  std::string Name();
  // A positive integer constant.
  int64_t Size();
  // Sizes joined by * and /, evaluated from left to right.
  int64_t Extent();
  std::nullptr_t Fail(const std::string& what);
  size_t position() const { return at_; }
  void MoveTo(size_t position) { at_ = position; }

  // --- Names ---
  // Adds the variable to the innermost scope. Returns its number.
  int Declare(Variable variable);
  // Sets the shape of the arrays that a pointer points to. The pointer itself remains one cell.
  void SetDims(int variable, std::vector<int64_t> dims);
  // The number of the variable of that name; nullopt if there is none in scope.
  std::optional<int> Find(const std::string& name) const;
  const Variable& VariableAt(int number) const { return variables_[number]; }
  // The slot of a pointer parameter. Fails unless the parameter points to non-const (if `writes`)
  // or to const (otherwise).
  int SlotNamed(const std::string& name, bool writes);
  DType DTypeOf(int slot) const { return slots_[slot].dtype; }

  // --- Types ---
  // Reads "int", "unsigned", "unsigned int", "int64", "float", "double" or "bool"; nullopt for any
  // other token.
  std::optional<Type> AcceptType();
  // Reads the name of an element type; nullopt for any other token.
  std::optional<DType> AcceptElementType();

  // --- Expressions ---
  ExprPtr Expression();
  // An integer expression.
  ExprPtr Index();
  // A condition: an expression of type bool.
  ExprPtr Truth();
  // `e` as `type`. `e` must have this type; or both are integer types; or `type` is real and `e` is
  // the integer constant 0.
  ExprPtr As(Type type, ExprPtr e);
  // An integer expression that reads no array.
  ExprPtr ArrayIndex();
  // [i][j]… of a variable.
  std::vector<ExprPtr> Indices(int variable);
  // "p + e" with a pointer parameter p: returns e and sets *slot. `writes`: as for SlotNamed.
  ExprPtr Pointer(bool writes, int* slot);

  Names names_;
  std::vector<Variable> variables_;
  int call_ = -1;          // the number of the call that is being inlined; -1: none
  std::string declaring_;  // the variable whose initial value is being read; it has no value yet

 private:
  ExprPtr Disjunction();
  ExprPtr Conjunction();
  ExprPtr Equality();
  ExprPtr Comparison();
  ExprPtr Sum();
  ExprPtr Product();
  ExprPtr Unary();
  ExprPtr Primary();
  ExprPtr Number();
  ExprPtr Cast(Type type);
  ExprPtr CalledFunction(const std::string& name);
  ExprPtr LoadCall();
  ExprPtr BitsOfByte(bool low);
  ExprPtr LoadedElement(Type number);
  ExprPtr IndexCall(const std::string& name);
  ExprPtr Function(const std::string& name);
  ExprPtr GroupReduce(bool block);
  ExprPtr Binary(Expr::Op op, ExprPtr a, ExprPtr b, bool compares);
  static std::optional<Type> Common(const Expr& a, const Expr& b);

  std::vector<Token> tokens_;
  absl::Span<const SlotInfo> slots_;
  int threads_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_EXPRESSION_PARSER_H_
