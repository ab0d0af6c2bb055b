// Reads the two models that a referee compares. Internal to api/refereeing.
#ifndef LEMMA_API_REFEREEING_SIDES_H_
#define LEMMA_API_REFEREEING_SIDES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "api/referee.h"

namespace lemma::api {

// Reads a model as `options` says. Dimensions to which `options` gives no size stay symbolic.
absl::StatusOr<Model> LoadSide(const std::string& path, const RefereeOptions& options);
// The same for the second model. If it cannot be read with options.dims, it is read without them;
// if it then has a symbolic dimension or cannot be read either, returns the error of the first
// attempt.
absl::StatusOr<Model> LoadAfter(const std::string& path, const RefereeOptions& options);

// The differences between default values of the models' inputs, one line each.
// If a caller leaves out an input with a difference, the models may give
// different results. An input for which only the second model has a default
// value is no difference.
std::vector<std::string> DefaultDifferences(const Model& before, const Model& after);

}  // namespace lemma::api

#endif  // LEMMA_API_REFEREEING_SIDES_H_
