// Macros that return early on errors.
#ifndef LEMMA_BASE_STATUS_MACROS_H_
#define LEMMA_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0)); evaluates an expression that gives a StatusOr. If
// it is not OK, returns its status from the calling function; otherwise assigns its value. The
// macro expands to several statements, so an `if` needs braces around it.
#define LEMMA_ASSIGN_OR_RETURN(declaration, expression) \
  LEMMA_ASSIGN_OR_RETURN_IMPL(LEMMA_CONCAT(status_or_, __LINE__), declaration, expression)
#define LEMMA_ASSIGN_OR_RETURN_IMPL(temporary, declaration, expression) \
  auto temporary = (expression);                                        \
  if (!temporary.ok()) return temporary.status();                       \
  declaration = *std::move(temporary)
#define LEMMA_CONCAT(a, b) LEMMA_CONCAT_IMPL(a, b)
#define LEMMA_CONCAT_IMPL(a, b) a##b

// LEMMA_RETURN_IF_ERROR(Check()); evaluates an expression that gives a Status. If it is not OK,
// returns it from the calling function.
#define LEMMA_RETURN_IF_ERROR(expression)                     \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#endif  // LEMMA_BASE_STATUS_MACROS_H_
