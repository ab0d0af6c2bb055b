// The certificate of a proof by the referee: what others need to repeat the proof that two models
// are equal, without a search.
//
// The certificate is text (docs/referee.md). It says which weights of the second model are computed
// from those of the first one and by which formulas, and which values are equal, operands first.
// For each such pair, it says what its proof takes as given. record_certificate.h makes
// certificates, certificate/check.h checks them.
#ifndef LEMMA_VERIFIER_REFEREE_CERTIFICATE_CERTIFICATE_H_
#define LEMMA_VERIFIER_REFEREE_CERTIFICATE_CERTIFICATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/substitution.h"
#include "verifier/referee/evidence/known_elements.h"

namespace lemma::referee {

// A value: output `output` of the node at `position` in Graph::nodes() of a graph.
struct ValueName {
  enum class Graph {
    kBefore,    // the first model
    kFormulas,  // Certificate::formulas
    kAfter,     // the second model, with inputs and outputs in the order of the first one. Stands
                // for the result of the value's operator on the values that its operands equal.
  };
  Graph graph = Graph::kBefore;
  int position = 0;
  int output = 0;
};

// Two values that are proved equal.
struct CertifiedRegion {
  ValueName after, before;  // `before`: kBefore or kFormulas
  // The values that the proof does not look into, and what it uses of their elements.
  std::vector<std::pair<ValueName, Known>> cuts;
  // If not -1: an output's number. The region is about this output only: `after` keeps its operator
  // where it is an operand.
  int output = -1;
};

struct RefereeCertificate {
  std::string before_file, after_file;  // SHA-256 of the files, in hexadecimal
  // How the models are read: sizes given to symbolic dimensions; the dimensions that stay symbolic,
  // with their ranges; the channels in a block of the layout NCHWc, 0: as the models show.
  std::map<std::string, int64_t> dims;
  std::map<std::string, SizeRange> symbolic;
  int64_t channel_block = 0;
  FloatContract contract = FloatContract::kRealOnly;
  // A graph in text form (graph/text/text.h), or "". Its inputs b12 and b12.1 are values of the
  // first model; all its nodes may be named by ValueName.
  std::string formulas;
  // Weights of the second model (kAfter), and the values that they equal, but for rounding.
  std::vector<std::pair<ValueName, ValueName>> weights;
  std::vector<CertifiedRegion> regions;  // operands first, then those of outputs
};

// "b12", "f3.1", "a7".
std::string Print(const ValueName& name);
// InvalidArgument for any other text.
absl::StatusOr<ValueName> ParseValueName(absl::string_view text);

// The text, which ends in a checksum of all text before it.
std::string Print(const RefereeCertificate& certificate);
// Whether `text` claims to be such a certificate, of any version.
bool IsRefereeCertificate(absl::string_view text);
// Accepts exactly the texts that Print writes. Errors are InvalidArgument and name the line.
absl::StatusOr<RefereeCertificate> ParseRefereeCertificate(absl::string_view text);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_CERTIFICATE_H_
