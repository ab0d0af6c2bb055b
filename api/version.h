// The version of the program.
#ifndef LEMMA_API_VERSION_H_
#define LEMMA_API_VERSION_H_

#include <string>

namespace lemma::api {

inline constexpr char kVersion[] = "0.1.0";

// "lemma 0.1.0", then a line with the name and version of each back end of BackendNames()
// (api/execution/backends.h). Defined in api/execution/backends.cc.
std::string VersionText();

}  // namespace lemma::api

#endif  // LEMMA_API_VERSION_H_
