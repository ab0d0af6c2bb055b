// Sorts the error messages of an engine.
#ifndef LEMMA_API_HUNTING_MESSAGE_KIND_H_
#define LEMMA_API_HUNTING_MESSAGE_KIND_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lemma::hunt {

// The message without names, numbers and paths, cut off after 120 bytes, so that similar messages
// can be counted.
std::string MessageKind(absl::string_view message);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_MESSAGE_KIND_H_
