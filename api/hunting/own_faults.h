// Looks for faults of Lemma itself.
#ifndef LEMMA_API_HUNTING_OWN_FAULTS_H_
#define LEMMA_API_HUNTING_OWN_FAULTS_H_

#include <string>

#include "api/hunting/subject.h"

namespace lemma::hunt {

// How two subjects that should be equal differ by the definitions; "" if they do not, or if it
// cannot be said: an output that is not finite, or values that differ as typed only.
std::string DifferByDefinition(const Subject& before, const Subject& after);

// How the subject, exported to ONNX and read again, differs from itself by the definitions; "" if
// it does not. Then the exported model is not the subject, and an engine's result says nothing.
std::string WhyExportDiffers(const Subject& subject);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_OWN_FAULTS_H_
