// What program this is.
#ifndef LEMMA_CLI_VERSION_H_
#define LEMMA_CLI_VERSION_H_

#include <string>

namespace lemma::cli {

inline constexpr char kVersion[] = "0.1.0";

// "lemma 0.1.0" and a line per back end.
std::string VersionText();

}  // namespace lemma::cli

#endif  // LEMMA_CLI_VERSION_H_
