// Operators of one's own, defined in text files (docs/operators-of-your-own.md). Code:
// api/definitions.
#ifndef LEMMA_API_DEFINE_H_
#define LEMMA_API_DEFINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma::api {

// Reads a file of definitions and makes its operators known to the process: graphs, rules, ONNX
// models and operator sets may use them from then on. Returns the operators' names. A file may be
// read again. InvalidArgument, with file, line and column, for an error in the text or a name that
// another operator has; NotFound if there is no such file.
absl::StatusOr<std::vector<std::string>> DefineOperators(const std::string& path);

// What CheckOperator found.
struct OperatorCheck {
  std::string page;  // signature, definition, attributes and an example, as in docs/operators.md
  bool differentiable = false;
  int applications = 0;  // tried, of small sizes; 0: none was found
  // Of these, where gradients were compared: in f64, where results and gradients are finite.
  int gradients = 0;
  // Greatest differences, relative to the greatest result or to 1: between the CPU back end and the
  // reference, in f32, and between gradients and finite differences, in f64.
  double execution_error = 0, gradient_error = 0;
  // What is wrong, for people; empty if nothing is.
  std::vector<std::string> problems;
};

// Tries the operator `name`, which DefineOperators has made known, on random values: its kernels
// against its definition, its gradient against finite differences.
absl::StatusOr<OperatorCheck> CheckOperator(const std::string& name);

}  // namespace lemma::api

#endif  // LEMMA_API_DEFINE_H_
