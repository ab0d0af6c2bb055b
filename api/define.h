// Reads and tests operators that users define in text files (docs/operators-of-your-own.md). Code:
// api/definitions.
#ifndef LEMMA_API_DEFINE_H_
#define LEMMA_API_DEFINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma::api {

// Reads a file of definitions and makes its operators known to the process: graphs, rules, ONNX
// models and operator sets may use them from then on. Returns the operators' names. A file may be
// read again. InvalidArgument if the text has an error (the message begins with file, line and
// column), defines no operators, or gives an operator the name of another operator; NotFound if
// there is no such file.
absl::StatusOr<std::vector<std::string>> DefineOperators(const std::string& path);

// The result of CheckOperator.
struct OperatorCheck {
  std::string page;  // the operator's section, as OperatorPage (api/inspect.h) gives it
  bool differentiable = false;
  // The number of applications tried. An application is the operator with attributes and operands
  // of small sizes. 0: none was found.
  int applications = 0;
  // The number of these applications whose gradients were compared. Gradients are compared in f64,
  // and only if results and gradients are finite.
  int gradients = 0;
  // The greatest differences over all applications. `execution_error`: between the CPU back end and
  // the reference, in f32, divided by the greatest absolute result or by 1, whichever is greater.
  // `gradient_error`: between an element of a gradient and its finite difference, in f64, divided
  // by the absolute value of the finite difference or by 1, whichever is greater.
  double execution_error = 0, gradient_error = 0;
  // One text for people about each problem; empty if there is none.
  std::vector<std::string> problems;
};

// Tries the operator `name`, which DefineOperators has made known, on random values: its kernels
// against its definition, its gradient against finite differences. InvalidArgument if there is no
// such operator.
absl::StatusOr<OperatorCheck> CheckOperator(const std::string& name);
// The result for people: the page, what was tried, and the problems.
std::string TextOf(const OperatorCheck& check);

}  // namespace lemma::api

#endif  // LEMMA_API_DEFINE_H_
