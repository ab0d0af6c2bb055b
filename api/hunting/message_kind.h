// Reduces error messages of an engine to their kinds.
#ifndef LEMMA_API_HUNTING_MESSAGE_KIND_H_
#define LEMMA_API_HUNTING_MESSAGE_KIND_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lemma::hunt {

// The message without names, numbers and paths, cut off after 120 bytes. Similar messages become
// equal, so that they can be counted together.
std::string MessageKind(absl::string_view message);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_MESSAGE_KIND_H_
